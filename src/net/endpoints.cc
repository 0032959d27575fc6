#include "net/endpoints.h"

#include <utility>

namespace plimsoll::net {

Endpoints::Endpoints(std::vector<Address> addresses, SourcePool sources, std::string congestion,
                     std::size_t first)
    : sources_(std::move(sources)), congestion_(std::move(congestion)), next_(first) {
  for (Address& address : addresses) {
    endpoints_.push_back(
        {.address = address, .connections = 0, .answered = false, .aside = false, .problem = {}});
  }
}

Endpoints::Endpoint* Endpoints::pick() {
  for (std::size_t tried = 0; tried < endpoints_.size(); ++tried) {
    Endpoint& candidate = endpoints_[next_++ % endpoints_.size()];
    if (!candidate.aside) return &candidate;
  }
  return nullptr;
}

void Endpoints::put_aside(Endpoint& endpoint, const Error& error) {
  // One that has answered before stays in use: a refusal under load is a figure, not a reason to spare it.
  if (endpoint.answered || endpoint.aside) return;
  std::size_t others = 0;
  for (const Endpoint& other : endpoints_) others += &other != &endpoint && !other.aside ? 1 : 0;
  endpoint.problem = error;
  // The last one is tried again and again: its error is what the caller gets.
  endpoint.aside = others > 0;
}

Task<Result<std::unique_ptr<Stream>>> Endpoints::open(Loop& loop, Patience patience) {
  Error first_error{ErrorKind::resolve, 0, "the name has no address"};
  bool failed = false;
  for (std::size_t tried = 0; tried < endpoints_.size(); ++tried) {
    Endpoint* endpoint = pick();
    if (endpoint == nullptr) break;
    const auto source = sources_.next(endpoint->address.family());
    if (!source && !sources_.empty()) {
      put_aside(*endpoint, {ErrorKind::connect_refused, 0, "no source address of this family"});
      continue;
    }
    const ConnectOptions options{.source = source, .congestion = congestion_};
    auto stream = co_await connect(loop, endpoint->address, options, patience);
    if (stream) {
      endpoint->answered = true;
      ++endpoint->connections;
      co_return std::move(stream);
    }
    if (!std::exchange(failed, true)) first_error = stream.error();
    // What this machine lacks, another address does not give.
    const ErrorKind kind = stream.error().kind;
    if (endpoint->answered || kind == ErrorKind::out_of_descriptors || kind == ErrorKind::out_of_ports ||
        kind == ErrorKind::cancelled) {
      co_return stream.error();
    }
    put_aside(*endpoint, stream.error());
  }
  co_return first_error;
}

}  // namespace plimsoll::net
