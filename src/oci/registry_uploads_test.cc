// Uploads as registries really answer them. Names are those of the quirks and traps that a test stands for.
#include <gtest/gtest.h>

#include "oci/registry_test_support.h"

namespace plimsoll::oci {
namespace {

const std::string kContent = "0123456789";
const http::TextBody kBody(kContent);
const Digest kDigest = Digest::of(kContent);
const std::string kQuery = "digest=sha256%3A" + kDigest.hex();

using Uploads = RegistryClientTest;
using Lines = std::vector<std::string>;

test::Script session(const std::string& location, std::string_view more = {}) {
  test::Script script;
  play(script, answer(202, fmt::format("Location: {}{}{}", location, more.empty() ? "" : "|", more)));
  return script;
}

// Opens a session and puts the whole content; the peer's script begins with the session.
Result<void> push(RegistryClient& client, net::Loop& loop) {
  std::optional<Result<void>> out;
  loop.run([](RegistryClient& c, std::optional<Result<void>>& result) -> net::Task<void> {
    auto upload = co_await c.start_upload("a/b");
    if (!upload) {
      result = upload.error();
      co_return;
    }
    result = co_await c.put_blob(*upload, kBody, kDigest, BlobRole::layer);
  }(client, out));
  return *out;
}

TEST_F(Uploads, C2QueryOfTheLocationComesBackByteForByte) {
  for (const auto* query : {"?_state=a%2Bb%3D%3D", "?_state=x&y=%C3%A9", "?a=b?c", "?x=1&&y"}) {
    auto script = session(std::string("/v2/a/b/blobs/uploads/u1") + query);
    play(script, answer(201), kContent.size());
    const test::ScriptedPeer peer(script);
    EXPECT_TRUE(push(client(peer), loop()));
    EXPECT_EQ(requests(peer).at(1), fmt::format("PUT /v2/a/b/blobs/uploads/u1{}&{}", query, kQuery));
  }
}

TEST_F(Uploads, C1LocationIsResolvedAgainstTheRequest) {
  const std::pair<const char*, const char*> cases[] = {
      {"/v2/a/b/blobs/uploads/u1", "/v2/a/b/blobs/uploads/u1"},
      {"u1", "/v2/a/b/blobs/uploads/u1"},
      {"../u1", "/v2/a/b/blobs/u1"},
      {"./u1?s=1", "/v2/a/b/blobs/uploads/u1?s=1"},
      {"?session=1", "/v2/a/b/blobs/uploads/?session=1"},
      {"/artifacts-uploads/x", "/artifacts-uploads/x"},
      {"../../../../../v2/a/b/blobs/uploads/u1", "/v2/a/b/blobs/uploads/u1"},
      {"/v2/./a/b/blobs/uploads/x/../u1", "/v2/a/b/blobs/uploads/u1"},
      {"u1#part", "/v2/a/b/blobs/uploads/u1"},
      {"u1?s=1#part", "/v2/a/b/blobs/uploads/u1?s=1"},
      {"u%2F1", "/v2/a/b/blobs/uploads/u%2F1"},
      {"u1?to=http://x/y?z", "/v2/a/b/blobs/uploads/u1?to=http://x/y?z"},
  };
  for (const auto& [location, target] : cases) {
    auto script = session(location);
    play(script, answer(201), kContent.size());
    const test::ScriptedPeer peer(script);
    EXPECT_TRUE(push(client(peer), loop())) << location;
    const char joint = std::string_view(target).find('?') == std::string_view::npos ? '?' : '&';
    EXPECT_EQ(requests(peer).at(1), fmt::format("PUT {}{}{}", target, joint, kQuery)) << location;
  }
}

TEST_F(Uploads, C1AbsoluteAndNetworkPathLocations) {
  for (const auto* form : {"http://{}/v2/x", "//{}/v2/x", "HTTP://{}/v2/x", "http://{}/v2/y/../x#part"}) {
    auto second = test::Script();
    play(second, answer(201), kContent.size());
    const test::ScriptedPeer storage(second);
    const test::ScriptedPeer peer(session(fmt::format(fmt::runtime(form), storage.authority())));
    EXPECT_TRUE(push(client(peer), loop()));
    EXPECT_EQ(requests(storage), Lines{"PUT /v2/x?" + kQuery});
    EXPECT_TRUE(has(storage.received(), "Host: " + storage.authority()));
  }
}

TEST_F(Uploads, C1SessionWithoutALocationIsAProtocolError) {
  for (const auto* headers : {"", "Location: ", "X-Y: z"}) {
    const test::ScriptedPeer peer(answers({answer(202, headers)}));
    const auto pushed = push(client(peer), loop());
    ASSERT_FALSE(pushed);
    EXPECT_EQ(pushed.error().kind, ErrorKind::protocol);
  }
}

// What a registry behind a proxy makes of its own name: the error shows it.
TEST_F(Uploads, C7LocationThatCannotBeFollowedIsShown) {
  for (const auto* location : {"ftp://registry/u1", "http://user:pw@registry/u1", "http://",
                               "http://[broken/u1", "http://registry:99999/u1", "http://re gistry/u1"}) {
    const test::ScriptedPeer peer(answers({answer(202, fmt::format("Location: {}", location))}));
    RegistryClient& registry = client(peer);
    const auto pushed = push(registry, loop());
    ASSERT_FALSE(pushed) << location;
    EXPECT_EQ(pushed.error().kind, ErrorKind::protocol) << location;
    EXPECT_TRUE(has(registry.detail().text, "Location: ")) << registry.detail().text;
  }
}

TEST_F(Uploads, BasePathIsKept) {
  base_path = "/mirror/";
  auto script = session("/mirror/v2/a/b/blobs/uploads/u");
  play(script, answer(201), kContent.size());
  const test::ScriptedPeer peer(script);
  EXPECT_TRUE(push(client(peer), loop()));
  EXPECT_EQ(requests(peer).at(0), "POST /mirror/v2/a/b/blobs/uploads/");
}

TEST_F(Uploads, C6AuthorizationStaysWithTheRegistry) {
  auto second = test::Script();
  play(second, answer(201), kContent.size());
  const test::ScriptedPeer storage(second);
  test::Script first;
  play(first, answer(401, "WWW-Authenticate: Basic realm=\"x\""));
  play(first, answer(202, "Location: http://" + storage.authority() + "/u"));
  const test::ScriptedPeer peer(first);
  options.headers = {{"X-Secret", "s"}};
  EXPECT_TRUE(push(client(peer, {"me", "pw", ""}), loop()));
  EXPECT_EQ(count(peer.received(), "Authorization: Basic bWU6cHc=\r\n"), 1U);
  EXPECT_FALSE(has(storage.received(), "Authorization"));
  EXPECT_FALSE(has(storage.received(), "X-Secret"));
}

TEST_F(Uploads, C8MountAnsweredInEveryWay) {
  struct Case {
    std::string reply;
    bool mounted;
    bool session;
  };
  const Case cases[] = {{answer(201, "Location: /v2/a/blobs/x"), true, false},
                        {answer(202, "Location: /v2/a/blobs/uploads/u?s=1"), false, true},
                        {answer(202), false, false},
                        {answer(405), false, false},
                        {answer(404), false, false},
                        {answer(400), false, false},
                        {answer(403), false, false}};
  for (const auto& expected : cases) {
    observed = {};
    const test::ScriptedPeer peer(answers({expected.reply}));
    const auto mounted = run(client(peer).mount("a", kDigest, "b/c"));
    ASSERT_TRUE(mounted);
    EXPECT_EQ(mounted->mounted, expected.mounted);
    EXPECT_EQ(mounted->upload.has_value(), expected.session);
    EXPECT_EQ(observed.count(NoteKind::mount_missed), expected.mounted ? 0 : 1);
    EXPECT_EQ(requests(peer),
              Lines{"POST /v2/a/blobs/uploads/?mount=sha256%3A" + kDigest.hex() + "&from=b%2Fc"});
  }
}

TEST_F(Uploads, MountWithoutFromIsAnonymous) {
  const test::ScriptedPeer peer(answers({answer(201)}));
  EXPECT_TRUE(run(client(peer).mount("a", kDigest, "")));
  EXPECT_EQ(requests(peer), Lines{"POST /v2/a/blobs/uploads/?mount=sha256%3A" + kDigest.hex()});
}

TEST_F(Uploads, MountRefusedByThrottlingOrFailureIsAnError) {
  for (const int status : {429, 500}) {
    const test::ScriptedPeer peer(answers({answer(status)}));
    EXPECT_FALSE(run(client(peer).mount("a", kDigest, "b")));
  }
}

TEST_F(Uploads, C10SinglePostAndItsWayOut) {
  test::Script direct;
  play(direct, answer(201), kContent.size());
  const test::ScriptedPeer stored(direct);
  EXPECT_TRUE(run(client(stored).post_blob("a", kBody, kDigest, BlobRole::layer)));
  EXPECT_EQ(requests(stored), Lines{"POST /v2/a/blobs/uploads/?" + kQuery});
  EXPECT_TRUE(has(stored.received(), "Content-Type: application/octet-stream\r\n"));

  observed = {};
  test::Script fallback;
  play(fallback, answer(202, "Location: /u?s=1"), kContent.size());
  play(fallback, answer(201), kContent.size());
  const test::ScriptedPeer peer(fallback);
  EXPECT_TRUE(run(client(peer).post_blob("a", kBody, kDigest, BlobRole::layer)));
  EXPECT_EQ(requests(peer).at(1), "PUT /u?s=1&" + kQuery);
  EXPECT_EQ(observed.steps, (Lines{"layer POST 202", "layer PUT 201"}));
}

TEST_F(Uploads, C25NewestLocationIsUsed) {
  auto script = session("/u/1");
  play(script, answer(202, "Location: /u/2|Range: 0-3"), 4);
  play(script, answer(202, "Location: /u/3?s=x|Range: 0-7"), 4);
  play(script, answer(202, "Range: 0-9"), 2);
  play(script, answer(201));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  ASSERT_TRUE(upload);
  EXPECT_TRUE(run(registry.send_chunks(*upload, kBody, 4, BlobRole::layer)));
  EXPECT_TRUE(run(registry.finish_upload(*upload, kDigest, BlobRole::layer)));
  EXPECT_EQ(requests(peer), (Lines{"POST /v2/a/blobs/uploads/", "PATCH /u/1", "PATCH /u/2", "PATCH /u/3?s=x",
                                   "PUT /u/3?s=x&" + kQuery}));
  for (const auto* range : {"Content-Range: 0-3\r\n", "Content-Range: 4-7\r\n", "Content-Range: 8-9\r\n"}) {
    EXPECT_TRUE(has(peer.received(), range));
  }
  EXPECT_TRUE(observed.notes.empty());
}

TEST_F(Uploads, C21RangeThatStandsStillIsNotedAndNotFollowed) {
  auto script = session("/u");
  play(script, answer(202, "Location: /u|Range: 0-3"), 4);
  play(script, answer(201, "Location: /u|Range: 0-3"), 4);  // ECR: 201 in place of 202
  play(script, answer(202, "Location: /u|Range: 8-9"), 2);
  play(script, answer(201));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  EXPECT_TRUE(run(registry.send_chunks(*upload, kBody, 4, BlobRole::layer)));
  EXPECT_TRUE(run(registry.finish_upload(*upload, kDigest, BlobRole::layer)));
  EXPECT_EQ(observed.count(NoteKind::range_mismatch), 2);
  EXPECT_EQ(observed.count(NoteKind::nonstandard_status), 1);
  EXPECT_TRUE(has(peer.received(), "Content-Range: 8-9\r\n"));
}

TEST_F(Uploads, C23ChunksAreRaisedToTheMinimum) {
  auto script = session("/u", "OCI-Chunk-Min-Length: 6");
  play(script, answer(202, "Range: 0-5"), 6);
  play(script, answer(202, "Range: 0-9"), 4);
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  EXPECT_TRUE(run(registry.send_chunks(*upload, kBody, 2, BlobRole::layer)));
  EXPECT_TRUE(has(peer.received(), "Content-Range: 0-5\r\n"));
  EXPECT_TRUE(has(peer.received(), "Content-Range: 6-9\r\n"));
}

TEST_F(Uploads, A416ResumesFromWhatTheRegistryHas) {
  for (const auto* range : {"0-1", "bytes=0-1"}) {
    observed = {};
    auto script = session("/u");
    play(script, answer(202, "Range: 0-3"), 4);
    play(script, answer(416), 4);
    play(script, answer(204, fmt::format("Location: /u2|Range: {}", range)));
    play(script, answer(202, "Range: 0-5"), 4);
    play(script, answer(202, "Range: 0-9"), 4);
    const test::ScriptedPeer peer(script);
    RegistryClient& registry = client(peer);
    auto upload = run(registry.start_upload("a"));
    EXPECT_TRUE(run(registry.send_chunks(*upload, kBody, 4, BlobRole::layer)));
    EXPECT_EQ(requests(peer).at(3), "GET /u");
    EXPECT_EQ(requests(peer).at(4), "PATCH /u2");
    EXPECT_TRUE(has(peer.received(), "Content-Range: 2-5\r\n"));
    EXPECT_TRUE(has(peer.received(), "Content-Range: 6-9\r\n"));
    EXPECT_EQ(observed.count(NoteKind::resumed), 1);
  }
}

TEST_F(Uploads, A416ThatLeadsNowhereIsAnError) {
  auto script = session("/u");
  play(script, answer(416), 10);
  play(script, answer(204, "Range: 0-0"));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  const auto sent = run(registry.send_chunks(*upload, kBody, 100, BlobRole::layer));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, 416);
}

TEST_F(Uploads, StreamedUploadIsOnePatch) {
  auto script = session("/u?s=1");
  play(script, answer(202, "Location: /u?s=2|Range: bytes=0-9"), kContent.size());
  play(script, answer(201));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  EXPECT_TRUE(run(registry.stream_blob(*upload, kBody, BlobRole::config)));
  EXPECT_TRUE(run(registry.finish_upload(*upload, kDigest, BlobRole::config)));
  EXPECT_EQ(requests(peer), (Lines{"POST /v2/a/blobs/uploads/", "PATCH /u?s=1", "PUT /u?s=2&" + kQuery}));
  EXPECT_FALSE(has(peer.received(), "Content-Range"));
  EXPECT_TRUE(has(peer.received(), "Content-Length: 10\r\n"));
  EXPECT_EQ(observed.steps, (Lines{"upload POST 202", "config PATCH 202", "config PUT 201"}));
  EXPECT_TRUE(observed.notes.empty());
}

class Unsized final : public http::RequestBody {
 public:
  std::optional<std::uint64_t> length() const override { return std::nullopt; }
  http::BodyPiece piece(std::uint64_t offset) const override { return kBody.piece(offset); }
};

TEST_F(Uploads, StreamedUploadOfUnknownLengthIsChunked) {
  auto script = session("/u");
  script.expect_head();
  script.expect_bytes(std::string("a\r\n0123456789\r\n0\r\n\r\n").size());
  script.send(answer(202, "Range: 0-9"));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  EXPECT_TRUE(run(registry.stream_blob(*upload, Unsized(), BlobRole::layer)));
  EXPECT_TRUE(has(peer.received(), "Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(observed.notes.empty());
}

TEST_F(Uploads, C19EmptyBlobsArePutWithLengthZero) {
  auto script = session("/u");
  play(script, answer(201));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  const http::TextBody nothing("");
  EXPECT_TRUE(run(registry.put_blob(*upload, nothing, Digest::of(""), BlobRole::layer)));
  EXPECT_EQ(count(peer.received(), "Content-Length: 0\r\n"), 2U);
  EXPECT_TRUE(run(registry.send_chunks(*upload, nothing, 4, BlobRole::layer)));
}

TEST_F(Uploads, Trap29LostUploadsHaveAKindOfTheirOwn) {
  auto script = session("/u?_state=secret");
  play(script, answer(404, {}, R"({"errors":[{"code":"BLOB_UPLOAD_UNKNOWN","message":"gone"}]})"),
       kContent.size());
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  const auto pushed = push(registry, loop());
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().kind, ErrorKind::upload_lost);
  EXPECT_EQ(pushed.error().code, 404);
  EXPECT_EQ(registry.detail().text, "404 BLOB_UPLOAD_UNKNOWN: gone");
  EXPECT_EQ(registry.detail().peer, peer.authority());
  EXPECT_EQ(registry.detail().request, "PUT /u?_state=...&" + kQuery);
  EXPECT_EQ(registry.last_status(), 404);
}

TEST_F(Uploads, Trap22EarlyRefusalIsReportedAsWhatItIs) {
  auto script = session("/u");
  script.expect_head();
  script.send(answer(413, "Connection: close", R"({"errors":[{"code":"SIZE_INVALID"}]})"));
  script.close();
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto upload = run(registry.start_upload("a"));
  const std::string large(32U << 20U, 'x');
  const http::TextBody body(large);
  const auto put = run(registry.put_blob(*upload, body, Digest::of("x"), BlobRole::layer));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().kind, ErrorKind::unexpected_status);
  EXPECT_EQ(put.error().code, 413);
  EXPECT_EQ(registry.last_status(), 413);
}

TEST_F(Uploads, StatusReadsEveryRange) {
  struct Case {
    const char* range;
    std::uint64_t acknowledged;
    std::uint64_t offset;
  };
  const Case cases[] = {{"0-5", 0, 6}, {"bytes=0-5", 0, 6}, {"0--1", 0, 0},
                        {"0-0", 0, 0}, {"0-0", 5, 0},       {"0-0", 1, 1}};
  for (const auto& expected : cases) {
    const test::ScriptedPeer peer(answers({answer(204, fmt::format("Range: {}", expected.range))}));
    RegistryClient& registry = client(peer);
    Upload upload{.repository = "a",
                  .location = *http::parse_url("http://" + peer.authority() + "/u"),
                  .offset = expected.acknowledged};
    EXPECT_EQ(run(registry.upload_status(upload)).value(), expected.offset) << expected.range;
    EXPECT_EQ(upload.offset, expected.offset);
  }
}

TEST_F(Uploads, CancelToleratesAbsence) {
  for (const int status : {204, 404, 200}) {
    const test::ScriptedPeer peer(answers({answer(status)}));
    RegistryClient& registry = client(peer);
    Upload upload{.repository = "a", .location = *http::parse_url("http://" + peer.authority() + "/u?s=1")};
    EXPECT_TRUE(run(registry.cancel_upload(upload))) << status;
    EXPECT_EQ(requests(peer), Lines{"DELETE /u?s=1"});
  }
}

TEST_F(Uploads, Trap24AndRetriesABrokenPutIsResumed) {
  options.retries = 1;
  auto script = session("/u");
  script.expect_head().expect_bytes(4).reset();
  test::Script second;
  play(second, answer(204, "Retry-After: 0|Location: /u2|Range: 0-3"));
  play(second, answer(201), 6);
  const test::ScriptedPeer peer({script, second});
  EXPECT_TRUE(push(client(peer), loop()));
  EXPECT_EQ(requests(peer),
            (Lines{"POST /v2/a/b/blobs/uploads/", "PUT /u?" + kQuery, "GET /u", "PUT /u2?" + kQuery}));
  EXPECT_TRUE(has(peer.received(1), "Content-Range: 4-9\r\n"));
  EXPECT_TRUE(has(peer.received(1), "\r\n\r\n456789"));
  EXPECT_EQ(observed.count(NoteKind::retried), 1);
  EXPECT_EQ(observed.count(NoteKind::resumed), 1);
}

TEST_F(Uploads, AnAnswerThatWasLostAfterTheBlobWasStoredIsNoFailure) {
  options.retries = 1;
  auto script = session("/u");
  script.expect_head().expect_bytes(10).reset();
  const test::ScriptedPeer peer({script, answers({answer(404), answer(200)})});
  EXPECT_TRUE(push(client(peer), loop()));
  EXPECT_EQ(requests(peer).back(), "HEAD /v2/a/b/blobs/" + kDigest.text());
}

TEST_F(Uploads, Trap30NothingIsRetriedUnlessAsked) {
  auto script = session("/u");
  script.expect_head().expect_bytes(10).reset();
  const test::ScriptedPeer peer({script, answers({answer(201)})});
  const auto pushed = push(client(peer), loop());
  ASSERT_FALSE(pushed);
  EXPECT_EQ(peer.connections(), 1U);
  EXPECT_TRUE(observed.notes.empty());
}

}  // namespace
}  // namespace plimsoll::oci
