#include "workload/measured_connectors.h"

#include <utility>

namespace plimsoll::workload {
namespace {

// Stands for an origin whose name does not resolve: every attempt fails with that.
class UnresolvedConnector final : public http::Connector {
 public:
  explicit UnresolvedConnector(std::string why) : why_(std::move(why)) {}
  net::Task<Result<http::Opened>> open(net::Loop&, net::Patience) override {
    co_return Error{ErrorKind::resolve, 0, "the name has no address"};
  }
  std::string failure() const override { return why_; }

 private:
  std::string why_;
};

// "registry+token" where one origin is both.
std::string words(const std::array<bool, 3>& parts) {
  constexpr std::array<const char*, 3> kNames = {"registry", "token", "storage"};
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]) out.append(out.empty() ? "" : "+").append(kNames[i]);
  }
  return out;
}

}  // namespace

MeasuredConnectors::~MeasuredConnectors() {
  if (tally_ == nullptr) return;
  for (const auto& [key, known] : by_origin_) {
    if (known.measured != nullptr) tally_->add(words(known.parts), known.origin, *known.measured);
  }
}

http::Connector& MeasuredConnectors::to(const http::Url& origin, oci::Part part) {
  Known& known = by_origin_[origin.origin()];
  known.parts[static_cast<std::size_t>(part)] = true;
  if (known.connector != nullptr) return *known.connector;
  known.origin = origin;
  if (auto connector = transport_.connector(origin, thread_, part != oci::Part::registry)) {
    auto measured = std::make_unique<MeasuredConnector>(std::move(*connector));
    known.measured = measured.get();
    known.connector = std::move(measured);
  } else {
    known.connector = std::make_unique<UnresolvedConnector>(connector.error().message);
  }
  return *known.connector;
}

}  // namespace plimsoll::workload
