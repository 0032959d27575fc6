#include "oci/step.h"

#include <array>

namespace plimsoll::oci {

std::string_view name(Step step) {
  static constexpr std::array<std::string_view, kSteps> kNames = {
      "ping GET",    "token",      "catalog GET",   "tags GET",     "referrers GET",   "upload POST",
      "mount POST",  "layer POST", "config POST",   "layer PATCH",  "config PATCH",    "layer PUT",
      "config PUT",  "upload GET", "upload DELETE", "manifest PUT", "manifest HEAD",   "manifest GET",
      "config HEAD", "config GET", "layer HEAD",    "layer GET",    "manifest DELETE", "tag DELETE",
      "blob DELETE", "storage"};
  static_assert(static_cast<std::size_t>(Step::storage) + 1 == kSteps);
  return kNames[static_cast<std::size_t>(step)];
}

}  // namespace plimsoll::oci
