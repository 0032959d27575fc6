// Both kinds of store behave the same; the one on disk also remembers.
#include "server/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "oci/media_types.h"
#include "server/disk_files.h"
#include "server/test_client.h"

namespace plimsoll::server {
namespace {

class StoreTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { open(); }
  void open() {
    store_.reset();
    if (!GetParam()) {
      store_ = Store::in_memory(1 << 20);
    } else {
      auto opened = Store::on_disk(directory_.path(), false);
      ASSERT_TRUE(opened.has_value()) << opened.error().message;
      store_ = std::move(*opened);
    }
  }
  Store& store() { return *store_; }

  oci::Digest push(const std::string& repository, std::string_view bytes) {
    auto upload = store().begin_upload(std::nullopt);
    EXPECT_TRUE(upload.has_value());
    EXPECT_TRUE((*upload)->append(bytes).has_value());
    const auto digest = (*upload)->digest(oci::DigestAlgorithm::sha256);
    EXPECT_EQ(*digest, oci::Digest::of(bytes));
    EXPECT_TRUE(store().commit(**upload, repository, *digest).has_value());
    return *digest;
  }
  oci::Digest push_manifest(const std::string& repository, std::string_view bytes,
                            std::vector<std::string> tags) {
    const auto digest = oci::Digest::of(bytes);
    auto facts = read_manifest_facts(bytes, oci::kOciManifest);
    EXPECT_TRUE(facts.has_value());
    EXPECT_TRUE(store().put_manifest(repository, digest, bytes, std::move(*facts), tags).has_value());
    return digest;
  }
  std::string read(const http::Payload& content) {
    if (content.file < 0) return std::string(content.bytes);
    std::string bytes(content.size, '\0');
    EXPECT_EQ(pread(content.file, bytes.data(), bytes.size(), static_cast<off_t>(content.offset)),
              static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "disk" : "memory"; });

TEST_P(StoreTest, ABlobIsThereForItsRepositoryAlone) {
  const auto digest = push("a/b", "hello");
  EXPECT_EQ(read(*store().blob("a/b", digest)), "hello");
  EXPECT_EQ(store().blob_size("a/b", digest), 5U);
  EXPECT_FALSE(store().blob("a/c", digest).has_value());
  EXPECT_FALSE(store().blob("a", digest).has_value());
}

TEST_P(StoreTest, LargeBlobsComeBackWhole) {
  std::string bytes(300'000, 'x');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
  const auto digest = push("large", bytes);
  EXPECT_TRUE(read(*store().blob("large", digest)) == bytes);
}

TEST_P(StoreTest, ContentsAreSharedAndGoWithTheirLastRepository) {
  const auto digest = push("one", "shared");
  EXPECT_EQ(push("two", "shared"), digest);
  EXPECT_EQ(store().totals(), std::pair(1UL, 6UL));
  EXPECT_TRUE(store().remove_blob("one", digest).has_value());
  EXPECT_FALSE(store().blob("one", digest).has_value());
  EXPECT_EQ(read(*store().blob("two", digest)), "shared");
  EXPECT_TRUE(store().remove_blob("two", digest).has_value());
  EXPECT_EQ(store().totals(), std::pair(0UL, 0UL));
  EXPECT_FALSE(store().has_repository("two"));
}

TEST_P(StoreTest, MountsFromARepositoryOrFromAny) {
  const auto digest = push("from", "mounted");
  EXPECT_FALSE(store().mount("to", digest, "elsewhere").has_value());
  EXPECT_TRUE(store().mount("to", digest, "from").has_value());
  EXPECT_TRUE(store().mount("third", digest, std::nullopt).has_value());
  EXPECT_FALSE(store().mount("to", oci::Digest::of("absent"), std::nullopt).has_value());
  EXPECT_EQ(read(*store().blob("third", digest)), "mounted");
}

TEST_P(StoreTest, Sha512IsHashedAgainWhereItWasNotAnnounced) {
  for (const bool announced : {false, true}) {
    auto upload = store().begin_upload(std::nullopt);
    if (announced) (*upload)->expect(oci::DigestAlgorithm::sha512);
    ASSERT_TRUE((*upload)->append("some ").has_value());
    ASSERT_TRUE((*upload)->append("bytes").has_value());
    EXPECT_EQ((*upload)->must_read_again(oci::DigestAlgorithm::sha512), !announced);
    const auto digest = (*upload)->digest(oci::DigestAlgorithm::sha512);
    EXPECT_EQ(*digest, oci::Digest::of("some bytes", oci::DigestAlgorithm::sha512));
    EXPECT_TRUE(store().commit(**upload, "wide", *digest).has_value());
    EXPECT_EQ(read(*store().blob("wide", *digest)), "some bytes");
  }
}

TEST_P(StoreTest, ManifestsAreKeptByteForByteUnderTheirTags) {
  const std::string bytes = "{\n\t\"schemaVersion\": 2,   \"unknown\": [1.0]}";
  const auto digest = push_manifest("app", bytes, {"v1", "latest"});
  const auto found = store().manifest("app", std::string_view("v1"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(read(found->content), bytes);
  EXPECT_EQ(found->digest, digest);
  EXPECT_EQ(found->media_type, oci::kOciManifest);
  EXPECT_EQ(store().tags("app", "", 10)->names, (std::vector<std::string>{"latest", "v1"}));
  EXPECT_TRUE(store().remove_tag("app", "v1").has_value());
  EXPECT_FALSE(store().manifest("app", std::string_view("v1")).has_value());
  EXPECT_TRUE(store().manifest("app", digest).has_value());
  EXPECT_TRUE(store().remove_manifest("app", digest).has_value());
  EXPECT_FALSE(store().manifest("app", std::string_view("latest")).has_value());
}

TEST_P(StoreTest, ListsInPages) {
  for (const char* name : {"c", "a", "b"}) push(name, name);
  const auto first = store().repositories("", 2);
  EXPECT_EQ(first.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(first.more);
  const auto second = store().repositories("b", 2);
  EXPECT_EQ(second.names, std::vector<std::string>{"c"});
  EXPECT_FALSE(second.more);
  EXPECT_FALSE(store().tags("absent", "", 1).has_value());
}

TEST_P(StoreTest, ReferrersAreFoundBySubject) {
  const auto subject = oci::Digest::of("subject");
  const std::string bytes =
      R"({"artifactType":"x/y","annotations":{"k":"v"},"subject":{"digest":")" + subject.text() + R"("}})";
  const auto digest = push_manifest("app", bytes, {});
  const auto found = store().referrers("app", subject);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].digest, digest);
  EXPECT_EQ(found[0].artifact_type, "x/y");
  EXPECT_EQ(found[0].annotations, R"({"k":"v"})");
  EXPECT_TRUE(store().remove_manifest("app", digest).has_value());
  EXPECT_TRUE(store().referrers("app", subject).empty());
}

class MemoryStoreTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, MemoryStoreTest, testing::Values(false));

TEST_P(MemoryStoreTest, FullIsAnErrorAndWhatIsStoredStays) {
  const auto digest = push("kept", "kept");
  EXPECT_FALSE(store().begin_upload(2 << 20).has_value());
  auto upload = store().begin_upload(std::nullopt);
  const std::string piece(300'000, 'x');
  ASSERT_TRUE((*upload)->append(piece).has_value());
  ASSERT_TRUE((*upload)->append(piece).has_value());
  ASSERT_TRUE((*upload)->append(piece).has_value());
  const auto refused = (*upload)->append(piece);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().fault, StoreFault::full);
  EXPECT_EQ((*upload)->size(), 900'000U);
  upload->reset();
  EXPECT_EQ(read(*store().blob("kept", digest)), "kept");
  EXPECT_EQ(store().memory()->first, 4U);
}

class DiskStoreTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, DiskStoreTest, testing::Values(true));

TEST_P(DiskStoreTest, RemembersEverythingAcrossARestart) {
  const auto blob = push("team/app", "layer");
  const auto subject = oci::Digest::of("subject");
  const std::string bytes = R"({"subject":{"digest":")" + subject.text() + R"("},"annotations":{"a":"b"}})";
  const auto manifest = push_manifest("team/app", bytes, {"v1", "v2"});
  ASSERT_TRUE(store().remove_tag("team/app", "v2").has_value());
  push("team/app/blobs/index.json", "a name that collides");
  open();
  EXPECT_EQ(read(*store().blob("team/app", blob)), "layer");
  EXPECT_EQ(store().manifest("team/app", std::string_view("v1"))->digest, manifest);
  EXPECT_EQ(store().tags("team/app", "", 10)->names, std::vector<std::string>{"v1"});
  EXPECT_EQ(store().referrers("team/app", subject).at(0).annotations, R"({"a":"b"})");
  EXPECT_EQ(store().repositories("", 10).names,
            (std::vector<std::string>{"team/app", "team/app/blobs/index.json"}));
}

TEST_P(DiskStoreTest, WhatWasRemovedStaysRemoved) {
  const auto blob = push("gone", "layer");
  const auto manifest = push_manifest("gone", "{}", {"v1"});
  ASSERT_TRUE(store().remove_manifest("gone", manifest).has_value());
  ASSERT_TRUE(store().remove_blob("gone", blob).has_value());
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/gone"));
  open();
  EXPECT_FALSE(store().has_repository("gone"));
  EXPECT_EQ(store().totals().first, 0U);
}

TEST_P(DiskStoreTest, ATornLineAndBrokenUploadsAreSurvived) {
  push_manifest("app", "{}", {"v1"});
  store_.reset();
  ASSERT_TRUE(append_file(directory_.path() + "/app/.journal", "tag\tv2\tsha256:44136f", false).has_value());
  std::ofstream(directory_.path() + "/.plimsoll/uploads/99.part") << "half";
  open();
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/.plimsoll/uploads/99.part"));
  push_manifest("app", "{}", {"v3"});
  open();
  EXPECT_EQ(store().tags("app", "", 10)->names, (std::vector<std::string>{"v1", "v3"}));
}

TEST_P(DiskStoreTest, AnotherServerIsRefusedTheSameRoot) {
  const auto second = Store::on_disk(directory_.path(), false);
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().message.ends_with("is in use by another server"));
}

TEST_P(DiskStoreTest, WritesAnImageLayoutForOthers) {
  const auto digest = push_manifest("app", "{}", {"v1"});
  store().flush();
  const std::string index = *read_file(directory_.path() + "/app/index.json");
  EXPECT_TRUE(index.contains(digest.text()));
  EXPECT_TRUE(index.contains(R"("org.opencontainers.image.ref.name":"v1")"));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/app/oci-layout"));
  EXPECT_EQ(*read_file(directory_.path() + "/app/blobs/sha256/" + digest.hex()), "{}");
}

TEST_P(DiskStoreTest, TagsCostOneAppendedLineEach) {
  std::vector<std::string> none;
  for (int i = 0; i < 2000; ++i) push_manifest("many", "{}", {"t" + std::to_string(i)});
  const auto size = std::filesystem::file_size(directory_.path() + "/many/.journal");
  EXPECT_LT(size, 2000U * 300);
  EXPECT_EQ(store().tags("many", "", 10'000)->names.size(), 2000U);
}

TEST(RepositoryNames, ThatCollideWithTheLayoutAreEscaped) {
  EXPECT_EQ(escape_repository("a/blobs/index.json/oci-layout/b"), "a/_blobs/_index.json/_oci-layout/b");
  EXPECT_EQ(unescape_repository("a/_blobs/_index.json/_oci-layout/b"), "a/blobs/index.json/oci-layout/b");
  EXPECT_EQ(escape_repository("blobs2"), "blobs2");
}

}  // namespace
}  // namespace plimsoll::server
