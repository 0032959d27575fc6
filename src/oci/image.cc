#include "oci/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "oci/media_types.h"

namespace plimsoll::oci {
namespace {

void write_descriptor(std::string& out, std::string_view media_type, const Digest& digest,
                      std::uint64_t size) {
  fmt::format_to(std::back_inserter(out), R"({{"mediaType":"{}","digest":")", media_type);
  digest.append_to(out);
  fmt::format_to(std::back_inserter(out), R"(","size":{}}})", size);
}

void write_config(const std::vector<Layer>& layers, std::string& out) {
  out = R"({"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[)";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    out += i == 0 ? "\"" : ",\"";
    layers[i].digest().append_to(out);
    out += '"';
  }
  out += "]}}";
}

void write_manifest(const Image& image, std::string& out) {
  out.clear();
  fmt::format_to(std::back_inserter(out), R"({{"schemaVersion":2,"mediaType":"{}","config":)", kOciManifest);
  write_descriptor(out, kOciConfig, image.config_digest, image.config.size());
  out += R"(,"layers":[)";
  for (std::size_t i = 0; i < image.layers.size(); ++i) {
    if (i > 0) out += ',';
    write_descriptor(out, kOciLayerTar, image.layers[i].digest(), image.layers[i].size());
  }
  out += "]}";
}

}  // namespace

Checked<ImageShape> ImageShape::make(const Pattern& pattern, const std::vector<std::uint64_t>& layer_sizes) {
  if (layer_sizes.empty() || layer_sizes.size() > kMostLayers) {
    return Refusal{
        fmt::format("an image of {} layers: 1 to {} are possible", layer_sizes.size(), kMostLayers)};
  }
  ImageShape image;
  for (const auto size : layer_sizes) {
    const auto known = std::ranges::find(image.shapes_, size, &LayerShape::size);
    image.order_.push_back(static_cast<std::size_t>(known - image.shapes_.begin()));
    if (known != image.shapes_.end()) continue;
    auto shape = LayerShape::make(pattern, size);
    if (!shape) return shape.error();
    image.shapes_.push_back(std::move(*shape));
  }
  return image;
}

std::uint64_t ImageShape::layer_bytes() const {
  std::uint64_t sum = 0;
  for (const auto index : order_) sum += shapes_[index].size();
  return sum;
}

void next_image(LayerSource& source, const ImageShape& shape, Image& image) {
  image.layers.resize(shape.layers());
  for (std::size_t i = 0; i < shape.layers(); ++i) source.next(shape.layer(i), image.layers[i]);
  rewrite_documents(image);
}

void rewrite_documents(Image& image) {
  write_config(image.layers, image.config);
  image.config_digest = Digest::of(image.config);
  write_manifest(image, image.manifest);
  image.manifest_digest = Digest::of(image.manifest);
}

}  // namespace plimsoll::oci
