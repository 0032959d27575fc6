// What a registry supports, and where it strays from the spec: tried in a scratch repository that is cleaned up.
//
// Each capability is one question of the distribution spec, with the answer and what showed it. Nothing here is
// measured but the time of a bare request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "net/task.h"
#include "oci/registry_client.h"
#include "stats/record.h"
#include "workload/registry_target.h"

namespace plimsoll::workload {

struct Examination {
  std::vector<stats::Capability> capabilities;
  std::vector<stats::Finding> findings;  // strays
  bool plain_push = false;
  bool plain_pull = false;
};

// `read_only`: asks nothing that would change the registry. The loop is the caller's thread's.
Examination examine(net::Loop& loop, const RegistryTarget& target, bool read_only);

}  // namespace plimsoll::workload
