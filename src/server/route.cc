#include "server/route.h"

#include "base/text.h"

namespace plimsoll::server {

std::string_view name(Resource resource) {
  switch (resource) {
    case Resource::ping:
      return "ping";
    case Resource::catalog:
      return "catalog";
    case Resource::tags:
      return "tags";
    case Resource::manifest:
      return "manifest";
    case Resource::blob:
      return "blob";
    case Resource::upload_start:
      return "upload_start";
    case Resource::upload:
      return "upload";
    case Resource::referrers:
      return "referrers";
  }
  return "";
}

namespace {

// Takes the last segment off; false where there is no further slash.
bool take_last(std::string_view& path, std::string_view& last) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return false;
  last = path.substr(slash + 1);
  path = path.substr(0, slash);
  return true;
}

Route route_of(Resource resource, std::string_view repository, std::string_view reference) {
  return {resource, std::string(repository), std::string(reference)};
}

std::optional<Route> find_decoded(std::string_view path) {
  if (path == "/v2" || path == "/v2/") return Route{};
  if (!path.starts_with("/v2/")) return std::nullopt;
  path.remove_prefix(4);
  if (path == "_catalog") return route_of(Resource::catalog, {}, {});
  if (path.ends_with("/blobs/uploads/")) path.remove_suffix(1);
  std::string_view reference;
  std::string_view kind;
  if (!take_last(path, reference) || !take_last(path, kind)) return std::nullopt;
  if (kind == "tags" && reference == "list") return route_of(Resource::tags, path, {});
  if (kind == "manifests") return route_of(Resource::manifest, path, reference);
  if (kind == "referrers") return route_of(Resource::referrers, path, reference);
  if (kind == "blobs" && reference == "uploads") return route_of(Resource::upload_start, path, {});
  if (kind == "blobs") return route_of(Resource::blob, path, reference);
  if (kind == "uploads" && path.ends_with("/blobs")) {
    return route_of(Resource::upload, path.substr(0, path.size() - 6), reference);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Route> find_route(std::string_view path) {
  if (!path.contains('%')) return find_decoded(path);
  const auto decoded = percent_decode(path);
  return decoded ? find_decoded(*decoded) : std::nullopt;
}

Query::Query(std::optional<std::string_view> text) {
  if (!text || text->empty()) return;
  for (const auto part : split(*text, '&')) {
    const auto equals = part.find('=');
    auto key = percent_decode(part.substr(0, equals));
    auto value =
        percent_decode(equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1));
    if (key && value) parameters_.emplace_back(std::move(*key), std::move(*value));
  }
}

std::optional<std::string_view> Query::find(std::string_view key) const {
  for (const auto& [name, value] : parameters_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Query::find_all(std::string_view key) const {
  std::vector<std::string_view> values;
  for (const auto& [name, value] : parameters_) {
    if (name == key) values.emplace_back(value);
  }
  return values;
}

}  // namespace plimsoll::server
