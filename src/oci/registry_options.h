// How a registry is spoken to.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/url.h"

namespace plimsoll::oci {

struct RegistryOptions {
  http::Url base;                                            // "http://127.0.0.1:5000"; a path prefix is kept
  Nanos timeout = std::chrono::seconds(60);                  // without progress
  Nanos deadline = Nanos::max();                             // of one request
  std::vector<std::pair<std::string, std::string>> headers;  // added to every request to the registry itself
  std::string user_agent = "plimsoll";
  std::string mirror_of;  // --ns: sent on reads of manifests and blobs; empty: none
  int retries = 0;        // of a request, or of an upload's piece: after 429, 408, 5xx and lost connections
  // Waits as long as Retry-After says: before a retry (else at most 30 s), and without retries before the next
  // request.
  bool respect_retry_after = false;
  bool verify = true;  // pulled content is checked against its digest
  bool keep_alive = true;
};

}  // namespace plimsoll::oci
