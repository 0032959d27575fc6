#include "http/transport.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "http/http2_pool.h"
#include "net/tls.h"

namespace plimsoll::http {
namespace {

// Splits at colons, but not inside brackets: "[::1]:80:localhost:81".
std::vector<std::string> split_outside_brackets(std::string_view text) {
  std::vector<std::string> parts(1);
  bool bracketed = false;
  for (const char c : text) {
    if (c == '[') bracketed = true;
    if (c == ']') bracketed = false;
    if (c == ':' && !bracketed) {
      parts.emplace_back();
    } else if (c != '[' && c != ']') {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_port_or_empty(const std::string& text) {
  if (text.empty()) return true;
  const auto port = parse_u64(text);
  return port && *port > 0 && *port < 65536;
}

std::vector<std::string> alpn_of(Protocols protocols) {
  switch (protocols) {
    case Protocols::http1:
      return {};
    case Protocols::automatic:
      return {"h2", "http/1.1"};
    case Protocols::http2:
      break;
  }
  return {"h2"};
}

Checked<std::unique_ptr<net::TlsContext>> tls_context(const TransportSettings& settings,
                                                      Protocols protocols) {
  return net::TlsContext::client({.ca_file = settings.cacert,
                                  .certificate = settings.cert,
                                  .key = settings.key,
                                  .insecure = settings.insecure,
                                  .alpn = alpn_of(protocols)});
}

}  // namespace

OriginConnector::OriginConnector(const std::vector<net::Address>& addresses, net::SourcePool sources,
                                 std::string congestion, std::size_t first,
                                 std::unique_ptr<net::TlsContext> tls, std::string host,
                                 std::unique_ptr<Http2Pool> http2)
    : endpoints_(addresses, std::move(sources), std::move(congestion), first),
      tls_(std::move(tls)),
      host_(std::move(host)),
      http2_(std::move(http2)) {}

OriginConnector::~OriginConnector() = default;

net::Task<Result<Opened>> OriginConnector::open(net::Loop& loop, net::Patience patience) {
  const Instant start = now();
  auto stream = co_await endpoints_.open(loop, patience);
  if (!stream) {
    failure_ = describe(stream.error());
    co_return stream.error();
  }
  if (!tunnel_to_.empty()) {
    const auto through = co_await open_tunnel(**stream, tunnel_to_, tunnel_authorization_, patience);
    if (!through) {
      failure_ = describe(through.error());
      co_return through.error();
    }
  }
  const Instant connected = now();
  Opened opened{.stream = std::move(*stream), .connect = connected - start, .tls = {}};
  if (tls_ != nullptr) {
    auto secured = co_await net::tls_connect(std::move(opened.stream), *tls_, host_, patience);
    if (!secured) {
      failure_ = secured.error().kind == ErrorKind::tls ? tls_->last_failure() : describe(secured.error());
      co_return secured.error();
    }
    opened.stream = std::move(*secured);
    opened.tls = now() - connected;
  }
  co_return std::move(opened);
}

Checked<Transport> Transport::make(TransportSettings settings) {
  Transport transport;
  for (const std::string& text : settings.connect_to) {
    const auto parts = split_outside_brackets(text);
    if (parts.size() != 4 || !is_port_or_empty(parts[1]) || !is_port_or_empty(parts[3])) {
      return Refusal{
          fmt::format("--connect-to '{}': expected HOST1:PORT1:HOST2:PORT2 (any part may be empty)", text)};
    }
    transport.redirections_.push_back({to_lower(parts[0]), parts[1], parts[2], parts[3]});
  }
  // Files that cannot be used are found here, not at the first connection. The system's store is not read without
  // need: that takes as long as thousands of requests.
  if (!settings.cacert.empty() || !settings.cert.empty() || !settings.key.empty()) {
    if (auto tls = tls_context(settings, settings.protocols); !tls) return tls.error();
  }
  transport.settings_ = std::move(settings);
  return transport;
}

Checked<std::unique_ptr<OriginConnector>> Transport::connector(const Url& origin, int thread,
                                                               bool side) const {
  std::vector<net::Address> addresses;
  const Proxy* const proxy = settings_.unix_socket.empty() ? settings_.proxies.of(origin) : nullptr;
  if (!settings_.unix_socket.empty()) {
    const auto path = net::Address::unix_path(settings_.unix_socket);
    if (!path) return path.error();
    addresses.push_back(*path);
  } else {
    const Url& peer = proxy == nullptr ? origin : proxy->url;
    std::string host = peer.resolver_name();
    std::uint16_t port = peer.port;
    for (const Redirection& redirection : redirections_) {
      const bool host_matches = redirection.from_host.empty() || redirection.from_host == peer.host;
      const bool port_matches =
          redirection.from_port.empty() || parse_u64(redirection.from_port) == peer.port;
      if (!host_matches || !port_matches) continue;
      if (!redirection.to_host.empty()) host = redirection.to_host;
      if (!redirection.to_port.empty()) port = static_cast<std::uint16_t>(*parse_u64(redirection.to_port));
      break;
    }
    auto resolved = net::resolve(host, port);
    if (!resolved) return resolved.error();
    addresses = std::move(*resolved);
  }
  const Protocols protocols =
      side && settings_.protocols == Protocols::http2 ? Protocols::automatic : settings_.protocols;
  std::unique_ptr<net::TlsContext> tls;
  if (origin.secure()) {
    auto context = tls_context(settings_, protocols);
    if (!context) return context.error();
    tls = std::move(*context);
  }
  net::SourcePool sources = settings_.sources;
  sources.skip(static_cast<std::uint64_t>(thread) * 1009);
  if (proxy != nullptr && !origin.secure() && protocols == Protocols::http2)
    return Refusal{"HTTP/2 in clear does not go through a proxy: an http URL is asked for there in HTTP/1.1"};
  std::unique_ptr<Http2Pool> http2;
  if (protocols == Protocols::http2 || (protocols == Protocols::automatic && origin.secure())) {
    http2 = std::make_unique<Http2Pool>(protocols, origin.secure(), settings_.streams);
  }
  auto connector = std::make_unique<OriginConnector>(addresses, std::move(sources), settings_.congestion,
                                                     static_cast<std::size_t>(thread), std::move(tls),
                                                     origin.host, std::move(http2));
  if (proxy != nullptr && origin.secure()) {
    const std::string host = origin.host.contains(':') ? fmt::format("[{}]", origin.host) : origin.host;
    connector->tunnel(fmt::format("{}:{}", host, origin.port), proxy->authorization);
  }
  return connector;
}

}  // namespace plimsoll::http
