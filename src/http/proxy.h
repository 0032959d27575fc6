// Which origins are reached through a proxy, and the tunnel to one that speaks TLS (RFC 9110, section 9.3.6).
//
// A plain request goes to its proxy with the whole URL in its request line (RFC 9112, section 3.2.2); to an https
// origin a tunnel is asked for with CONNECT, and all that follows is between us and the origin.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/url.h"
#include "net/stream.h"
#include "net/task.h"

namespace plimsoll::http {

struct Proxy {
  Url url;                    // http: how the proxy itself is spoken to
  std::string authorization;  // value of Proxy-Authorization, from user information in the proxy's URL
};

class ProxyRules {
 public:
  // No proxy for anything.
  ProxyRules() = default;
  // This one for every origin: "HOST:PORT", "http://user:password@HOST:PORT". The refusal says what is wrong.
  static Checked<ProxyRules> always(std::string_view proxy);
  // As curl reads the environment: http_proxy, https_proxy or HTTPS_PROXY, all_proxy or ALL_PROXY where the first
  // is not set, no_proxy or NO_PROXY. HTTP_PROXY is left alone: in a CGI program a request could set it.
  using Environment = std::function<const char*(const char* name)>;
  static Checked<ProxyRules> of_environment(const Environment& environment);

  // "user:password", for every proxy.
  void authorize(std::string_view credentials);

  // Null where the origin is spoken to directly.
  const Proxy* of(const Url& origin) const;

 private:
  bool spared(const Url& origin) const;

  std::optional<Proxy> plain_;
  std::optional<Proxy> secure_;
  // Of no_proxy: "*", a host, which stands for its subdomains too, an address, each perhaps with ":PORT".
  std::vector<std::string> spared_;
};

// Makes `stream`, a connection to the proxy, one to `authority` ("host:port"). Errors: those of the stream;
// unexpected_status, with the status, where the proxy refuses; protocol.
net::Task<Result<void>> open_tunnel(net::Stream& stream, std::string authority, std::string authorization,
                                    net::Patience patience);

}  // namespace plimsoll::http
