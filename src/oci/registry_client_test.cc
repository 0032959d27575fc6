// Reads, lists, deletes, redirects and throttling as registries really answer them. Names are those of the quirks
// and traps that a test stands for.
#include <gtest/gtest.h>

#include "oci/media_types.h"
#include "oci/registry_test_support.h"

namespace plimsoll::oci {
namespace {

const std::string kContent = "0123456789";
const Digest kDigest = Digest::of(kContent);
const std::string kBlobPath = "/v2/a/blobs/" + kDigest.text();
const std::string kManifest = R"({"schemaVersion":2,"layers":[]})";

using Reads = RegistryClientTest;
using Lines = std::vector<std::string>;

std::string manifest_headers(const Digest& digest) {
  return fmt::format("Content-Type: {}; charset=utf-8|Docker-Content-Digest: {}", kOciManifest,
                     digest.text());
}

TEST_F(Reads, PingGivesTheBody) {
  const test::ScriptedPeer peer(
      answers({answer(200, "Server: nginx/1.22|Docker-Distribution-Api-Version: registry/2.0", "{}"),
               answer(404, {}, "<title>no</title>")}));
  RegistryClient& registry = client(peer);
  EXPECT_EQ(run(registry.ping()).value(), "{}");
  EXPECT_EQ(registry.server(), "nginx/1.22, registry/2.0");
  const auto refused = run(registry.ping());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 404);
  EXPECT_EQ(registry.detail().text, "404 no");
  EXPECT_EQ(requests(peer), (Lines{"GET /v2/", "GET /v2/"}));
}

TEST_F(Reads, C14ManifestsAreAskedForWithAllTypes) {
  const test::ScriptedPeer peer(answers({answer(200, manifest_headers(Digest::of(kManifest)), kManifest)}));
  const auto got = run(client(peer).get_manifest("a", "latest"));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, kManifest);
  EXPECT_EQ(got->media_type, kOciManifest);
  EXPECT_EQ(got->size, kManifest.size());
  for (const auto type : {kOciManifest, kOciIndex, kDockerManifest, kDockerList})
    EXPECT_TRUE(has(peer.received(), type));
  EXPECT_TRUE(has(peer.received(), "Accept-Encoding: identity\r\n"));
  EXPECT_TRUE(observed.notes.empty());
}

TEST_F(Reads, C12DigestHeaderMissingWrongOrOfAnotherAlgorithm) {
  const Digest sha512 = Digest::of(kManifest, DigestAlgorithm::sha512);
  const test::ScriptedPeer peer(
      answers({answer(200, {}, kManifest), answer(200, manifest_headers(sha512), kManifest),
               answer(200, manifest_headers(kDigest), kManifest),
               answer(200, "Docker-Content-Digest: nonsense", kManifest)}));
  RegistryClient& registry = client(peer);
  EXPECT_EQ(run(registry.get_manifest("a", "t"))->digest, Digest::of(kManifest));
  EXPECT_EQ(observed.count(NoteKind::digest_header_missing), 1);
  EXPECT_EQ(run(registry.get_manifest("a", "t"))->digest, sha512);
  const auto wrong = run(registry.get_manifest("a", "t"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::digest_mismatch);
  EXPECT_EQ(run(registry.get_manifest("a", "t"))->digest, Digest::of(kManifest));
  EXPECT_EQ(observed.count(NoteKind::digest_header_missing), 2);
}

TEST_F(Reads, C12DigestHeaderOfBlobs) {
  const std::string sha512 = Digest::of(kContent, DigestAlgorithm::sha512).text();
  const std::string wrong = Digest::of("other").text();
  const test::ScriptedPeer peer(
      answers({answer(200, {}, kContent), answer(200, "Docker-Content-Digest: " + sha512, kContent),
               answer(200, "Docker-Content-Digest: nonsense", kContent),
               answer(200, "Docker-Content-Digest: " + wrong, kContent)}));
  RegistryClient& registry = client(peer);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer))) << i;
  const auto got = run(registry.get_blob("a", kDigest, 10, BlobRole::layer));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::digest_mismatch);
}

TEST_F(Reads, ManifestByDigestIsVerified) {
  const test::ScriptedPeer peer(answers({answer(200, {}, kManifest), answer(200, {}, kManifest)}));
  RegistryClient& registry = client(peer);
  EXPECT_TRUE(run(registry.get_manifest("a", Digest::of(kManifest, DigestAlgorithm::sha512).text())));
  const auto wrong = run(registry.get_manifest("a", kDigest.text()));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::digest_mismatch);
}

TEST_F(Reads, ManifestsAreBounded) {
  test::Script script;
  script.expect_head().send("HTTP/1.1 200 X\r\nContent-Length: 5000000\r\n\r\n").send_filler(5'000'000);
  const test::ScriptedPeer peer(script);
  const auto got = run(client(peer).get_manifest("a", "t"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::protocol);
}

TEST_F(Reads, C41AnyFramingOfBlobs) {
  for (const auto& reply :
       {answer(200, {}, kContent), std::string("HTTP/1.1 200 X\r\n\r\n") + kContent,
        std::string("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n")}) {
    test::Script script;
    script.expect_head().send(reply).close();
    const test::ScriptedPeer peer(script);
    EXPECT_TRUE(run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer))) << reply;
  }
}

TEST_F(Reads, C41HeadWithoutALengthHasNoSize) {
  const test::ScriptedPeer peer(answers({"HTTP/1.1 200 X\r\n\r\n", "HTTP/1.1 200 X\r\n\r\n"}));
  RegistryClient& registry = client(peer);
  const auto head = run(registry.head_manifest("a", "t"));
  ASSERT_TRUE(head);
  EXPECT_FALSE(head->size.has_value());
  EXPECT_TRUE(run(registry.head_blob("a", kDigest, BlobRole::layer)));
}

TEST_F(Reads, Trap18BlobsAreChecked) {
  struct Case {
    std::string body;
    bool verify;
    std::optional<ErrorKind> error;
  };
  const Case cases[] = {{kContent, true, {}},
                        {"0123456780", true, ErrorKind::digest_mismatch},
                        {"0123456780", false, {}},
                        {"012345678", true, ErrorKind::short_body},
                        {"012345678", false, ErrorKind::short_body},
                        {"01234567890", false, ErrorKind::digest_mismatch}};
  for (const auto& expected : cases) {
    options.verify = expected.verify;
    const test::ScriptedPeer peer(answers({answer(200, {}, expected.body)}));
    const auto got = run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer));
    EXPECT_EQ(got.has_value(), !expected.error.has_value()) << expected.body;
    if (!got) EXPECT_EQ(got.error().kind, *expected.error) << expected.body;
  }
}

TEST_F(Reads, Trap18TruncatedBlobIsAShortBody) {
  test::Script script;
  script.expect_head().send("HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\n01234").close();
  const test::ScriptedPeer peer(script);
  const auto got = run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::short_body);
}

TEST_F(Reads, Trap43ContentCodingIsNotUndone) {
  const test::ScriptedPeer peer(answers({answer(200, "Content-Encoding: gzip", kContent)}));
  EXPECT_TRUE(run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(observed.count(NoteKind::content_coding_ignored), 1);
}

TEST_F(Reads, C19ZeroLengthBlobs) {
  const test::ScriptedPeer peer(answers({answer(200)}));
  EXPECT_TRUE(run(client(peer).get_blob("a", Digest::of(""), 0, BlobRole::layer)));
}

TEST_F(Reads, HeadRefusedWhileGetWorks) {
  for (const int status : {405, 401, 403, 501}) {
    observed = {};
    const test::ScriptedPeer peer(answers(
        {fmt::format("HTTP/1.1 {} X\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 5\r\n\r\n", status),
         answer(206, "Content-Range: bytes 0-0/10", "0")}));
    EXPECT_TRUE(run(client(peer).head_blob("a", kDigest, BlobRole::layer))) << status;
    EXPECT_TRUE(has(peer.received(), "Range: bytes=0-0\r\n"));
    EXPECT_EQ(observed.count(NoteKind::head_unsupported), 1);
  }
  const test::ScriptedPeer peer(
      answers({answer(405), answer(200, manifest_headers(Digest::of(kManifest)), kManifest)}));
  const auto head = run(client(peer).head_manifest("a", "t"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->digest, Digest::of(kManifest));
  EXPECT_EQ(head->size, kManifest.size());
  EXPECT_TRUE(head->body.empty());
}

TEST_F(Reads, HeadOfWhatIsAbsentIsAnError) {
  const test::ScriptedPeer peer(answers({answer(404)}));
  const auto head = run(client(peer).head_blob("a", kDigest, BlobRole::layer));
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error(), (Error{ErrorKind::unexpected_status, 404}));
  EXPECT_EQ(requests(peer).size(), 1U);
}

TEST_F(Reads, C33RedirectedHeadCountsAsFound) {
  for (const int status : {301, 302, 303, 307, 308}) {
    const test::ScriptedPeer peer(answers({answer(status, "Location: /signed-for-get?sig=1")}));
    EXPECT_TRUE(run(client(peer).head_blob("a", kDigest, BlobRole::layer))) << status;
    EXPECT_EQ(requests(peer), Lines{"HEAD " + kBlobPath});
  }
}

TEST_F(Reads, C32RedirectToStorageCarriesNoCredentials) {
  for (const int status : {301, 302, 303, 307, 308}) {
    observed = {};
    const test::ScriptedPeer storage(answers({answer(200, {}, kContent)}));
    const test::ScriptedPeer peer(
        answers({answer(401, "WWW-Authenticate: Basic realm=x"),
                 answer(status, "Location: http://" + storage.authority() + "/blob?sig=a%2Fb")}));
    RegistryClient& registry = client(peer, {"me", "pw", ""});
    EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer))) << status;
    EXPECT_EQ(requests(storage), Lines{"GET /blob?sig=a%2Fb"});
    EXPECT_FALSE(has(storage.received(), "Authorization"));
    EXPECT_TRUE(has(peer.received(), "Authorization"));
    EXPECT_EQ(observed.steps, (Lines{"layer GET 401", fmt::format("layer GET {}", status), "storage 200"}));
  }
}

TEST_F(Reads, RelativeRedirectsStayAtTheRegistryWithCredentials) {
  const test::ScriptedPeer peer(answers({answer(401, "WWW-Authenticate: Basic realm=x"),
                                         answer(307, "Location: ../moved?x=1"), answer(200, {}, kContent)}));
  EXPECT_TRUE(run(client(peer, {"me", "pw", ""}).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(requests(peer).back(), "GET /v2/a/moved?x=1");
  EXPECT_EQ(count(peer.received(), "Authorization"), 2U);
}

TEST_F(Reads, C33ExpiredSignatureIsFetchedAnewOnce) {
  const test::ScriptedPeer storage(answers({answer(403), answer(200, {}, kContent)}));
  const std::string to = "Location: http://" + storage.authority();
  const test::ScriptedPeer peer(answers({answer(307, to + "/old"), answer(307, to + "/new")}));
  EXPECT_TRUE(run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(requests(storage), (Lines{"GET /old", "GET /new"}));
  const test::ScriptedPeer closed(answers({answer(403), answer(403)}));
  const std::string there = "Location: http://" + closed.authority();
  const test::ScriptedPeer again(answers({answer(307, there + "/1"), answer(307, there + "/2")}));
  const auto got = run(client(again).get_blob("a", kDigest, 10, BlobRole::layer));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error(), (Error{ErrorKind::unauthorized, 403}));
}

TEST_F(Reads, StorageMayNotAskWhoWeAre) {
  const test::ScriptedPeer storage(answers(
      {answer(401, "WWW-Authenticate: Basic realm=x"), answer(401, "WWW-Authenticate: Basic realm=x")}));
  const std::string to = answer(307, "Location: http://" + storage.authority() + "/b");
  const test::ScriptedPeer peer(answers({to, to}));
  EXPECT_FALSE(run(client(peer, {"me", "pw", ""}).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_FALSE(has(storage.received(), "Authorization"));
}

TEST_F(Reads, StorageMayNotNameATokenServer) {
  const test::ScriptedPeer tokens(answers({answer(200, {}, R"({"token":"T"})")}));
  const std::string challenge =
      answer(401, fmt::format("WWW-Authenticate: Bearer realm=\"http://{}/token\"", tokens.authority()));
  const test::ScriptedPeer storage(answers({challenge, challenge}));
  const std::string to = answer(307, "Location: http://" + storage.authority() + "/b");
  const test::ScriptedPeer peer(answers({to, to}));
  EXPECT_FALSE(run(client(peer, {"me", "pw", ""}).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(tokens.connections(), 0U);
}

TEST_F(Reads, RedirectsThatGoWrongEnd) {
  test::Script script;
  play(script, answer(307, "Location: " + kBlobPath));
  script.again();
  const test::ScriptedPeer loops(script);
  auto got = run(client(loops).get_blob("a", kDigest, 10, BlobRole::layer));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::redirect_loop);
  for (const auto* headers : {"", "Location: ftp://x/y", "Location: http://[broken"}) {
    const test::ScriptedPeer peer(answers({answer(307, headers)}));
    got = run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer));
    ASSERT_FALSE(got) << headers;
    EXPECT_EQ(got.error().kind, ErrorKind::protocol) << headers;
  }
}

TEST_F(Reads, RedirectedPutIsSentAgainWhole) {
  const std::string manifest(2000, 'm');
  test::Script second;
  play(second, answer(201), manifest.size());
  const test::ScriptedPeer other(second);
  test::Script first;
  play(first, answer(307, "Location: http://" + other.authority() + "/m"), manifest.size());
  const test::ScriptedPeer peer(first);
  EXPECT_TRUE(run(client(peer).put_manifest("a", "t", kOciManifest, manifest)));
  EXPECT_TRUE(has(other.received(), manifest));
  EXPECT_TRUE(has(other.received(), "Content-Type: application/vnd.oci.image.manifest.v1+json\r\n"));
}

TEST_F(Reads, ManifestPutThatStoresSomethingElseIsAMismatch) {
  test::Script script;
  play(script, answer(201, "Docker-Content-Digest: " + kDigest.text()), kManifest.size());
  const test::ScriptedPeer peer(script);
  const auto put = run(client(peer).put_manifest("a", "t", kOciManifest, kManifest));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().kind, ErrorKind::digest_mismatch);
}

TEST_F(Reads, NsIsSentOnReadsOnly) {
  options.mirror_of = "docker.io:443";
  const test::ScriptedPeer peer(
      answers({answer(200, {}, kContent), answer(200, {}, kManifest), answer(200, {}, R"({"tags":[]})")}));
  RegistryClient& registry = client(peer);
  EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_TRUE(run(registry.get_manifest("a", "t")));
  EXPECT_TRUE(run(registry.tags("a")));
  EXPECT_EQ(requests(peer), (Lines{"GET " + kBlobPath + "?ns=docker.io%3A443",
                                   "GET /v2/a/manifests/t?ns=docker.io%3A443", "GET /v2/a/tags/list"}));
}

TEST_F(Reads, C35ThrottlingIsAKindOfItsOwn) {
  const test::ScriptedPeer peer(
      answers({answer(429, "Retry-After: 1", "<html><title>Slow down</title></html>")}));
  RegistryClient& registry = client(peer);
  const auto got = run(registry.get_manifest("a", "t"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error(), (Error{ErrorKind::throttled, 429}));
  EXPECT_EQ(registry.detail().text, "429 Slow down");
  EXPECT_EQ(requests(peer).size(), 1U);
}

TEST_F(Reads, C35RetriesAreCountedAndWaitAsTold) {
  options.retries = 3;
  const test::ScriptedPeer peer(answers({answer(429, "Retry-After: 0"), answer(503, "Retry-After: 0"),
                                         answer(408, "Retry-After: 0"), answer(200, {}, kContent)}));
  EXPECT_TRUE(run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(observed.count(NoteKind::retried), 3);
  EXPECT_EQ(observed.steps, (Lines{"layer GET 429", "layer GET 503", "layer GET 408", "layer GET 200"}));
}

TEST_F(Reads, RetryAfterIsRespectedBeforeTheNextRequest) {
  options.respect_retry_after = true;
  const test::ScriptedPeer peer(answers({answer(429, "Retry-After: 0.3"), answer(200, {}, kContent)}));
  RegistryClient& registry = client(peer);
  EXPECT_FALSE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  const Instant refused = now();
  EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_GT(now() - refused, std::chrono::milliseconds(200));
}

TEST_F(Reads, LostConnectionsAreRetriedWhenAsked) {
  options.retries = 1;
  test::Script broken;
  broken.expect_head().send("HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\n0123").reset();
  const test::ScriptedPeer peer({broken, answers({answer(200, {}, kContent)})});
  EXPECT_TRUE(run(client(peer).get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(observed.count(NoteKind::retried), 1);
}

TEST_F(Reads, C38PagesInEveryForm) {
  const test::ScriptedPeer peer(answers({
      answer(200, R"(Link: </v2/_catalog?last=b%2Fc&n=2>; rel="next")", R"({"repositories":["a","b/c"]})"),
      answer(200, R"(Link: <?next_page=gAAA%3D%3D>; rel=next)", R"({"repositories":[]})"),
      answer(200, {}, R"({"repositories":null})"),
  }));
  RegistryClient& registry = client(peer);
  auto page = run(registry.catalog(2));
  ASSERT_TRUE(page && page->next);
  EXPECT_EQ(page->names, (Lines{"a", "b/c"}));
  page = run(registry.next_page(http::Url(*page->next), Step::catalog));
  ASSERT_TRUE(page && page->next);
  EXPECT_TRUE(page->names.empty());
  page = run(registry.next_page(http::Url(*page->next), Step::catalog));
  ASSERT_TRUE(page);
  EXPECT_FALSE(page->next);
  EXPECT_EQ(requests(peer), (Lines{"GET /v2/_catalog?n=2", "GET /v2/_catalog?last=b%2Fc&n=2",
                                   "GET /v2/_catalog?next_page=gAAA%3D%3D"}));
}

TEST_F(Reads, C38PageThatLeadsToItselfEnds) {
  const test::ScriptedPeer peer(
      answers({answer(200, "Link: </v2/a/tags/list>; rel=next", R"({"tags":["x"]})")}));
  const auto page = run(client(peer).tags("a"));
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().kind, ErrorKind::redirect_loop);
}

TEST_F(Reads, C38PagesThatLeadInACircleEnd) {
  const auto page = [](char next) {
    return answer(200, fmt::format("Link: </v2/a/tags/list?last={}>; rel=\"next\"", next),
                  R"({"tags":["x"]})");
  };
  const test::ScriptedPeer peer(answers({page('b'), page('c'), page('b'), page('b'), answer(200, {}, "{}")}));
  RegistryClient& registry = client(peer);
  auto listed = run(registry.tags("a"));
  int pages = 0;
  while (listed && listed->next && ++pages < 10) {
    listed = run(registry.next_page(http::Url(*listed->next), Step::tags));
  }
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().kind, ErrorKind::redirect_loop);
  EXPECT_EQ(pages, 2);
  // Another listing begins anew.
  listed = run(registry.tags("a"));
  ASSERT_TRUE(listed && listed->next);
  EXPECT_TRUE(run(registry.next_page(http::Url(*listed->next), Step::tags)));
}

TEST_F(Reads, C38TagsPagesAsRegistriesGiveThem) {
  // n ignored; a page of nothing that still leads on, its Link relative and among others; null.
  test::Script script;
  play(script, answer(200, R"(Link: </v2/a/tags/list?n=1&last=c>; rel="next")", R"({"tags":["a","b","c"]})"));
  play(script, answer(200, R"(Link: </x>; rel="prev", <list?next_page=q%3D>; title="1, 2"; rel="last next")",
                      R"({"name":"a","tags":[]})"));
  play(script, answer(200, {}, R"({"name":"a","tags":null})"));
  const test::ScriptedPeer peer(script);
  RegistryClient& registry = client(peer);
  auto page = run(registry.tags("a", 1));
  ASSERT_TRUE(page && page->next);
  EXPECT_EQ(page->names.size(), 3U);
  page = run(registry.next_page(http::Url(*page->next), Step::tags));
  ASSERT_TRUE(page && page->next);
  EXPECT_TRUE(page->names.empty());
  page = run(registry.next_page(http::Url(*page->next), Step::tags));
  ASSERT_TRUE(page);
  EXPECT_FALSE(page->next);
  EXPECT_EQ(requests(peer), (Lines{"GET /v2/a/tags/list?n=1", "GET /v2/a/tags/list?n=1&last=c",
                                   "GET /v2/a/tags/list?next_page=q%3D"}));
}

TEST_F(Reads, OddListsAreTaken) {
  const test::ScriptedPeer peer(
      answers({answer(200, {}, R"({"name":"a","tags":["x",null,7,"y"]})"), answer(200, {}, R"({"name":"a"})"),
               answer(200, {}, "<html>"), answer(404, {}, R"({"errors":[{"code":"NAME_UNKNOWN"}]})")}));
  RegistryClient& registry = client(peer);
  EXPECT_EQ(run(registry.tags("a"))->names, (Lines{"x", "y"}));
  EXPECT_TRUE(run(registry.tags("a"))->names.empty());
  EXPECT_EQ(run(registry.tags("a")).error().kind, ErrorKind::protocol);
  EXPECT_EQ(run(registry.tags("a")).error().code, 404);
}

TEST_F(Reads, C36RefusedDeletesAreTold) {
  const test::ScriptedPeer peer(
      answers({answer(202), answer(405, {}, R"({"errors":[{"code":"UNSUPPORTED"}]})"), answer(400),
               answer(404), answer(204), answer(403)}));
  RegistryClient& registry = client(peer);
  EXPECT_EQ(run(registry.delete_manifest("a", kDigest)).value(), 202);
  EXPECT_EQ(run(registry.delete_manifest("a", kDigest)).value(), 405);
  EXPECT_EQ(run(registry.delete_tag("a", "t")).value(), 400);
  EXPECT_EQ(run(registry.delete_blob("a", kDigest)).value(), 404);
  EXPECT_EQ(run(registry.delete_blob("a", kDigest)).value(), 204);
  EXPECT_EQ(run(registry.delete_blob("a", kDigest)).error().kind, ErrorKind::unauthorized);
  EXPECT_EQ(requests(peer).at(0), "DELETE /v2/a/manifests/" + kDigest.text());
  EXPECT_EQ(requests(peer).at(2), "DELETE /v2/a/manifests/t");
}

TEST_F(Reads, ReferrersAndTheirFallbackTag) {
  const std::string index = fmt::format(
      R"({{"schemaVersion":2,"manifests":[{{"mediaType":"{}","digest":"{}","size":3,"artifactType":"x/y"}}]}})",
      kOciManifest, kDigest.text());
  const test::ScriptedPeer peer(answers({answer(200, "OCI-Filters-Applied: artifactType", index), answer(404),
                                         answer(200, {}, index), answer(404), answer(404)}));
  RegistryClient& registry = client(peer);
  auto found = run(registry.referrers("a", kDigest, "x/y"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->api && found->filtered);
  ASSERT_EQ(found->manifests.size(), 1U);
  EXPECT_EQ(found->manifests[0].artifact_type, "x/y");
  found = run(registry.referrers("a", kDigest));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->api);
  EXPECT_EQ(found->manifests.size(), 1U);
  found = run(registry.referrers("a", kDigest));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->manifests.empty());
  EXPECT_EQ(requests(peer).at(0), "GET /v2/a/referrers/" + kDigest.text() + "?artifactType=x%2Fy");
  EXPECT_EQ(requests(peer).at(2), "GET /v2/a/manifests/sha256-" + kDigest.hex());
}

TEST_F(Reads, Trap16ConnectionClosedBetweenRequestsIsNoError) {
  const test::ScriptedPeer peer({answers({answer(200, {}, kContent)}), answers({answer(200, {}, kContent)})});
  RegistryClient& registry = client(peer);
  EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_TRUE(run(registry.get_blob("a", kDigest, 10, BlobRole::layer)));
  EXPECT_EQ(peer.connections(), 2U);
}

}  // namespace
}  // namespace plimsoll::oci
