// Which images that are already in a registry are to be pulled, and how often in proportion to each other.
//
// A list has an image a line, with its weight behind it where it is not 1; '#' begins a comment:
//
//   team/app:1.2                  8
//   team/base@sha256:44136fa3...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/url.h"
#include "oci/reference.h"

namespace plimsoll::workload {

struct ListedImage {
  oci::Reference reference;
  std::uint64_t weight = 1;
};

inline constexpr std::size_t kMostImages = 10'000;
inline constexpr std::uint64_t kLargestWeight = 1'000'000;

// The text of a list. A refusal names the file and the line.
Checked<std::vector<ListedImage>> parse_image_list(std::string_view text, std::string_view file);

// What was given one after the other: names of files that are there (or "@FILE"), else references.
Checked<std::vector<ListedImage>> read_images(const std::vector<std::string>& given);

// Where all of them are, when no URL says it: the one host that they name, over http where it is this machine.
Checked<std::string> registry_of(const std::vector<ListedImage>& images);

// Repositories as the registry at `base` knows them; `mirror_of` is the host that it stands in for, or empty. Refuses
// an image that names another registry. Docker Hub's short names are filled in.
Checked<void> place_images(std::vector<ListedImage>& images, const http::Url& base,
                           const std::string& mirror_of);

}  // namespace plimsoll::workload
