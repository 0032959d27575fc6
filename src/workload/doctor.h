// What a registry supports, and where it strays from the spec: tried in a scratch repository that is cleaned up.
//
// Each capability is one question of the distribution spec, with the answer and what showed it; docs/doctor.md lists
// them all. "no" is an answer, not a fault: much of the spec is optional. What the spec does not allow is a finding.
// Nothing here is measured but the time of a bare request.
#pragma once

#include <string>
#include <vector>

#include "http/transport.h"
#include "net/loop.h"
#include "stats/record.h"
#include "workload/registry_target.h"

namespace plimsoll::workload {

struct Examination {
  std::vector<stats::Capability> capabilities;
  std::vector<stats::Finding> findings;  // strays
  std::string tls;                       // "TLSv1.3, TLS_AES_256_GCM_SHA384"; empty in clear
  bool plain_push = true;                // false: tried, and failed
  bool plain_pull = true;
};

struct ExaminationOptions {
  // Asks nothing that would change the registry: an image that is there is read.
  bool read_only = false;
  // The repository that read-only looks at; empty: the first of the catalog that has a tag.
  std::string repository;
  // Connections whose TLS offers HTTP/2 by ALPN; outlives the examination.
  const http::Transport* offering_http2 = nullptr;
};

// The loop is the caller's thread's. Takes as long as its some hundred requests, each bounded by the target's timeout.
Examination examine(net::Loop& loop, const RegistryTarget& target, const ExaminationOptions& options);

}  // namespace plimsoll::workload
