#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "net/tls.h"

namespace plimsoll::net {
namespace {

// The oldest error of this thread's queue says what went wrong first.
std::string openssl_reason() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("OpenSSL error {:#x}", code);
}

// RFC 7301, section 3.1: each name behind its length in one byte.
Checked<std::string> alpn_wire(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255) {
      return Refusal{fmt::format("'{}' is not an ALPN protocol name", protocol)};
    }
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

int choose_protocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned int offered_size, void* argument) {
  const std::string& ours = static_cast<const TlsContext*>(argument)->alpn();
  unsigned char* chosen = nullptr;
  const int status =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), offered, offered_size);
  *out = chosen;
  return status == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

std::string text_of(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> memory(BIO_new(BIO_s_mem()), &BIO_free_all);
  X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_ONELINE);
  BUF_MEM* text = nullptr;
  BIO_get_mem_ptr(memory.get(), &text);  // NOLINT: OpenSSL's macro casts
  return {text->data, text->length};
}

// Changes no verdict; remembers whose certificate it was.
int on_verified(int good, X509_STORE_CTX* store) {
  const X509* certificate = X509_STORE_CTX_get_current_cert(store);
  if (good == 1 || certificate == nullptr) return good;
  const int index = SSL_get_ex_data_X509_STORE_CTX_idx();
  const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, index));
  auto* context = static_cast<TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  context->note_rejected(fmt::format(" (certificate of {}, issued by {})",
                                     text_of(X509_get_subject_name(certificate)),
                                     text_of(X509_get_issuer_name(certificate))));
  return good;
}

// An encrypted key is refused, instead of asking for its password on the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*argument*/) {
  return -1;
}

Checked<void> require_pair(const std::string& certificate, const std::string& key) {
  if (certificate.empty() != key.empty()) {
    return Refusal{fmt::format("a TLS certificate and its key go together: {} is missing",
                               key.empty() ? "the key" : "the certificate")};
  }
  return {};
}

SSL_CTX* make_native(const SSL_METHOD* method) {
  ERR_clear_error();
  SSL_CTX* native = SSL_CTX_new(method);
  if (native == nullptr) return nullptr;
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Idle connections hold no buffers: 34 KiB each otherwise.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(native, &no_password);
  return native;
}

}  // namespace

TlsContext::~TlsContext() {
  SSL_CTX_free(native_);
}

Checked<void> TlsContext::use_certificate(const std::string& certificate, const std::string& key) {
  if (SSL_CTX_use_certificate_chain_file(native_, certificate.c_str()) != 1) {
    return Refusal{fmt::format("cannot use the certificate '{}': {}", certificate, openssl_reason())};
  }
  if (SSL_CTX_use_PrivateKey_file(native_, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(native_) != 1) {
    return Refusal{fmt::format("cannot use the key '{}': {}", key, openssl_reason())};
  }
  return {};
}

Checked<void> TlsContext::trust(const std::string& ca_file) {
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(native_);
  } else if (SSL_CTX_load_verify_file(native_, ca_file.c_str()) != 1) {
    return Refusal{fmt::format("cannot use the CA certificates '{}': {}", ca_file, openssl_reason())};
  }
  ERR_clear_error();
  return {};
}

Checked<std::unique_ptr<TlsContext>> TlsContext::client(const TlsClientOptions& options) {
  if (auto pair = require_pair(options.certificate, options.key); !pair) return Refusal{pair.error()};
  auto alpn = alpn_wire(options.alpn);
  if (!alpn) return Refusal{alpn.error()};
  std::unique_ptr<TlsContext> context(new TlsContext());
  context->native_ = make_native(TLS_client_method());
  if (context->native_ == nullptr) return Refusal{fmt::format("cannot use TLS: {}", openssl_reason())};
  context->verifies_hosts_ = !options.insecure;
  SSL_CTX_set_app_data(context->native_, context.get());
  SSL_CTX_set_verify(context->native_, options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, &on_verified);
  if (!options.insecure || !options.ca_file.empty()) {
    if (auto trusted = context->trust(options.ca_file); !trusted) return Refusal{trusted.error()};
  }
  if (!options.certificate.empty()) {
    auto used = context->use_certificate(options.certificate, options.key);
    if (!used) return Refusal{used.error()};
  }
  if (!alpn->empty()) {
    SSL_CTX_set_alpn_protos(context->native_, reinterpret_cast<const unsigned char*>(alpn->data()),
                            static_cast<unsigned>(alpn->size()));
  }
  return context;
}

Checked<std::unique_ptr<TlsContext>> TlsContext::server(const TlsServerOptions& options) {
  if (options.certificate.empty() || options.key.empty()) {
    return Refusal{"a TLS server needs a certificate and its key"};
  }
  auto alpn = alpn_wire(options.alpn);
  if (!alpn) return Refusal{alpn.error()};
  std::unique_ptr<TlsContext> context(new TlsContext());
  context->native_ = make_native(TLS_server_method());
  if (context->native_ == nullptr) return Refusal{fmt::format("cannot use TLS: {}", openssl_reason())};
  SSL_CTX_set_app_data(context->native_, context.get());
  context->alpn_ = std::move(*alpn);
  if (auto used = context->use_certificate(options.certificate, options.key); !used)
    return Refusal{used.error()};
  if (!options.client_ca.empty()) {
    if (auto trusted = context->trust(options.client_ca); !trusted) return Refusal{trusted.error()};
    SSL_CTX_set_verify(context->native_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &on_verified);
  }
  if (!context->alpn_.empty()) SSL_CTX_set_alpn_select_cb(context->native_, &choose_protocol, context.get());
  return context;
}

}  // namespace plimsoll::net
