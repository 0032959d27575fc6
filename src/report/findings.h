// What the figures mean: each finding has a stable id, a sentence, its evidence and its uncertainty.
//
// From raw times (a campaign's folder):
//   concurrency-ceiling    estimate, low, high: operations that really progress at once; saturation_level,
//                          unloaded_s, rate_per_s, usl_lambda|sigma|kappa, usl_peak; context kind (admission,
//                          shared) and side (client, registry, unknown)
//   drift, warm-up, stalls, outliers, two-humped           series_findings.h
// From a record:
//   generator-bound            the generator, not the server, was the limit
//   concurrency-not-reached    fewer operations in progress than asked for
//   too-few-samples            of good operations, for a percentile up to p99
//   throttled                  429: as errors, or in steps that were tried again
//   redirects                  steps answered by 3xx
//   connections-closed         connections opened in place of closed ones, beyond 1% of the requests
//   retries                    operations tried again or resumed
//   reupload                   layers sent again that the registry already held: where details["layers_reused"]
//                              (offered and known to be there) exceeds details["layers_found"] (said so)
//   mounts-refused             cross-repository mounts that the registry answered with an upload
//   chunks-refused             416, or ranges that are not those that were sent
//   stalls                     seconds of the measure phase without any end of an operation
//
// context["cause"] says where to look for each (causes.h).
#pragma once

#include <vector>

#include "report/campaign_csv.h"
#include "stats/record.h"

namespace plimsoll::report {

// By target, action and concurrency. `record` gives measured rates where it has them (campaign_record otherwise).
std::vector<stats::Finding> campaign_findings(const Campaign& campaign, const stats::Record& record);

// From the record alone, in the order of its tests; context names the test.
std::vector<stats::Finding> record_findings(const stats::Record& record);

}  // namespace plimsoll::report
