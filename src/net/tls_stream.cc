#include "net/tls_stream.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"

namespace plimsoll::net {

namespace {

constexpr std::size_t kRecord =
    16 * 1024;  // the most plaintext that one record holds (RFC 8446, section 5.1)
// What a buffer keeps between uses, so that small messages need no allocation.
constexpr std::size_t kKeptCapacity = 2 * 1024;

void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) buffer.shrink_to_fit();
}

}  // namespace

// OpenSSL's view of the inner stream.
struct TlsBio {
  static TlsStream& stream(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* buffer, int size) {
    bool blocked = false;
    const std::size_t got = stream(bio).take_ciphertext(buffer, static_cast<std::size_t>(size), blocked);
    BIO_clear_retry_flags(bio);
    if (blocked) BIO_set_retry_read(bio);
    return blocked ? -1 : static_cast<int>(got);
  }

  static int write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    stream(bio).put_ciphertext({bytes, static_cast<std::size_t>(size)});
    return size;
  }

  static long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    if (command == BIO_CTRL_EOF) return stream(bio).inner_ended_ ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static BIO* make(TlsStream& stream) {
    struct Free {
      void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    };
    static const std::unique_ptr<BIO_METHOD, Free> method = [] {
      std::unique_ptr<BIO_METHOD, Free> made(
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream"));
      BIO_meth_set_read(made.get(), &read);
      BIO_meth_set_write(made.get(), &write);
      BIO_meth_set_ctrl(made.get(), &control);
      return made;
    }();
    BIO* bio = BIO_new(method.get());
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, &stream);
    BIO_set_init(bio, 1);
    return bio;
  }
};

TlsStream::TlsStream(std::unique_ptr<Stream> inner, TlsContext& context, const std::string* host)
    : Stream(inner->loop()), context_(context), ssl_(SSL_new(context.native())), inner_(std::move(inner)) {
  if (ssl_ == nullptr) throw std::bad_alloc();
  inner_->deliver_to(this);
  BIO* bio = TlsBio::make(*this);
  SSL_set_bio(ssl_, bio, bio);
  if (host == nullptr) {
    SSL_set_accept_state(ssl_);
    return;
  }
  SSL_set_connect_state(ssl_);
  if (Address::parse_ip(*host, 0)) {
    // No SNI for literals (RFC 6066, section 3).
    if (context_.verifies_hosts()) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host->c_str());
    return;
  }
  SSL_set_tlsext_host_name(ssl_, host->c_str());
  if (context_.verifies_hosts()) {
    SSL_set_hostflags(ssl_, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl_, host->c_str());
  }
}

TlsStream::~TlsStream() {
  if (say_goodbye_ && unsent_.empty() && aborted() == nullptr) {
    ERR_clear_error();
    if (established_) SSL_shutdown(ssl_);
    bool moved = false;
    Result<void> ignored;
    flush(moved, ignored);
  }
  inner_->deliver_to(nullptr);
  SSL_free(ssl_);
}

std::size_t TlsStream::take_ciphertext(char* buffer, std::size_t size, bool& blocked) {
  if (window_.empty()) {
    clear(kept_);
    window_is_kept_ = false;
    if (inner_ended_ || !inner_result_) return 0;
    Result<std::string_view> got;
    if (!may_fetch_ || !inner_->try_receive(got)) {
      blocked = true;
      return 0;
    }
    if (!got) inner_result_ = got.error();
    if (!got || got->empty()) {
      inner_ended_ = got.has_value();
      return 0;
    }
    window_ = *got;
  }
  const std::size_t taken = std::min(size, window_.size());
  std::memcpy(buffer, window_.data(), taken);
  window_.remove_prefix(taken);
  return taken;
}

void TlsStream::keep_rest() {
  may_fetch_ = true;
  if (window_.empty() || window_is_kept_) return;
  kept_.assign(window_);
  window_ = kept_;
  window_is_kept_ = true;
}

bool TlsStream::decrypt(char* buffer, std::size_t size, Result<std::size_t>& out) {
  std::size_t have = 0;
  while (have < size && !ended_ && result_) {
    ERR_clear_error();
    std::size_t got = 0;
    const int status = SSL_read_ex(ssl_, buffer + have, size - have, &got);
    if (status == 1) {
      have += got;
      may_fetch_ = false;
      if (window_.empty() && SSL_pending(ssl_) == 0) break;
      continue;
    }
    switch (SSL_get_error(ssl_, status)) {
      case SSL_ERROR_WANT_READ:
        size = have;
        break;
      case SSL_ERROR_ZERO_RETURN:
        ended_ = true;
        break;
      default:
        if (inner_ended_) {
          ended_ = true;
        } else {
          result_ = inner_result_ ? Result<void>(failure()) : inner_result_;
        }
    }
  }
  keep_rest();
  // Answers that OpenSSL made while it read (key updates, alerts); where they cannot go now, the next call tries.
  bool moved = false;
  Result<void> ignored;
  flush(moved, ignored);
  traffic_.received += have;
  if (have > 0 || ended_) {
    out = have;
    return true;
  }
  if (!result_) out = result_.error();
  return !result_;
}

bool TlsStream::try_receive(Result<std::string_view>& out) {
  Result<std::size_t> got;
  if (!decrypt(loop().plaintext(), Loop::kScratch, got)) return false;
  if (got) {
    out = std::string_view(loop().plaintext(), *got);
  } else {
    out = got.error();
  }
  return true;
}

bool TlsStream::try_discard(std::uint64_t limit, Result<std::uint64_t>& out) {
  Result<std::size_t> got;
  if (!decrypt(loop().plaintext(), std::min<std::size_t>(limit, Loop::kScratch), got)) return false;
  if (got) {
    out = *got;
  } else {
    out = got.error();
  }
  return true;
}

bool TlsStream::try_receive_into(char* buffer, std::size_t size, Result<std::size_t>& out) {
  return decrypt(buffer, size, out);
}

bool TlsStream::encrypt(std::string_view bytes, Result<void>& out) {
  ERR_clear_error();
  std::size_t written = 0;
  const int status = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &written);
  keep_rest();
  if (status != 1) {
    out = failure();
    return false;
  }
  traffic_.sent += written;
  return true;
}

bool TlsStream::flush(bool& moved, Result<void>& out) {
  for (;;) {
    if (unsent_.empty()) {
      clear(sending_);
      if (outgoing_.empty()) return true;
      sending_.swap(outgoing_);
      unsent_ = sending_;
    }
    std::string_view nothing;
    if (!inner_->try_send(unsent_, nothing, moved, out)) return false;
    if (!out) return true;
  }
}

bool TlsStream::try_send(std::string_view& first, std::string_view& second, bool& moved, Result<void>& out) {
  for (;;) {
    if (!flush(moved, out)) return false;
    if (!out || (first.empty() && second.empty())) return true;
    std::array<char, kRecord> joined;  // NOLINT: filled where used
    std::string_view record = first.empty() ? second.substr(0, kRecord) : first.substr(0, kRecord);
    const std::size_t of_first = first.empty() ? 0 : record.size();
    if (of_first > 0 && of_first < kRecord && !second.empty()) {
      // A head and the beginning of its body travel in one record.
      std::memcpy(joined.data(), first.data(), of_first);
      const std::size_t more = std::min(kRecord - of_first, second.size());
      std::memcpy(joined.data() + of_first, second.data(), more);
      record = {joined.data(), of_first + more};
    }
    if (!encrypt(record, out)) return true;
    moved = true;
    first.remove_prefix(of_first);
    second.remove_prefix(record.size() - of_first);
  }
}

bool TlsStream::try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                              Result<void>& out) {
  for (;;) {
    if (!flush(moved, out)) return false;
    if (!out || length == 0) return true;
    std::array<char, kRecord> piece;  // NOLINT: filled by pread
    const auto got =
        pread(file, piece.data(), std::min<std::uint64_t>(length, kRecord), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      out = stream_error(got < 0 ? errno : EIO);
      return true;
    }
    if (!encrypt({piece.data(), static_cast<std::size_t>(got)}, out)) return true;
    moved = true;
    offset += static_cast<std::uint64_t>(got);
    length -= static_cast<std::uint64_t>(got);
  }
}

bool TlsStream::try_establish(Result<void>& out) {
  bool moved = false;
  if (established_) return flush(moved, out);
  ERR_clear_error();
  const int status = SSL_do_handshake(ssl_);
  const int reason = SSL_get_error(ssl_, status);
  keep_rest();
  if (status == 1) {
    established_ = true;
    return flush(moved, out);
  }
  if (reason != SSL_ERROR_WANT_READ) {
    out = failure();
    // The alert that tells the peer why.
    Result<void> ignored;
    flush(moved, ignored);
    return true;
  }
  return flush(moved, out) && !out;
}

Error TlsStream::failure() {
  if (!inner_result_) return inner_result_.error();
  if (!established_ && inner_ended_) {
    context_.note_failure("the peer closed the connection during the handshake");
    return {ErrorKind::tls, 0, "the peer closed the connection during the handshake"};
  }
  // The strings of OpenSSL's tables are static, so that an Error can carry them.
  const unsigned long code = ERR_peek_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  if (reason == nullptr) reason = "unknown failure";
  ERR_clear_error();
  const long verified = SSL_get_verify_result(ssl_);
  if (established_ || verified == X509_V_OK || SSL_get_verify_mode(ssl_) == SSL_VERIFY_NONE) {
    context_.note_failure(reason);
    return {ErrorKind::tls, 0, reason};
  }
  const char* why = X509_verify_cert_error_string(verified);
  context_.note_failure(fmt::format("{}: {}{}", reason, why, context_.take_rejected()));
  return {ErrorKind::tls, 0, why};
}

void TlsStream::shutdown_send() {
  if (std::exchange(say_goodbye_, false) && established_) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    bool moved = false;
    Result<void> ignored;
    flush(moved, ignored);
  }
  inner_->shutdown_send();
}

void TlsStream::reset_on_close() {
  say_goodbye_ = false;
  inner_->reset_on_close();
}

bool TlsStream::has_news() {
  if (ended_ || !result_ || SSL_pending(ssl_) > 0) return true;
  if (window_.empty() && !inner_->has_news()) return false;
  // Session tickets come unasked and are no news: let OpenSSL take them in.
  ERR_clear_error();
  char byte = 0;
  std::size_t got = 0;
  const int status = SSL_peek_ex(ssl_, &byte, 1, &got);
  const bool quiet = status != 1 && SSL_get_error(ssl_, status) == SSL_ERROR_WANT_READ;
  keep_rest();
  return !quiet;
}

std::string TlsStream::tls_description() const {
  return fmt::format("{}, {}", SSL_get_version(ssl_), SSL_get_cipher_name(ssl_));
}

std::string TlsStream::alpn() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

namespace {

Task<Result<std::unique_ptr<Stream>>> shake_hands(std::unique_ptr<TlsStream> stream, Patience patience) {
  if (auto done = co_await stream->established(patience); !done) co_return done.error();
  co_return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace

Task<Result<std::unique_ptr<Stream>>> tls_connect(std::unique_ptr<Stream> inner, TlsContext& context,
                                                  std::string host, Patience patience) {
  // "[::1]" as URLs write it, "example.com." as DNS does.
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.ends_with('.')) host.pop_back();
  return shake_hands(std::make_unique<TlsStream>(std::move(inner), context, &host), patience);
}

Task<Result<std::unique_ptr<Stream>>> tls_accept(std::unique_ptr<Stream> inner, TlsContext& context,
                                                 Patience patience) {
  return shake_hands(std::make_unique<TlsStream>(std::move(inner), context, nullptr), patience);
}

}  // namespace plimsoll::net
