#include "workload/registry_target.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll::workload {

std::string_view name(UploadKind kind) {
  switch (kind) {
    case UploadKind::put:
      return "put";
    case UploadKind::post:
      return "post";
    case UploadKind::stream:
      return "stream";
    case UploadKind::chunk:
      break;
  }
  return "chunk";
}

std::string_view name(MountKind kind) {
  switch (kind) {
    case MountKind::none:
      return "";
    case MountKind::cross:
      return "cross";
    case MountKind::anonymous:
      break;
  }
  return "anonymous";
}

Checked<Contents> Contents::make(unsigned classes, std::uint64_t seed) {
  std::vector<std::vector<std::uint64_t>> images;
  for (std::size_t i = 0; i < kSizeClasses.size(); ++i) {
    const bool wanted = (classes >> i & 1U) != 0;
    images.push_back(wanted ? std::vector{kSizeClasses[i].bytes} : std::vector<std::uint64_t>());
  }
  return of_images(images, seed);
}

Checked<Contents> Contents::of_images(const std::vector<std::vector<std::uint64_t>>& images,
                                      std::uint64_t seed) {
  Contents contents;
  std::uint64_t largest = 0;
  for (const auto& layers : images) {
    for (const std::uint64_t size : layers) largest = std::max(largest, size);
  }
  if (largest == 0) return contents;
  auto pattern = oci::Pattern::make(largest, seed);
  if (!pattern) return pattern.error();
  contents.pattern_ = std::make_unique<oci::Pattern>(std::move(*pattern));
  for (const auto& layers : images) {
    contents.shapes_.emplace_back();
    if (layers.empty()) continue;
    auto shape = oci::ImageShape::make(*contents.pattern_, layers);
    if (!shape) return shape.error();
    contents.shapes_.back() = std::make_unique<oci::ImageShape>(std::move(*shape));
  }
  return contents;
}

std::string RegistryTarget::repository(int worker, std::uint64_t n) const {
  return fmt::format("{}plimsoll-{}-{}-{}", repository_prefix, run_id, worker, n);
}

}  // namespace plimsoll::workload
