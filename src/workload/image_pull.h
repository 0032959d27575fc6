// Pulls of images that a registry already has, as container clients make them. Nothing is written to the registry,
// and nothing removed from it.
//
//   docker      GET /v2/, HEAD of the tag, GET of the manifest by digest; then three layers at once, and the
//               configuration beside them
//   containerd  HEAD of the tag or digest, GET by digest; then three blobs at once, the configuration first
//   serial      GET /v2/, GET of the manifest by tag, configuration, layers: one at a time, over one connection
//
// An operation is the pull of one image onto an empty machine: each digest is fetched once, an index is followed to
// one platform or to all. Unless the clients are kept, every operation is a client of its own, which opens its
// connections and asks for its own token, so that a storm of pulls reaches the token server too.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "load/workload.h"
#include "oci/manifest.h"
#include "workload/client_kind.h"
#include "workload/image_list.h"
#include "workload/registry_target.h"

namespace plimsoll::workload {

struct ImagePullOptions {
  ClientKind client = ClientKind::docker;
  std::optional<oci::Platform> platform;  // none: all of an index
  bool cold = false;                      // in the order of the list; else drawn by weight
  bool keep_clients = false;
  int threads = 1;
};

// Most connections that a client opens at once.
std::size_t connections_of(ClientKind client);

// Layers of types that registries need not have, which this one had not: counted over all threads.
using SkippedLayers = std::atomic<std::uint64_t>;

// All but `options` outlive the workload. The images are placed (image_list.h), and there is at least one.
std::unique_ptr<load::Workload> make_image_pulls(const RegistryTarget& target,
                                                 const std::vector<ListedImage>& images,
                                                 const ImagePullOptions& options, SkippedLayers& skipped);

}  // namespace plimsoll::workload
