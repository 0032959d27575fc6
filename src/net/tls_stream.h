// The stream that tls_connect() and tls_accept() make; only they and its tests name it.
//
// Ciphertext is taken in views straight from the inner stream's buffers and decrypted into a buffer that all TLS
// streams of the loop share; what a view holds beyond the plaintext asked for is kept. Towards the inner stream at
// most one record waits. So an idle connection holds OpenSSL's state and nothing else.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/stream.h"
#include "net/tls.h"

struct bio_st;

namespace plimsoll::net {

class TlsStream final : public Stream {
 public:
  // As a client where `host` is given.
  TlsStream(std::unique_ptr<Stream> inner, TlsContext& context, const std::string* host);
  ~TlsStream() override;

  bool try_receive(Result<std::string_view>& out) override;
  bool try_discard(std::uint64_t limit, Result<std::uint64_t>& out) override;
  bool try_receive_into(char* buffer, std::size_t size, Result<std::size_t>& out) override;
  bool try_send(std::string_view& first, std::string_view& second, bool& moved, Result<void>& out) override;
  bool try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                     Result<void>& out) override;
  // The handshake.
  bool try_establish(Result<void>& out) override;

  void shutdown_send() override;
  void reset_on_close() override;
  void expect_bulk(bool bulk) override { inner_->expect_bulk(bulk); }
  bool has_news() override;
  int descriptor() const override { return inner_->descriptor(); }
  std::string tls_description() const override;
  std::string alpn() const override;

 private:
  friend struct TlsBio;

  // Ciphertext for OpenSSL; 0 with `blocked` unset means the end of the stream or a failure of the inner one.
  std::size_t take_ciphertext(char* buffer, std::size_t size, bool& blocked);
  void put_ciphertext(std::string_view bytes) { outgoing_ += bytes; }
  // Before control leaves this stream: the inner stream's view is about to go.
  void keep_rest();

  bool decrypt(char* buffer, std::size_t size, Result<std::size_t>& out);
  // One record's worth; false on failure.
  bool encrypt(std::string_view bytes, Result<void>& out);
  // True when nothing waits any more, or on failure.
  bool flush(bool& moved, Result<void>& out);
  Error failure();

  TlsContext& context_;
  ssl_st* ssl_ = nullptr;

  std::string_view window_;  // ciphertext not yet taken, in the inner stream's buffer or in kept_
  std::string kept_;
  bool window_is_kept_ = false;
  bool may_fetch_ = true;  // one view a call, unless there is no plaintext yet
  bool inner_ended_ = false;
  Result<void> inner_result_;
  bool ended_ = false;
  Result<void> result_;  // a failure that is told at the next receive

  std::string outgoing_;  // ciphertext that OpenSSL has made
  std::string sending_;   // ciphertext that the inner stream is sending: it stays in place
  std::string_view unsent_;
  bool established_ = false;
  bool say_goodbye_ = true;

  // Last, so that it is destroyed first: it may still be sending from the above.
  std::unique_ptr<Stream> inner_;
};

}  // namespace plimsoll::net
