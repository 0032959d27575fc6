// From an origin's URL to open connections: names, addresses, TLS, as the command line asked for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/connector.h"
#include "http/protocols.h"
#include "http/proxy.h"
#include "http/url.h"
#include "net/endpoints.h"
#include "net/sources.h"
#include "net/tls.h"

namespace plimsoll::http {

struct TransportSettings {
  std::string cacert;  // PEM file; empty: the system's store
  std::string cert;    // of the client
  std::string key;
  bool insecure = false;
  std::vector<std::string> connect_to;  // "HOST1:PORT1:HOST2:PORT2", as curl's option; empty parts match all
  net::SourcePool sources;
  std::string congestion;
  std::string unix_socket;  // every connection goes there
  ProxyRules proxies;       // not asked where unix_socket is set
  Protocols protocols = Protocols::http1;
  int streams = 1;  // exchanges at once on an HTTP/2 connection
};

// Connections to one origin, for one thread. Counts them per address.
class OriginConnector final : public Connector {
 public:
  // `first`: where the round robin over the addresses starts. `tls` is null for http, `http2` for HTTP/1.1 only.
  OriginConnector(const std::vector<net::Address>& addresses, net::SourcePool sources, std::string congestion,
                  std::size_t first, std::unique_ptr<net::TlsContext> tls, std::string host,
                  std::unique_ptr<Http2Pool> http2);
  ~OriginConnector() override;

  // Connections lead to a proxy, and from there to `authority`.
  void tunnel(std::string authority, std::string authorization) {
    tunnel_to_ = std::move(authority);
    tunnel_authorization_ = std::move(authorization);
  }

  net::Task<Result<Opened>> open(net::Loop& loop, net::Patience patience) override;
  std::string failure() const override { return failure_; }
  Http2Pool* http2() override { return http2_.get(); }
  const net::Endpoints& endpoints() const { return endpoints_; }

 private:
  net::Endpoints endpoints_;
  std::unique_ptr<net::TlsContext> tls_;  // null for http
  std::string host_;
  std::string tunnel_to_;  // empty: none
  std::string tunnel_authorization_;
  std::string failure_;
  std::unique_ptr<Http2Pool> http2_;  // last: its streams use the above
};

// Immutable after it is made; shared by all threads.
class Transport {
 public:
  static Checked<Transport> make(TransportSettings settings);

  // Resolves the name: blocks, so before anything is measured. `thread` staggers where round robins start. `side`:
  // an origin that the one under test leads to (storage, token server), which HTTP/2 is not demanded of.
  Checked<std::unique_ptr<OriginConnector>> connector(const Url& origin, int thread, bool side = false) const;
  // The proxy that requests to a plain origin go to, with the whole URL as their target; null: none.
  const Proxy* plain_proxy(const Url& origin) const {
    return origin.secure() || !settings_.unix_socket.empty() ? nullptr : settings_.proxies.of(origin);
  }

 private:
  struct Redirection {
    std::string from_host;
    std::string from_port;
    std::string to_host;
    std::string to_port;
  };

  TransportSettings settings_;
  std::vector<Redirection> redirections_;
};

}  // namespace plimsoll::http
