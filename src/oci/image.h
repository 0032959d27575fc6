// Generated images: layers of given sizes (oci/content.h), the configuration whose diff_ids agree with them,
// and the manifest that names all of it (image-spec, config.md and manifest.md).
//
// An Image is meant to be kept by the worker that pushes it and overwritten for the next push: after the
// first time nothing is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "oci/content.h"

namespace plimsoll::oci {

// Immutable, may be shared by threads. The pattern must outlive it.
class ImageShape {
 public:
  // One layer a size, in order, largest number kMostLayers. Equal sizes share one LayerShape.
  static constexpr std::size_t kMostLayers = 127;  // what container runtimes can stack
  static Checked<ImageShape> make(const Pattern& pattern, const std::vector<std::uint64_t>& layer_sizes);

  std::size_t layers() const { return order_.size(); }
  const LayerShape& layer(std::size_t index) const { return shapes_[order_[index]]; }
  // Of all layers together, without configuration and manifest.
  std::uint64_t layer_bytes() const;

 private:
  std::vector<LayerShape> shapes_;
  std::vector<std::size_t> order_;
};

struct Image {
  std::vector<Layer> layers;
  std::string config;  // application/vnd.oci.image.config.v1+json, linux/amd64
  Digest config_digest;
  std::string manifest;  // application/vnd.oci.image.manifest.v1+json
  Digest manifest_digest;
};

// Draws an image of the shape. Its configuration and manifest are as unique as its layers.
void next_image(LayerSource& source, const ImageShape& shape, Image& image);

// Makes configuration and manifest anew, after layers were replaced by others.
void rewrite_documents(Image& image);

}  // namespace plimsoll::oci
