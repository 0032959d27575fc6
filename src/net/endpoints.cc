#include "net/endpoints.h"

#include <algorithm>
#include <utility>

namespace plimsoll::net {

namespace {

// What this machine lacks, another address does not give; nor is there time for one after a deadline.
bool concerns_every_address(ErrorKind kind) {
  return kind == ErrorKind::out_of_descriptors || kind == ErrorKind::out_of_ports ||
         kind == ErrorKind::cancelled || kind == ErrorKind::deadline;
}

}  // namespace

Endpoints::Endpoints(const std::vector<Address>& addresses, SourcePool sources, std::string congestion,
                     std::size_t first)
    : sources_(std::move(sources)), congestion_(std::move(congestion)), next_(first) {
  for (const Address& address : addresses) endpoints_.push_back({.address = address});
}

// Marks an endpoint's first attempt for as long as it lasts, also where its coroutine is given up.
class Endpoints::Probe {
 public:
  Probe(Endpoints& owner, Endpoint& endpoint)
      : owner_(owner), endpoint_(endpoint), counts_(!endpoint.answered) {
    endpoint_.probing += counts_ ? 1 : 0;
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() {
    if (!counts_) return;
    --endpoint_.probing;
    owner_.verdict_.pulse();
  }

 private:
  Endpoints& owner_;
  Endpoint& endpoint_;
  bool counts_;
};

std::size_t Endpoints::in_use() const {
  return static_cast<std::size_t>(std::ranges::count(endpoints_, false, &Endpoint::aside));
}

Endpoints::Endpoint* Endpoints::pick() {
  const bool alone = in_use() == 1;
  for (std::size_t tried = 0; tried < endpoints_.size(); ++tried) {
    Endpoint& candidate = endpoints_[next_++ % endpoints_.size()];
    if (!candidate.aside && (candidate.answered || candidate.probing == 0 || alone)) return &candidate;
  }
  return nullptr;
}

void Endpoints::put_aside(Endpoint& endpoint, const Error& error) {
  // One that has answered before stays in use: a refusal under load is a figure, not a reason to spare it.
  if (endpoint.answered || endpoint.aside) return;
  endpoint.problem = error;
  // The last one is tried again and again: its error is what the caller gets.
  endpoint.aside = in_use() > 1;
}

Task<Result<std::unique_ptr<Stream>>> Endpoints::attempt(Loop& loop, Endpoint& endpoint, Patience patience) {
  const auto source = sources_.next(endpoint.address.family());
  if (!source && !sources_.empty()) {
    const Error error{ErrorKind::connect_refused, 0, "no source address of this family"};
    put_aside(endpoint, error);
    co_return error;
  }
  const Probe probe(*this, endpoint);
  if (!endpoint.answered && in_use() > 1) patience.idle = std::min(patience.idle, kProbeLimit);
  const ConnectOptions options{.source = source, .congestion = congestion_};
  auto stream = co_await connect(loop, endpoint.address, options, patience);
  if (stream) {
    endpoint.answered = true;
    endpoint.aside = false;  // another first attempt may have failed meanwhile
    ++endpoint.connections;
    co_return std::move(stream);
  }
  if (!concerns_every_address(stream.error().kind)) put_aside(endpoint, stream.error());
  co_return stream.error();
}

Task<Result<std::unique_ptr<Stream>>> Endpoints::open(Loop& loop, Patience patience) {
  Error first_error{ErrorKind::resolve, 0, "the name has no address"};
  bool failed = false;
  for (std::size_t tried = 0; tried < endpoints_.size();) {
    Endpoint* endpoint = pick();
    if (endpoint == nullptr) {
      co_await verdict_.wait();
      continue;
    }
    ++tried;
    auto stream = co_await attempt(loop, *endpoint, patience);
    if (stream) co_return std::move(stream);
    if (!std::exchange(failed, true)) first_error = stream.error();
    if (endpoint->answered || concerns_every_address(stream.error().kind)) co_return stream.error();
    if (!endpoint->aside) break;
  }
  co_return first_error;
}

}  // namespace plimsoll::net
