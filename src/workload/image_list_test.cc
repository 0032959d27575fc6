#include "workload/image_list.h"

#include <gtest/gtest.h>

#include <fstream>

namespace plimsoll::workload {
namespace {

constexpr const char* kDigest = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

http::Url url(std::string_view text) {
  return *http::parse_url(text);
}

std::vector<ListedImage> images(std::initializer_list<std::string> references) {
  return *read_images(std::vector<std::string>(references));
}

TEST(ImageList, HasAnImageALineWithItsWeight) {
  const std::string text =
      "# a list\n team/app:1.2   8\r\n\nteam/base@" + std::string(kDigest) + "\t3 # often\nx\n";
  const auto list = parse_image_list(text, "list");
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ((*list)[0].reference.text(), "team/app:1.2");
  EXPECT_EQ((*list)[0].weight, 8U);
  EXPECT_EQ((*list)[1].reference.manifest_reference(), kDigest);
  EXPECT_EQ((*list)[1].weight, 3U);
  EXPECT_EQ((*list)[2].reference.manifest_reference(), "latest");
  EXPECT_EQ((*list)[2].weight, 1U);
}

TEST(ImageList, NamesTheLineThatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"a:1\nUPPER\n", "list, line 2: 'UPPER'"},
      {"a:1 0\n", "list, line 1: '0' is no weight"},
      {"a:1 -3\n", "line 1: '-3'"},
      {"a:1 2 3\n", "line 1: '2 3'"},
      {"a:1 9000000\n", "line 1: '9000000'"},
      {"\n\na@sha256:12\n", "list, line 3"},
      {"# nothing\n\n", "'list' lists no image"},
  };
  for (const auto& [text, words] : wrong) {
    const auto list = parse_image_list(text, "list");
    ASSERT_FALSE(list) << text;
    EXPECT_NE(list.error().message.find(words), std::string::npos) << list.error().message;
  }
}

TEST(ImageList, MixesFilesAndReferences) {
  const std::string path = testing::TempDir() + "plimsoll_image_list";
  std::ofstream(path) << "from/file:1 5\n";
  const auto list = read_images({"given:2", path, "@" + path});
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ((*list)[1].reference.repository, "from/file");
  EXPECT_EQ((*list)[2].weight, 5U);
  EXPECT_FALSE(read_images({"@no/such/file"}));
  EXPECT_FALSE(read_images({testing::TempDir()}));
  EXPECT_FALSE(read_images({"no such"}));
}

TEST(ImageList, TellsTheRegistryThatAllNames) {
  EXPECT_EQ(*registry_of(images({"127.0.0.1:5000/a", "127.0.0.1:5000/b:1"})), "http://127.0.0.1:5000");
  EXPECT_EQ(*registry_of(images({"localhost/a"})), "http://localhost");
  EXPECT_EQ(*registry_of(images({"[::1]:5000/a"})), "http://[::1]:5000");
  EXPECT_EQ(*registry_of(images({"registry.example/a"})), "https://registry.example");
  EXPECT_EQ(*registry_of(images({"docker.io/alpine"})), "https://registry-1.docker.io");
  EXPECT_FALSE(registry_of(images({"a:1"})));
  EXPECT_FALSE(registry_of(images({"one.example/a", "two.example/a"})));
}

TEST(ImageList, PlacesImagesInTheirRegistry) {
  auto here = images({"a:1", "registry.example/b", "registry.example:443/c"});
  ASSERT_TRUE(place_images(here, url("https://registry.example"), ""));
  EXPECT_EQ(here[1].reference.repository, "b");

  auto elsewhere = images({"other.example/b"});
  const auto refused = place_images(elsewhere, url("https://registry.example"), "");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--ns other.example"), std::string::npos);
  EXPECT_TRUE(place_images(elsewhere, url("https://registry.example"), "other.example"));

  auto hub = images({"docker.io/alpine:3", "alpine", "team/app"});
  ASSERT_TRUE(place_images(hub, url("https://registry-1.docker.io"), ""));
  EXPECT_EQ(hub[0].reference.repository, "library/alpine");
  EXPECT_EQ(hub[1].reference.repository, "library/alpine");
  EXPECT_EQ(hub[2].reference.repository, "team/app");
  auto mirrored = images({"docker.io/alpine:3"});
  ASSERT_TRUE(place_images(mirrored, url("http://127.0.0.1:5000"), "docker.io"));
  EXPECT_EQ(mirrored[0].reference.repository, "library/alpine");
}

}  // namespace
}  // namespace plimsoll::workload
