// The distribution API against the handler, without a socket.
#include "server/registry.h"

#include <gtest/gtest.h>

#include "oci/media_types.h"
#include "server/test_client.h"

namespace plimsoll::server {
namespace {

const std::string kBytes = "some bytes";
const std::string kDigest = oci::Digest::of(kBytes).text();
const std::string kOther = oci::Digest::of("other").text();
const std::string kManifestType = "Content-Type: " + std::string(oci::kOciManifest) + "\r\n";

class RegistryTest : public testing::Test {
 protected:
  Reply call(std::string_view method, const std::string& target, std::string_view fields = {},
             std::string_view body = {}) {
    return caller_.call(registry_, method, target, fields, body);
  }
  std::string start() { return call("POST", "/v2/a/b/blobs/uploads/").field("Location"); }
  void push_blob() {
    ASSERT_EQ(call("POST", "/v2/a/b/blobs/uploads/?digest=" + kDigest, {}, kBytes).status, 201);
  }

  std::unique_ptr<Store> store_ = Store::in_memory(64 << 20);
  Caller caller_;
  Registry registry_{*store_, caller_.workers, {}};
};

struct Case {
  const char* name;
  std::string method;
  std::string target;
  std::string fields;
  std::string body;
  int status;
  std::string code;  // of the error, where there is one
};

TEST_F(RegistryTest, AnswersByTheTable) {
  push_blob();
  ASSERT_EQ(call("PUT", "/v2/a/b/manifests/v1", kManifestType, "{}").status, 201);
  const std::string manifest = oci::Digest::of("{}").text();
  const std::vector<Case> cases{
      {"ping", "GET", "/v2/", "", "", 200, ""},
      {"ping without slash", "GET", "/v2", "", "", 200, ""},
      {"ping by POST", "POST", "/v2/", "", "", 405, "UNSUPPORTED"},
      {"nothing", "GET", "/v2/a/b/nothing/c", "", "", 404, "UNKNOWN"},
      {"a bad name", "GET", "/v2/A/tags/list", "", "", 400, "NAME_INVALID"},
      {"a bad name above", "GET", "/v2/a/../b/tags/list", "", "", 400, "NAME_INVALID"},
      {"blob", "GET", "/v2/a/b/blobs/" + kDigest, "", "", 200, ""},
      {"blob, escaped", "GET", "/v2/a/b/blobs/sha256%3A" + kDigest.substr(7), "", "", 200, ""},
      {"blob of another", "GET", "/v2/a/c/blobs/" + kDigest, "", "", 404, "BLOB_UNKNOWN"},
      {"blob unchanged", "GET", "/v2/a/b/blobs/" + kDigest, "If-None-Match: \"" + kDigest + "\"\r\n", "", 304,
       ""},
      {"blob by bad digest", "GET", "/v2/a/b/blobs/sha256:12", "", "", 400, "DIGEST_INVALID"},
      {"blob by upper-case digest", "HEAD", "/v2/a/b/blobs/sha256:" + std::string(64, 'A'), "", "", 400,
       "DIGEST_INVALID"},
      {"blob by unknown algorithm", "GET", "/v2/a/b/blobs/blake3:" + std::string(64, 'a'), "", "", 400,
       "DIGEST_INVALID"},
      {"range", "GET", "/v2/a/b/blobs/" + kDigest, "Range: bytes=2-3\r\n", "", 206, ""},
      {"range to the end", "GET", "/v2/a/b/blobs/" + kDigest, "Range: bytes=2-\r\n", "", 206, ""},
      {"range of the end", "GET", "/v2/a/b/blobs/" + kDigest, "Range: bytes=-4\r\n", "", 206, ""},
      {"range past the end", "GET", "/v2/a/b/blobs/" + kDigest, "Range: bytes=10-\r\n", "", 416, ""},
      {"range reversed", "GET", "/v2/a/b/blobs/" + kDigest, "Range: bytes=3-2\r\n", "", 416, ""},
      {"several ranges are none", "GET", "/v2/a/b/blobs/" + kDigest, "Range: bytes=0-1,3-4\r\n", "", 200, ""},
      {"manifest by tag", "GET", "/v2/a/b/manifests/v1", "", "", 200, ""},
      {"manifest by digest", "HEAD", "/v2/a/b/manifests/" + manifest, "", "", 200, ""},
      {"no such tag", "GET", "/v2/a/b/manifests/v2", "", "", 404, "MANIFEST_UNKNOWN"},
      {"no such repository", "GET", "/v2/x/manifests/v2", "", "", 404, "NAME_UNKNOWN"},
      {"a manifest that is none", "PUT", "/v2/a/b/manifests/v1", kManifestType, "[]", 400,
       "MANIFEST_INVALID"},
      {"a manifest without a type", "PUT", "/v2/a/b/manifests/v1", "", "{}", 400, "MANIFEST_INVALID"},
      {"a manifest under another's digest", "PUT", "/v2/a/b/manifests/" + kOther, kManifestType, "{}", 400,
       "DIGEST_INVALID"},
      {"a bad tag", "PUT", "/v2/a/b/manifests/-v1", kManifestType, "{}", 400, "MANIFEST_INVALID"},
      {"a type that contradicts", "PUT", "/v2/a/b/manifests/v1", kManifestType, R"({"mediaType":"a/b"})", 400,
       "MANIFEST_INVALID"},
      {"any type", "PUT", "/v2/a/b/manifests/odd", "Content-Type: a/b\r\n", "no JSON at all", 201, ""},
      {"tags", "GET", "/v2/a/b/tags/list", "", "", 200, ""},
      {"tags of nobody", "GET", "/v2/x/tags/list", "", "", 404, "NAME_UNKNOWN"},
      {"tags, n is no number", "GET", "/v2/a/b/tags/list?n=-1", "", "", 400, "PAGINATION_NUMBER_INVALID"},
      {"referrers of nobody", "GET", "/v2/never/pushed/referrers/" + kOther, "", "", 200, ""},
      {"referrers of no digest", "GET", "/v2/a/b/referrers/v1", "", "", 400, "DIGEST_INVALID"},
      {"upload unknown", "PATCH", "/v2/a/b/blobs/uploads/x", "", "bytes", 404, "BLOB_UPLOAD_UNKNOWN"},
      {"upload start without slash", "POST", "/v2/a/b/blobs/uploads", "", "", 202, ""},
      {"mount of nothing", "POST", "/v2/a/c/blobs/uploads/?mount=" + kOther + "&from=a/b", "", "", 202, ""},
      {"mount", "POST", "/v2/a/c/blobs/uploads/?mount=" + kDigest + "&from=a/b", "", "", 201, ""},
      {"mount from anywhere", "POST", "/v2/a/d/blobs/uploads/?mount=sha256%3A" + kDigest.substr(7), "", "",
       201, ""},
      {"whole blob, wrong digest", "POST", "/v2/a/b/blobs/uploads/?digest=" + kOther, "", "x", 400,
       "DIGEST_INVALID"},
      {"unknown algorithm announced", "POST", "/v2/a/b/blobs/uploads/?digest-algorithm=blake3", "", "", 400,
       "DIGEST_INVALID"},
      {"delete a tag", "DELETE", "/v2/a/b/manifests/odd", "", "", 202, ""},
      {"delete it again", "DELETE", "/v2/a/b/manifests/odd", "", "", 404, "MANIFEST_UNKNOWN"},
      {"delete a blob", "DELETE", "/v2/a/c/blobs/" + kDigest, "", "", 202, ""},
      {"and it is gone", "HEAD", "/v2/a/c/blobs/" + kDigest, "", "", 404, "BLOB_UNKNOWN"},
  };
  for (const auto& [name, method, target, fields, body, status, code] : cases) {
    const Reply reply = call(method, target, fields, body);
    EXPECT_EQ(reply.status, status) << name << "\n" << reply.body;
    if (!code.empty())
      EXPECT_TRUE(reply.body.starts_with("{\"errors\":[{\"code\":\"" + code + "\"")) << name << reply.body;
    EXPECT_EQ(reply.field("Docker-Distribution-API-Version"), "registry/2.0") << name;
  }
}

TEST_F(RegistryTest, UploadsInChunksAndResumes) {
  const std::string url = start();
  const Reply early = call("PATCH", url, "Content-Range: 4-9\r\n", "bytes");
  EXPECT_EQ(early.status, 416);
  EXPECT_EQ(early.field("Range"), "0-0");
  EXPECT_EQ(call("PATCH", url, "Content-Range: 0-3\r\n", "some").field("Range"), "0-3");
  const Reply status = call("GET", url);
  EXPECT_EQ(status.status, 204);
  EXPECT_EQ(status.field("Range"), "0-3");
  EXPECT_EQ(status.field("Location"), url);
  EXPECT_EQ(call("PATCH", url, "Content-Range: 0-3\r\n", "some").status, 416);
  EXPECT_EQ(call("PATCH", url, "Content-Range: 4-5\r\n", "too long").status, 400);
  EXPECT_EQ(call("PUT", url + "?digest=" + kDigest, "Content-Range: 5-10\r\n", " bytes").status, 416);
  const Reply done = call("PUT", url + "?digest=" + kDigest, "Content-Range: 4-9\r\n", " bytes");
  EXPECT_EQ(done.status, 201);
  EXPECT_EQ(done.field("Location"), "/v2/a/b/blobs/" + kDigest);
  EXPECT_EQ(call("GET", "/v2/a/b/blobs/" + kDigest).body, kBytes);
  EXPECT_EQ(call("GET", url).status, 404);
}

TEST_F(RegistryTest, AStreamedUploadEndsInAnEmptyPut) {
  const std::string url = start();
  EXPECT_EQ(call("PATCH", url).status, 202);
  EXPECT_EQ(call("PATCH", url, {}, kBytes).status, 202);
  EXPECT_EQ(call("PUT", url + "?digest=" + kDigest).status, 201);
}

TEST_F(RegistryTest, WrongContentIsNeverServed) {
  const std::string url = start();
  EXPECT_EQ(call("PUT", url + "?digest=" + kDigest, {}, "other bytes").status, 400);
  EXPECT_EQ(call("HEAD", "/v2/a/b/blobs/" + kDigest).status, 404);
  EXPECT_EQ(call("PUT", start() + "?digest=sha256:1", {}, "x").status, 400);
  EXPECT_EQ(call("PUT", start(), {}, "x").status, 400);
}

TEST_F(RegistryTest, ACancelledUploadIsGone) {
  const std::string url = start();
  EXPECT_EQ(call("DELETE", url).status, 204);
  EXPECT_EQ(call("PATCH", url, {}, "x").status, 404);
  EXPECT_EQ(registry_.sessions().size(), 0U);
}

TEST_F(RegistryTest, Sha512IsSpokenInAllForms) {
  const std::string digest = oci::Digest::of(kBytes, oci::DigestAlgorithm::sha512).text();
  EXPECT_EQ(call("POST", "/v2/a/b/blobs/uploads/?digest=" + digest, {}, kBytes).status, 201);
  const std::string url = start();
  EXPECT_EQ(call("PATCH", url, {}, kBytes).status, 202);
  EXPECT_EQ(call("PUT", url + "?digest=" + digest).status, 201);
  EXPECT_EQ(call("GET", "/v2/a/b/blobs/" + digest).body, kBytes);
  const std::string manifest = oci::Digest::of("{}", oci::DigestAlgorithm::sha512).text();
  const Reply put = call("PUT", "/v2/a/b/manifests/" + manifest + "?tag=x&tag=y", kManifestType, "{}");
  EXPECT_EQ(put.status, 201);
  EXPECT_TRUE(put.fields.contains("OCI-Tag: x\r\n") && put.fields.contains("OCI-Tag: y\r\n"));
  EXPECT_EQ(call("HEAD", "/v2/a/b/manifests/y").field("Docker-Content-Digest"), manifest);
}

TEST_F(RegistryTest, ManifestsHaveTheirTypeAndDigest) {
  const Reply put = call("PUT", "/v2/a/b/manifests/v1", "Content-Type: a/b; charset=utf-8\r\n", "{ }");
  EXPECT_EQ(put.field("Docker-Content-Digest"), oci::Digest::of("{ }").text());
  EXPECT_EQ(put.field("Location"), "/v2/a/b/manifests/" + oci::Digest::of("{ }").text());
  const Reply got = call("GET", "/v2/a/b/manifests/v1", "Accept: nothing/else\r\n");
  EXPECT_EQ(got.field("Content-Type"), "a/b");
  EXPECT_EQ(got.body, "{ }");
}

TEST_F(RegistryTest, TooLargeManifestsAre413) {
  const std::string large = "{" + std::string(4 << 20, ' ') + "}";
  EXPECT_EQ(call("PUT", "/v2/a/b/manifests/v1", kManifestType, large).status, 413);
  EXPECT_EQ(call("PUT", "/v2/a/b/manifests/v1", kManifestType, large.substr(0, 100)).status, 400);
}

TEST_F(RegistryTest, ListsPageByPage) {
  for (const char* tag : {"c", "a", "b"})
    call("PUT", std::string("/v2/r/manifests/") + tag, kManifestType, "{}");
  EXPECT_EQ(call("GET", "/v2/r/tags/list").body, "{\"name\":\"r\",\"tags\":[\"a\",\"b\",\"c\"]}\n");
  const Reply first = call("GET", "/v2/r/tags/list?n=2");
  EXPECT_EQ(first.field("Link"), "</v2/r/tags/list?n=2&last=b>; rel=\"next\"");
  const Reply last = call("GET", "/v2/r/tags/list?n=2&last=b");
  EXPECT_EQ(last.body, "{\"name\":\"r\",\"tags\":[\"c\"]}\n");
  EXPECT_EQ(last.field("Link"), "");
  const Reply none = call("GET", "/v2/r/tags/list?n=0");
  EXPECT_EQ(none.body, "{\"name\":\"r\",\"tags\":[]}\n");
  EXPECT_EQ(none.field("Link"), "");
  EXPECT_EQ(call("GET", "/v2/_catalog").body, "{\"repositories\":[\"r\"]}\n");
}

TEST_F(RegistryTest, ReferrersAreFilteredAndSaySo) {
  const auto push = [&](const std::string& type) {
    const std::string bytes =
        R"({"artifactType":")" + type + R"(","subject":{"digest":")" + kOther + R"("}})";
    const Reply reply =
        call("PUT", "/v2/a/b/manifests/" + oci::Digest::of(bytes).text(), kManifestType, bytes);
    EXPECT_EQ(reply.status, 201);
    EXPECT_EQ(reply.field("OCI-Subject"), kOther);
  };
  push("a/sbom");
  push("a/signature");
  const Reply all = call("GET", "/v2/a/b/referrers/" + kOther);
  EXPECT_EQ(all.field("Content-Type"), oci::kOciIndex);
  EXPECT_TRUE(all.body.contains("a/sbom") && all.body.contains("a/signature"));
  const Reply some = call("GET", "/v2/a/b/referrers/" + kOther + "?artifactType=a%2Fsbom");
  EXPECT_EQ(some.field("OCI-Filters-Applied"), "artifactType");
  EXPECT_TRUE(some.body.contains("a/sbom") && !some.body.contains("a/signature"));
}

TEST_F(RegistryTest, ReadOnlyRefusesWhatChangesSomething) {
  Registry closed(*store_, caller_.workers, {.read_only = true, .warning = "for reading"});
  EXPECT_EQ(caller_.call(closed, "POST", "/v2/a/b/blobs/uploads/").status, 405);
  const Reply ping = caller_.call(closed, "GET", "/v2/");
  EXPECT_EQ(ping.status, 200);
  EXPECT_EQ(ping.field("Warning"), "299 - \"for reading\"");
}

TEST_F(RegistryTest, ShortChunksMustBeTheLast) {
  Registry strict(*store_, caller_.workers, {.chunk_minimum = 5, .warning = {}});
  const Reply started = caller_.call(strict, "POST", "/v2/a/b/blobs/uploads/");
  EXPECT_EQ(started.field("OCI-Chunk-Min-Length"), "5");
  const std::string url = started.field("Location");
  EXPECT_EQ(caller_.call(strict, "PATCH", url, {}, "some").status, 202);
  EXPECT_EQ(caller_.call(strict, "PATCH", url, {}, " bytes").status, 416);
}

TEST_F(RegistryTest, AFullStoreIs507) {
  const auto small = Store::in_memory(4);
  Registry registry(*small, caller_.workers, {});
  EXPECT_EQ(caller_.call(registry, "POST", "/v2/a/b/blobs/uploads/?digest=" + kDigest, {}, kBytes).status,
            507);
}

}  // namespace
}  // namespace plimsoll::server
