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

Checked<Contents> Contents::make(unsigned classes, std::uint64_t seed) {
  Contents contents;
  if (classes == 0) return contents;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < kSizeClasses.size(); ++i) {
    if ((classes >> i & 1U) != 0) largest = std::max(largest, kSizeClasses[i].bytes);
  }
  auto pattern = oci::Pattern::make(largest, seed);
  if (!pattern) return pattern.error();
  contents.pattern_ = std::make_unique<oci::Pattern>(std::move(*pattern));
  for (std::size_t i = 0; i < kSizeClasses.size(); ++i) {
    if ((classes >> i & 1U) == 0) continue;
    auto shape = oci::ImageShape::make(*contents.pattern_, {kSizeClasses[i].bytes});
    if (!shape) return shape.error();
    contents.shapes_[i] = std::make_unique<oci::ImageShape>(std::move(*shape));
  }
  return contents;
}

std::string RegistryTarget::repository(int worker, std::uint64_t n) const {
  return fmt::format("{}plimsoll-{}-{}-{}", repository_prefix, run_id, worker, n);
}

}  // namespace plimsoll::workload
