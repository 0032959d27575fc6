// How container clients move the blobs of an image: how many at once, each over a connection of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::workload {

enum class ClientKind : std::uint8_t {
  docker,      // five layers up, three down (dockerd's max-concurrent-uploads and -downloads)
  containerd,  // all layers up, three blobs down (CRI's max_concurrent_downloads)
  serial,      // one request at a time, over one connection (crane, skopeo with one copy)
};

inline std::optional<ClientKind> client_kind(std::string_view name) {
  if (name == "docker") return ClientKind::docker;
  if (name == "containerd") return ClientKind::containerd;
  if (name == "serial") return ClientKind::serial;
  return std::nullopt;
}

struct Lanes {
  std::size_t uploads;
  std::size_t downloads;
};

// For an image of so many layers.
inline Lanes lanes_of(ClientKind client, std::size_t layers) {
  switch (client) {
    case ClientKind::docker:
      return {5, 3};
    case ClientKind::containerd:
      return {std::max<std::size_t>(1, layers), 3};
    case ClientKind::serial:
      break;
  }
  return {1, 1};
}

}  // namespace plimsoll::workload
