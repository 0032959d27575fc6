#include "oci/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "oci/media_types.h"

namespace plimsoll::oci {
namespace {

std::string digest_of(std::string_view what) {
  return Digest::of(what).text();
}

std::string descriptor(std::string_view what, std::string_view media_type, std::string_view more = "") {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}{}}})", media_type, digest_of(what),
                     what.size(), more);
}

std::string entry(std::string_view what, std::string_view os, std::string_view architecture,
                  std::string_view variant = "") {
  return descriptor(what, kOciManifest,
                    fmt::format(R"(,"platform":{{"os":"{}","architecture":"{}","variant":"{}"}})", os,
                                architecture, variant));
}

std::string image(std::string_view media_type) {
  return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{},{}]}})", media_type,
                     descriptor("config", kOciConfig), descriptor("one", kOciLayerTar),
                     descriptor("", kOciLayerTar));
}

std::string index_of(std::string_view entries) {
  return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{}]}})", kOciIndex, entries);
}

Document parsed(std::string_view body, std::string_view type) {
  auto document = parse_manifest(body, type);
  EXPECT_TRUE(document) << (document ? "" : document.error().text);
  return document ? *document : Document{};
}

TEST(Manifest, ReadsOciAndDockerImages) {
  for (const auto type : {kOciManifest, kDockerManifest}) {
    const Document document = parsed(image(type), type);
    EXPECT_EQ(document.kind, DocumentKind::manifest);
    EXPECT_EQ(document.media_type, type);
    ASSERT_TRUE(document.config);
    EXPECT_EQ(document.config->digest, Digest::of("config"));
    ASSERT_EQ(document.layers.size(), 2U);
    EXPECT_EQ(document.layers[0].size, 3U);
    EXPECT_EQ(document.layers[1].size, 0U);  // C19: a zero-length layer is a layer
  }
}

TEST(Manifest, ContentTypeParametersAndCaseAreIgnored) {
  const std::string shouted = "Application/VND.oci.image.Manifest.v1+JSON ; charset=utf-8";
  EXPECT_EQ(bare_media_type(shouted), kOciManifest);
  EXPECT_EQ(parsed(image(kOciManifest), shouted).kind, DocumentKind::manifest);
}

TEST(Manifest, C15KindIsFoundWhereverItIsSaid) {
  const std::string bare_index = R"({"schemaVersion":2,"manifests":[]})";
  const std::string bare_image =
      fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[]}})", descriptor("c", kOciConfig));
  EXPECT_EQ(parsed(bare_index, kOciIndex).kind, DocumentKind::index);
  EXPECT_EQ(parsed(bare_index, "").kind, DocumentKind::index);
  EXPECT_EQ(parsed(bare_index, "application/json").kind, DocumentKind::index);
  EXPECT_EQ(parsed(bare_image, "text/plain; charset=utf-8").kind, DocumentKind::manifest);
  EXPECT_EQ(parsed(index_of(""), "application/json").kind, DocumentKind::index);
  EXPECT_EQ(parsed("{}", "").kind, DocumentKind::unknown);
  EXPECT_EQ(parsed(bare_image, "application/vnd.example.thing+json").kind, DocumentKind::unknown);
}

TEST(Manifest, C16Schema1IsReported) {
  const std::string body =
      R"({"schemaVersion":1,"name":"a/b","tag":"t","fsLayers":[{"blobSum":"sha256:x"},{"blobSum":"sha256:x"}]})";
  for (const auto type :
       {kDockerSchema1, kDockerSchema1Signed, std::string_view("application/json"), kOciManifest}) {
    const Document document = parsed(body, type);
    EXPECT_EQ(document.kind, DocumentKind::schema1);
    EXPECT_TRUE(document.layers.empty());
  }
}

TEST(Manifest, C18ForeignLayersAreTold) {
  const std::string body =
      fmt::format(R"({{"schemaVersion":2,"layers":[{},{},{}]}})",
                  descriptor("a", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
                             R"(,"urls":["https://x/y"])"),
                  descriptor("b", "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"),
                  descriptor("c", kOciLayerTar));
  const Document document = parsed(body, kOciManifest);
  ASSERT_EQ(document.layers.size(), 3U);
  EXPECT_TRUE(document.layers[0].foreign());
  EXPECT_EQ(document.layers[0].urls, std::vector<std::string>{"https://x/y"});
  EXPECT_TRUE(document.layers[1].foreign());
  EXPECT_FALSE(document.layers[2].foreign());
  EXPECT_FALSE(document.config);
}

TEST(Manifest, SubjectAndArtifactType) {
  const std::string body =
      fmt::format(R"({{"schemaVersion":2,"artifactType":"a/b","subject":{},"layers":[]}})",
                  descriptor("subject", kOciManifest));
  const Document document = parsed(body, kOciManifest);
  ASSERT_TRUE(document.subject);
  EXPECT_EQ(document.subject->digest, Digest::of("subject"));
  EXPECT_EQ(document.artifact_type, "a/b");
}

TEST(Manifest, RefusesWhatCannotBeTrusted) {
  const std::string digest = digest_of("x");
  const std::string bodies[] = {
      "",
      "not json",
      "[]",
      "null",
      "\"text\"",
      R"({"layers":{}})",
      R"({"layers":["x"]})",
      R"({"layers":[{"size":1}]})",
      fmt::format(R"({{"layers":[{{"digest":"{}"}}]}})", digest),
      fmt::format(R"({{"layers":[{{"digest":"{}","size":-1}}]}})", digest),
      fmt::format(R"({{"layers":[{{"digest":"{}","size":1.5}}]}})", digest),
      fmt::format(R"({{"layers":[{{"digest":"{}","size":"1"}}]}})", digest),
      fmt::format(R"({{"layers":[{{"digest":"{}","size":18446744073709551615}}]}})", digest),
      R"({"layers":[{"digest":"sha256:short","size":1}]})",
      R"({"layers":[{"digest":"blake3:00","size":1}]})",
      R"({"config":"sha256:x"})",
      R"({"subject":[]})",
      std::string(kMaxManifestSize + 1, ' '),
      std::string(100'000, '['),
      "{\"layers\":" + std::string(65, '[') + std::string(65, ']') + "}",
  };
  for (const auto& body : bodies) {
    const auto document = parse_manifest(body, kOciManifest);
    ASSERT_FALSE(document) << body.substr(0, 80);
    EXPECT_EQ(document.error().kind, ErrorKind::protocol);
    EXPECT_STRNE(document.error().text, "");
  }
}

TEST(Manifest, HostileNumbersOfValuesAreNotRead) {
  std::string body = "{\"layers\":[";
  while (body.size() < kMaxManifestSize - 10) body += "[],";
  body += "[]]}";
  EXPECT_FALSE(parse_manifest(body, kOciManifest));
}

TEST(Manifest, LargeManifestsOfTheConformanceSuiteAreRead) {
  std::string body = fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[],"annotations":{{"k":")",
                                 descriptor("c", kOciConfig));
  body += std::string(3'900'000, 'a') + "\"}}";
  EXPECT_EQ(parsed(body, kOciManifest).kind, DocumentKind::manifest);
}

TEST(Manifest, SurvivesEveryTruncationAndRandomDamage) {
  const std::string good = index_of(entry("a", "linux", "amd64") + "," + descriptor("n", kOciIndex));
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(parse_manifest(good.substr(0, cut), kOciIndex));
  Random random(42);
  int survived = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    if (parse_manifest(bad, kOciIndex)) ++survived;
  }
  EXPECT_LT(survived, 3000);
}

TEST(Candidates, MatchPlatformThenVariant) {
  const Document index =
      parsed(index_of(entry("v6", "linux", "arm", "v6") + "," + entry("v7", "linux", "arm", "v7") + "," +
                      entry("amd", "linux", "amd64") + "," + entry("amd2", "linux", "amd64") + "," +
                      entry("a64", "linux", "arm64", "v8") + "," + entry("x", "unknown", "unknown")),
             kOciIndex);
  const auto chosen = [&](std::string_view platform) {
    std::vector<std::string> out;
    for (const auto* c : candidates(index, *Platform::parse(platform))) out.push_back(c->digest.text());
    return out;
  };
  using Digests = std::vector<std::string>;
  EXPECT_EQ(chosen("linux/amd64"), (Digests{digest_of("amd"), digest_of("amd2")}));
  EXPECT_EQ(chosen("linux/arm/v7"), (Digests{digest_of("v7")}));
  EXPECT_EQ(chosen("linux/arm"), (Digests{digest_of("v6"), digest_of("v7")}));
  EXPECT_EQ(chosen("linux/arm64"), (Digests{digest_of("a64")}));
  EXPECT_EQ(chosen("linux/arm64/v8"), (Digests{digest_of("a64")}));
  EXPECT_TRUE(chosen("windows/amd64").empty());
}

TEST(Candidates, NestedIndexesAndEntriesWithoutPlatform) {
  const Platform platform;
  const Document nested =
      parsed(index_of(descriptor("i", kOciIndex) + "," + entry("amd", "linux", "amd64")), kOciIndex);
  const auto chosen = candidates(nested, platform);
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0]->digest, Digest::of("amd"));
  EXPECT_EQ(chosen[1]->digest, Digest::of("i"));

  const Document single = parsed(index_of(descriptor("only", kOciManifest)), kOciIndex);
  EXPECT_EQ(candidates(single, platform).size(), 1U);
  const Document two = parsed(index_of(descriptor("a", "x/y") + "," + descriptor("b", "x/y")), kOciIndex);
  EXPECT_TRUE(candidates(two, platform).empty());
  EXPECT_TRUE(candidates(parsed(index_of(""), kOciIndex), platform).empty());
}

TEST(Index, UnknownDigestAlgorithmsAreSkippedAndCounted) {
  const Document index =
      parsed(index_of(entry("a", "linux", "amd64") + R"(,{"digest":"blake3:00","size":1})"), kOciIndex);
  EXPECT_EQ(index.manifests.size(), 1U);
  EXPECT_EQ(index.unsupported_entries, 1U);
}

TEST(Platform, ParsesAndRefuses) {
  EXPECT_EQ(Platform::parse("linux/arm/v7")->text(), "linux/arm/v7");
  EXPECT_EQ(Platform::parse("windows/amd64")->text(), "windows/amd64");
  for (const auto* text : {"", "linux", "linux/", "/amd64", "a/b/c/d", "linux//v7"})
    EXPECT_FALSE(Platform::parse(text)) << text;
}

}  // namespace
}  // namespace plimsoll::oci
