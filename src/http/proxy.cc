#include "http/proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/text.h"
#include "http/response_parser.h"

namespace plimsoll::http {
namespace {

Checked<Proxy> parse_proxy(std::string_view text) {
  const auto refusal = [text] {
    // Not the whole: it may hold a password.
    return Refusal{
        fmt::format("the proxy '{}' is not HOST:PORT or http://[USER:PASSWORD@]HOST:PORT",
                    text.substr(text.rfind('@') == std::string_view::npos ? 0 : text.rfind('@') + 1))};
  };
  std::string_view rest = text;
  const auto scheme = rest.find("://");
  if (scheme != std::string_view::npos) {
    if (!iequals(rest.substr(0, scheme), "http")) return refusal();
    rest.remove_prefix(scheme + 3);
  }
  Proxy proxy;
  rest = rest.substr(0, rest.find('/'));
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    const auto credentials = percent_decode(rest.substr(0, at));
    if (!credentials) return refusal();
    proxy.authorization = "Basic " + base64_encode(*credentials);
    rest.remove_prefix(at + 1);
  }
  auto url = parse_url(fmt::format("http://{}", rest));
  if (!url) return refusal();
  proxy.url = std::move(*url);
  return proxy;
}

std::string_view first_set(const ProxyRules::Environment& environment,
                           std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = environment(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

// "host", "host:80", "[::1]:80", "::1": the host without brackets, and the port.
bool covers(std::string_view entry, const Url& origin) {
  std::string_view port;
  if (entry.starts_with('[')) {
    const auto close = entry.find(']');
    if (close == std::string_view::npos) return false;
    if (entry.substr(close + 1).starts_with(':')) port = entry.substr(close + 2);
    entry = entry.substr(1, close - 1);
  } else if (std::ranges::count(entry, ':') == 1) {
    port = entry.substr(entry.find(':') + 1);
    entry = entry.substr(0, entry.find(':'));
  }
  if (!port.empty() && parse_u64(port) != origin.port) return false;
  if (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty()) return false;
  return origin.host == entry || origin.host.ends_with("." + std::string(entry));
}

}  // namespace

Checked<ProxyRules> ProxyRules::always(std::string_view proxy) {
  auto parsed = parse_proxy(proxy);
  if (!parsed) return parsed.error();
  ProxyRules rules;
  rules.plain_ = *parsed;
  rules.secure_ = std::move(*parsed);
  return rules;
}

Checked<ProxyRules> ProxyRules::of_environment(const Environment& environment) {
  ProxyRules rules;
  const auto set = [&](std::optional<Proxy>& proxy,
                       std::initializer_list<const char*> names) -> Checked<void> {
    const std::string_view text = first_set(environment, names);
    if (text.empty()) return {};
    auto parsed = parse_proxy(text);
    if (!parsed) return Refusal{fmt::format("{}: {}", *names.begin(), parsed.error().message)};
    proxy = std::move(*parsed);
    return {};
  };
  if (auto done = set(rules.plain_, {"http_proxy", "all_proxy", "ALL_PROXY"}); !done) return done.error();
  if (auto done = set(rules.secure_, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}); !done)
    return done.error();
  for (const std::string_view entry : split(first_set(environment, {"no_proxy", "NO_PROXY"}), ','))
    rules.spared_.push_back(to_lower(trim(entry)));
  return rules;
}

void ProxyRules::authorize(std::string_view credentials) {
  for (std::optional<Proxy>* proxy : {&plain_, &secure_}) {
    if (*proxy) (*proxy)->authorization = "Basic " + base64_encode(credentials);
  }
}

bool ProxyRules::spared(const Url& origin) const {
  return std::ranges::any_of(
      spared_, [&origin](const std::string& entry) { return entry == "*" || covers(entry, origin); });
}

const Proxy* ProxyRules::of(const Url& origin) const {
  const std::optional<Proxy>& proxy = origin.secure() ? secure_ : plain_;
  return proxy && !spared(origin) ? &*proxy : nullptr;
}

net::Task<Result<void>> open_tunnel(net::Stream& stream, std::string authority, std::string authorization,
                                    net::Patience patience) {
  std::string request =
      fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\nUser-Agent: plimsoll\r\n", authority);
  if (!authorization.empty()) request += fmt::format("Proxy-Authorization: {}\r\n", authorization);
  request += "\r\n";
  if (const auto sent = co_await stream.send(request, {}, patience); !sent) co_return sent.error();
  ResponseParser parser;
  parser.start(Method::connect);
  while (!parser.head_done()) {
    const auto bytes = co_await stream.receive(patience);
    if (!bytes) co_return bytes.error();
    if (bytes->empty()) co_return Error{ErrorKind::closed, 0, "the proxy closed before it answered CONNECT"};
    const auto step = parser.feed(*bytes);
    if (!step) co_return step.error();
    // In TLS it is the client that speaks first.
    const bool silent = !parser.head_done() || step->consumed == bytes->size();
    if (parser.head_done() && parser.head().status / 100 == 2 && !silent)
      co_return Error{ErrorKind::protocol, 0, "bytes before anything was sent through the proxy's tunnel"};
  }
  if (const int status = parser.head().status; status / 100 != 2)
    co_return Error{ErrorKind::unexpected_status, status, "the proxy refused CONNECT"};
  co_return ok();
}

}  // namespace plimsoll::http
