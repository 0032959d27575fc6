#include "oci/image.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "oci/media_types.h"

namespace plimsoll::oci {
namespace {

std::string whole(const Layer& layer) {
  std::string out;
  for (auto piece = layer.piece(0); !piece.bytes.empty(); piece = layer.piece(out.size())) out += piece.bytes;
  return out;
}

TEST(Image, EverythingAgreesWithEverything) {
  const auto pattern = Pattern::make(1U << 20U, 1);
  ASSERT_TRUE(pattern);
  const auto shape = ImageShape::make(*pattern, {100'000, 4096, 100'000});
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->layer_bytes(), 204'096U);
  LayerSource source(1, 0);
  Image image;
  for (int round = 0; round < 3; ++round) {
    next_image(source, *shape, image);
    const auto config = nlohmann::json::parse(image.config);
    const auto manifest = nlohmann::json::parse(image.manifest);
    EXPECT_EQ(image.config_digest, Digest::of(image.config));
    EXPECT_EQ(image.manifest_digest, Digest::of(image.manifest));
    EXPECT_EQ(manifest["schemaVersion"], 2);
    EXPECT_EQ(manifest["mediaType"], kOciManifest);
    EXPECT_EQ(manifest["config"]["mediaType"], kOciConfig);
    EXPECT_EQ(manifest["config"]["digest"], image.config_digest.text());
    EXPECT_EQ(manifest["config"]["size"], image.config.size());
    EXPECT_EQ(config["os"], "linux");
    EXPECT_EQ(config["architecture"], "amd64");
    EXPECT_EQ(config["rootfs"]["type"], "layers");
    ASSERT_EQ(manifest["layers"].size(), 3U);
    ASSERT_EQ(config["rootfs"]["diff_ids"].size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string bytes = whole(image.layers[i]);
      EXPECT_EQ(manifest["layers"][i]["mediaType"], kOciLayerTar);
      EXPECT_EQ(manifest["layers"][i]["size"], bytes.size());
      EXPECT_EQ(manifest["layers"][i]["digest"], Digest::of(bytes).text());
      EXPECT_EQ(config["rootfs"]["diff_ids"][i], Digest::of(bytes).text());
    }
    EXPECT_NE(manifest["layers"][0]["digest"], manifest["layers"][2]["digest"]);
  }
}

TEST(Image, ConfigAndManifestAreUniqueToo) {
  const auto pattern = Pattern::make(4096, 1);
  const auto shape = ImageShape::make(*pattern, {4096});
  LayerSource source(1, 0);
  Image first;
  Image second;
  next_image(source, *shape, first);
  next_image(source, *shape, second);
  EXPECT_NE(first.config_digest, second.config_digest);
  EXPECT_NE(first.manifest_digest, second.manifest_digest);
}

TEST(ImageShape, RefusesWhatCannotBe) {
  const auto pattern = Pattern::make(4096, 1);
  EXPECT_FALSE(ImageShape::make(*pattern, {}));
  EXPECT_FALSE(ImageShape::make(*pattern, std::vector<std::uint64_t>(128, 4096)));
  EXPECT_FALSE(ImageShape::make(*pattern, {4096, 1}));
  EXPECT_TRUE(ImageShape::make(*pattern, std::vector<std::uint64_t>(127, 4096)));
}

}  // namespace
}  // namespace plimsoll::oci
