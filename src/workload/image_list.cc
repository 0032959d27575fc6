#include "workload/image_list.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace plimsoll::workload {
namespace {

constexpr std::string_view kHub = "registry-1.docker.io";

Refusal bad_line(std::string_view file, std::size_t number, std::string_view why) {
  return {fmt::format("{}, line {}: {}", file, number, why)};
}

Checked<ListedImage> parse_line(std::string_view line, std::string_view file, std::size_t number) {
  const auto end = line.find_first_of(" \t");
  auto reference = oci::Reference::parse(line.substr(0, end));
  if (!reference) return bad_line(file, number, reference.error().message);
  ListedImage image{.reference = std::move(*reference)};
  if (end == std::string_view::npos) return image;
  const auto weight_text = trim(line.substr(end));
  const auto weight = parse_u64(weight_text);
  if (!weight || *weight == 0 || *weight > kLargestWeight) {
    return bad_line(
        file, number,
        fmt::format("'{}' is no weight: a whole number from 1 to {}", weight_text, kLargestWeight));
  }
  image.weight = *weight;
  return image;
}

Checked<std::vector<ListedImage>> read_list(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Refusal{fmt::format("'{}' is a directory, not a list of images", path)};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Refusal{fmt::format("cannot read '{}'", path)};
  return parse_image_list(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

bool is_loopback(std::string_view host) {
  const auto name =
      host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
  return name == "localhost" || name == "[::1]" || name.starts_with("127.");
}

bool is_hub(std::string_view host) {
  return host == "docker.io" || host == "index.docker.io" || host == kHub;
}

}  // namespace

Checked<std::vector<ListedImage>> parse_image_list(std::string_view text, std::string_view file) {
  std::vector<ListedImage> images;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto image = parse_line(line, file, number);
    if (!image) return image.error();
    if (images.size() == kMostImages)
      return bad_line(file, number, fmt::format("more than {} images", kMostImages));
    images.push_back(std::move(*image));
  }
  if (images.empty()) return Refusal{fmt::format("'{}' lists no image", file)};
  return images;
}

Checked<std::vector<ListedImage>> read_images(const std::vector<std::string>& given) {
  std::vector<ListedImage> images;
  for (const std::string& word : given) {
    std::error_code error;
    const bool is_file = std::filesystem::exists(word, error);
    if (is_file || word.starts_with('@')) {
      auto listed = read_list(is_file ? word : word.substr(1));
      if (!listed) return listed.error();
      std::ranges::move(*listed, std::back_inserter(images));
    } else {
      auto reference = oci::Reference::parse(word);
      if (!reference) return Refusal{reference.error().message + ", and there is no such file"};
      images.push_back({.reference = std::move(*reference)});
    }
    if (images.size() > kMostImages) return Refusal{fmt::format("more than {} images", kMostImages)};
  }
  return images;
}

Checked<std::string> registry_of(const std::vector<ListedImage>& images) {
  std::string host;
  for (const ListedImage& image : images) {
    const std::string& named = image.reference.host;
    if (named.empty()) {
      return Refusal{fmt::format("'{}' names no registry: give its URL, or HOST/{}", image.reference.text(),
                                 image.reference.text())};
    }
    const std::string here(is_hub(named) ? kHub : named);
    if (!host.empty() && here != host)
      return Refusal{fmt::format("images of {} and of {}: one registry at a time", host, here)};
    host = here;
  }
  return fmt::format("{}://{}", is_loopback(host) ? "http" : "https", host);
}

Checked<void> place_images(std::vector<ListedImage>& images, const http::Url& base,
                           const std::string& mirror_of) {
  const bool at_hub = base.host == kHub || is_hub(mirror_of);
  for (ListedImage& image : images) {
    oci::Reference& reference = image.reference;
    const bool hub_name = is_hub(reference.host);
    if (reference.host.empty()) {
      if (at_hub) reference.repository = oci::with_docker_hub_names(reference).repository;
      continue;
    }
    const auto named =
        http::parse_url(fmt::format("{}://{}", base.scheme, hub_name ? std::string(kHub) : reference.host));
    const bool same = named && named->same_origin(base);
    const bool mirrored = reference.host == mirror_of || (hub_name && is_hub(mirror_of));
    if (!same && !mirrored) {
      return Refusal{fmt::format("'{}' is not in the registry at {} (of a mirror, name the origin: --ns {})",
                                 reference.text(), base.origin(), reference.host)};
    }
    if (hub_name) reference.repository = oci::with_docker_hub_names(reference).repository;
  }
  return {};
}

}  // namespace plimsoll::workload
