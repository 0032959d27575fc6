#include "oci/origin_connectors.h"

#include <algorithm>

namespace plimsoll::oci {
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

}  // namespace

void AddressTally::add(const net::Endpoints& endpoints) {
  const std::lock_guard lock(mutex_);
  for (const auto& endpoint : endpoints.endpoints()) {
    const std::string address = endpoint.address.to_string();
    auto at = std::ranges::find(entries_, address, &Entry::address);
    if (at == entries_.end()) at = entries_.insert(at, {address, 0, {}});
    at->connections += endpoint.connections;
    if (endpoint.aside) at->problem = describe(endpoint.problem);
  }
}

std::vector<AddressTally::Entry> AddressTally::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

OriginConnectors::~OriginConnectors() {
  if (counted_connector_ != nullptr && tally_ != nullptr) tally_->add(counted_connector_->endpoints());
}

http::Connector& OriginConnectors::to(const http::Url& origin, Part /*part*/) {
  const std::string key = origin.origin();
  const auto known = by_origin_.find(key);
  if (known != by_origin_.end()) return *known->second;
  std::unique_ptr<http::Connector> made;
  auto connector = transport_.connector(origin, thread_, !origin.same_origin(counted_));
  if (connector) {
    if (origin.same_origin(counted_)) counted_connector_ = connector->get();
    made = std::move(*connector);
  } else {
    made = std::make_unique<UnresolvedConnector>(connector.error().message);
  }
  return *by_origin_.emplace(key, std::move(made)).first->second;
}

}  // namespace plimsoll::oci
