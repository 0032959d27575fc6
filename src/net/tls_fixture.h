// What the tests of TLS share: contexts with certificates of an authority of their own, and both sides of a
// connection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/engine_fixture.h"
#include "net/tls.h"
#include "tests/support/certificates.h"

namespace plimsoll::net {

// What one side of a test's connection does.
using Side = std::function<Task<void>(Stream&)>;

inline Task<void> nothing(Stream& /*stream*/) {
  co_return;
}

inline Task<void> send_whole(Stream& stream, std::string_view bytes) {
  const auto sent = co_await stream.send(bytes, {}, kPatience);
  EXPECT_TRUE(sent.has_value());
}

class Tls : public Engine {
 protected:
  struct Outcome {
    Result<void> client;
    Result<void> server;
    std::string client_failure;
  };

  std::unique_ptr<TlsContext> server_context(const std::vector<std::string>& names = {"localhost"}) {
    const test::CertificateFiles files = authority_.issue(names);
    return std::move(*TlsContext::server({.certificate = files.certificate, .key = files.key}));
  }
  std::unique_ptr<TlsContext> client_context() {
    return std::move(*TlsContext::client({.ca_file = authority_.ca_file()}));
  }

  // Connects, shakes hands as `host`, and plays both sides.
  Outcome play(TlsContext& server, TlsContext& client, const std::string& host, Side serve = nothing,
               Side use = nothing) {
    Outcome outcome;
    auto listener = listen();
    loop().run([](Loop& on, Listener& at, TlsContext& ours, TlsContext& theirs, const std::string& name,
                  Side& server_side, Side& client_side, Outcome& into) -> Task<void> {
      TaskScope scope;
      scope.spawn(accept_and_play(on, at, ours, server_side, into.server));
      auto plain = co_await connect(on, at.address(), {}, kPatience);
      auto stream = co_await tls_connect(std::move(*plain), theirs, name, kPatience);
      if (stream) {
        co_await client_side(**stream);
      } else {
        into.client = stream.error();
        into.client_failure = theirs.last_failure();
      }
      if (stream) stream->reset();
      co_await scope.join();
    }(loop(), listener, server, client, host, serve, use, outcome));
    return outcome;
  }

  static Task<void> accept_and_play(Loop& on, Listener& at, TlsContext& context, Side& side,
                                    Result<void>& into) {
    auto plain = co_await at.accept(on);
    auto stream = co_await tls_accept(std::move(*plain), context, kPatience);
    if (stream) {
      co_await side(**stream);
    } else {
      into = stream.error();
    }
  }

  test::TestAuthority authority_;
};

}  // namespace plimsoll::net
