// Pushes and pulls of images with several layers, as container clients make them (client_kind.h): the workloads of
// `sweep`. A push checks for each blob first, but as `serial`; a pull asks for the manifest by tag (HEAD, then GET by
// digest), then the configuration, then the layers.
#pragma once

#include <cstdint>
#include <memory>

#include "load/workload.h"
#include "workload/client_kind.h"
#include "workload/registry_target.h"

namespace plimsoll::workload {

struct CampaignOptions {
  ClientKind client = ClientKind::docker;
  bool many_repositories =
      true;           // each image in a repository of its own; else one for all, with a tag an image
  double reuse = 0;   // share of an image's layers that the registry has already
  bool cold = false;  // pulls: each operation pulls another image
  int workers = 1;
  int threads = 1;
  std::uint64_t iterations = 1;
};

// Target and contents outlive the workload; the images are shape 0 of the contents.
std::unique_ptr<load::Workload> make_campaign_push(const RegistryTarget& target, const Contents& contents,
                                                   const CampaignOptions& options);
std::unique_ptr<load::Workload> make_campaign_pull(const RegistryTarget& target, const Contents& contents,
                                                   const CampaignOptions& options);

}  // namespace plimsoll::workload
