// Which resource of the distribution API a path names. Names hold slashes, so paths are read from the right.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::server {

enum class Resource : std::uint8_t { ping, catalog, tags, manifest, blob, upload_start, upload, referrers };
inline constexpr std::size_t kResources = 8;

// "manifest", "blob", ...: in metrics and in fault scripts.
std::string_view name(Resource resource);

struct Route {
  Resource resource = Resource::ping;
  std::string repository;  // empty for ping and catalog
  std::string reference;   // tag, digest or upload id, not checked
};

// Of a path below "/v2", escapes included; nullopt where there is nothing of the kind.
std::optional<Route> find_route(std::string_view path);

// One parameter of a query, decoded; a "+" is a plus (digests and tags hold none, uploads' state may).
class Query {
 public:
  explicit Query(std::optional<std::string_view> text);
  std::optional<std::string_view> find(std::string_view key) const;
  std::vector<std::string_view> find_all(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace plimsoll::server
