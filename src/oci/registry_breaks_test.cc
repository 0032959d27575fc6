// Answers that end too early: every answer that a push or a pull needs is broken off at every one of its bytes, in
// order and by a reset. None of it is taken for a success, and none of it hangs.
#include <gtest/gtest.h>

#include <functional>

#include "oci/media_types.h"
#include "oci/registry_test_support.h"

namespace plimsoll::oci {
namespace {

using Breaks = RegistryClientTest;

const std::string kContent = "0123456789";
const http::TextBody kBody(kContent);
const Digest kDigest = Digest::of(kContent);
const std::string kManifest = R"({"schemaVersion":2,"layers":[]})";

enum class End : std::uint8_t { close, reset };

// One connection for each place where `reply` can be cut; what comes before it on the connection is `before`.
std::vector<test::Script> broken_everywhere(const test::Script& before, const std::string& reply, End end,
                                            std::size_t body = 0) {
  std::vector<test::Script> scripts;
  for (std::size_t cut = 0; cut < reply.size(); ++cut) {
    test::Script script = before;
    script.expect_head();
    if (body > 0) script.expect_bytes(body);
    if (cut > 0) script.send(reply.substr(0, cut));
    if (end == End::close) {
      script.close();
    } else {
      script.reset();
    }
    scripts.push_back(std::move(script));
  }
  return scripts;
}

// The kinds that a connection's early end may be called.
bool is_of_a_break(const Error& error) {
  return error.kind == ErrorKind::closed || error.kind == ErrorKind::reset ||
         error.kind == ErrorKind::short_body;
}

TEST_F(Breaks, ABlobAtEveryByte) {
  const std::string replies[] = {
      answer(200, "Docker-Content-Digest: " + kDigest.text(), kContent),
      "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\n0123\r\n6\r\n456789\r\n0\r\nETag: "
      "z\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\n0123456789",
      // Ends with the connection: each end looks like any other, but is short of what the descriptor says.
      "HTTP/1.0 200 X\r\n\r\n0123456789"};
  for (const std::string& reply : replies) {
    for (const End end : {End::close, End::reset}) {
      const test::ScriptedPeer peer(broken_everywhere({}, reply, end));
      RegistryClient& registry = client(peer);
      for (std::size_t cut = 0; cut < reply.size(); ++cut) {
        const auto got = run(registry.get_blob("a", kDigest, 10, BlobRole::layer));
        ASSERT_FALSE(got) << reply.substr(0, cut);
        EXPECT_TRUE(is_of_a_break(got.error())) << describe(got.error()) << " after " << reply.substr(0, cut);
      }
      EXPECT_EQ(peer.connections(), reply.size());
    }
  }
}

TEST_F(Breaks, AManifestAtEveryByte) {
  const std::string reply = answer(200, fmt::format("Content-Type: {}", kOciManifest), kManifest);
  const test::ScriptedPeer peer(broken_everywhere({}, reply, End::close));
  RegistryClient& registry = client(peer);
  for (std::size_t cut = 0; cut < reply.size(); ++cut) {
    const auto got = run(registry.get_manifest("a", "t"));
    ASSERT_FALSE(got) << reply.substr(0, cut);
    EXPECT_TRUE(is_of_a_break(got.error())) << describe(got.error()) << " after " << reply.substr(0, cut);
  }
}

TEST_F(Breaks, TheAnswerThatOpensAnUploadAtEveryByte) {
  const std::string opened = answer(202, "Location: /u?_state=x|Range: 0-0");
  const test::ScriptedPeer peer(broken_everywhere({}, opened, End::close));
  RegistryClient& registry = client(peer);
  for (std::size_t cut = 0; cut < opened.size(); ++cut) {
    const auto upload = run(registry.start_upload("a"));
    ASSERT_FALSE(upload) << opened.substr(0, cut);
    EXPECT_TRUE(is_of_a_break(upload.error())) << describe(upload.error());
  }
}

// After the body was sent on a connection that had served before: nothing of it is sent again.
TEST_F(Breaks, TheAnswerToAPutAtEveryByte) {
  test::Script before;
  play(before, answer(202, "Location: /u"));
  const std::string stored = answer(201, "Location: /v2/a/blobs/x");
  for (const End end : {End::close, End::reset}) {
    const test::ScriptedPeer peer(broken_everywhere(before, stored, end, kContent.size()));
    RegistryClient& registry = client(peer);
    for (std::size_t cut = 0; cut < stored.size(); ++cut) {
      auto upload = run(registry.start_upload("a"));
      ASSERT_TRUE(upload) << describe(upload.error());
      const auto put = run(registry.put_blob(*upload, kBody, kDigest, BlobRole::layer));
      ASSERT_FALSE(put) << stored.substr(0, cut);
      EXPECT_TRUE(is_of_a_break(put.error())) << describe(put.error());
    }
    EXPECT_EQ(peer.connections(), stored.size());
  }
}

TEST_F(Breaks, TheAnswerToAPatchAtEveryByte) {
  test::Script before;
  play(before, answer(202, "Location: /u"));
  const std::string patched = answer(202, "Location: /u?y|Range: 0-9");
  const test::ScriptedPeer peer(broken_everywhere(before, patched, End::close, kContent.size()));
  RegistryClient& registry = client(peer);
  for (std::size_t cut = 0; cut < patched.size(); ++cut) {
    auto upload = run(registry.start_upload("a"));
    ASSERT_TRUE(upload) << describe(upload.error());
    const auto sent = run(registry.stream_blob(*upload, kBody, BlobRole::layer));
    ASSERT_FALSE(sent) << patched.substr(0, cut);
    EXPECT_TRUE(is_of_a_break(sent.error())) << describe(sent.error());
    EXPECT_EQ(upload->offset, 0U) << "nothing was acknowledged";
  }
}

TEST_F(Breaks, ATokenAtEveryByte) {
  const std::string reply =
      answer(200, "Content-Type: application/json", R"({"token":"SECRET","expires_in":300})");
  const test::ScriptedPeer tokens(broken_everywhere({}, reply, End::close));
  const std::string challenge =
      answer(401, fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"", tokens.authority()));
  test::Script forever;
  play(forever, challenge);
  forever.again();
  const test::ScriptedPeer peer(forever);
  RegistryClient& registry = client(peer, {"me", "pw", ""});
  for (std::size_t cut = 0; cut < reply.size(); ++cut) {
    const auto ping = run(registry.ping());
    ASSERT_FALSE(ping) << reply.substr(0, cut);
    EXPECT_TRUE(is_of_a_break(ping.error()) || ping.error().kind == ErrorKind::token)
        << describe(ping.error());
  }
  EXPECT_FALSE(has(peer.received(), "Authorization"));
}

TEST_F(Breaks, ARedirectsAndItsStoragesAnswerAtEveryByte) {
  const std::string stored = answer(200, {}, kContent);
  const test::ScriptedPeer storage(broken_everywhere({}, stored, End::close));
  const std::string moved = answer(307, fmt::format("Location: http://{}/b?sig=1", storage.authority()));
  test::Script forever;
  play(forever, moved);
  forever.again();
  const test::ScriptedPeer peer(forever);
  RegistryClient& registry = client(peer);
  for (std::size_t cut = 0; cut < stored.size(); ++cut) {
    const auto got = run(registry.get_blob("a", kDigest, 10, BlobRole::layer));
    ASSERT_FALSE(got) << stored.substr(0, cut);
    EXPECT_TRUE(is_of_a_break(got.error())) << describe(got.error());
  }
  const test::ScriptedPeer moving(broken_everywhere({}, moved, End::close));
  RegistryClient& other = client(moving);
  for (std::size_t cut = 0; cut < moved.size(); ++cut) {
    EXPECT_FALSE(run(other.get_blob("a", kDigest, 10, BlobRole::layer))) << moved.substr(0, cut);
  }
}

// What was refused was refused, however the connection ended after the status.
TEST_F(Breaks, ARefusalStaysOneWhereverItsBodyEnds) {
  const std::string reply = answer(429, "Retry-After: 1", R"({"errors":[{"code":"TOOMANYREQUESTS"}]})");
  const std::size_t head = reply.find("\r\n\r\n") + 4;
  const test::ScriptedPeer peer(broken_everywhere({}, reply, End::close));
  RegistryClient& registry = client(peer);
  for (std::size_t cut = 0; cut < reply.size(); ++cut) {
    const auto got = run(registry.get_manifest("a", "t"));
    ASSERT_FALSE(got);
    if (cut >= head) {
      EXPECT_EQ(got.error(), (Error{ErrorKind::throttled, 429})) << cut;
    } else {
      EXPECT_TRUE(is_of_a_break(got.error())) << describe(got.error());
    }
  }
}

}  // namespace
}  // namespace plimsoll::oci
