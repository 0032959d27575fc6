// TLS 1.2 and 1.3 by OpenSSL, as a Stream on top of another Stream.
//
// A TlsContext holds what connections share: certificates, trust, protocols to offer. It belongs to one thread (its
// loop's) and outlives its streams. Host certificates are verified unless that is switched off: chain, dates and
// name (RFC 9525). Sessions are not resumed: every connection pays its whole handshake, as it does for a new client.
//
// A failed handshake is ErrorKind::tls, whose text says why ("certificate has expired"); last_failure() says it with
// the certificate's names. A stream that ends without close_notify just ends: whether anything is missing is for
// the protocol on top to say.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/stream.h"
#include "net/task.h"

// OpenSSL's types, whose header stays in the sources.
struct ssl_ctx_st;
struct ssl_st;

namespace plimsoll::net {

struct TlsClientOptions {
  std::string ca_file = {};      // PEM; trusted in place of the system's store
  std::string certificate = {};  // PEM chain and key to present when the server asks; both or neither
  std::string key = {};
  bool insecure = false;               // accept any certificate
  std::vector<std::string> alpn = {};  // protocols offered, the preferred one first (RFC 7301)
};

struct TlsServerOptions {
  std::string certificate = {};
  std::string key = {};
  std::string client_ca = {};          // PEM; where given, clients must present a certificate that it signed
  std::vector<std::string> alpn = {};  // the first of these that a client offers is agreed on
};

class TlsContext {
 public:
  // Refusals name the file that cannot be used and the reason.
  static Checked<std::unique_ptr<TlsContext>> client(const TlsClientOptions& options);
  static Checked<std::unique_ptr<TlsContext>> server(const TlsServerOptions& options);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  // Of the last handshake that failed: "certificate verify failed: hostname mismatch (certificate of CN = a, issued
  // by CN = b)". Empty where none has.
  const std::string& last_failure() const { return last_failure_; }

  // --- for the streams of this context.
  ssl_ctx_st* native() const { return native_; }
  bool verifies_hosts() const { return verifies_hosts_; }
  void note_failure(std::string text) { last_failure_ = std::move(text); }
  // Names the certificate that verification rejects.
  void note_rejected(std::string text) { rejected_ = std::move(text); }
  std::string take_rejected() { return std::exchange(rejected_, {}); }
  // The server's list, in ALPN's wire format, for its callback.
  const std::string& alpn() const { return alpn_; }

 private:
  TlsContext() = default;
  Checked<void> use_certificate(const std::string& certificate, const std::string& key);
  Checked<void> trust(const std::string& ca_file);

  ssl_ctx_st* native_ = nullptr;
  bool verifies_hosts_ = false;
  std::string alpn_;
  std::string last_failure_;
  std::string rejected_;
};

// The client's handshake over `inner`, with `host` (a name or an IP literal) as SNI and as what the certificate must
// be for. Errors: tls, timeout, reset.
Task<Result<std::unique_ptr<Stream>>> tls_connect(std::unique_ptr<Stream> inner, TlsContext& context,
                                                  std::string host, Patience patience);

// The server's handshake.
Task<Result<std::unique_ptr<Stream>>> tls_accept(std::unique_ptr<Stream> inner, TlsContext& context,
                                                 Patience patience);

}  // namespace plimsoll::net
