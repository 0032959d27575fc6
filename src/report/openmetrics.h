// OpenMetrics text (1.0.0) of a record: what a textfile collector or a scrape reads. Ends in "# EOF".
//
// plimsoll_build_info{version}; with labels test, target, action, concurrency and repeat on the rest:
//   plimsoll_operations_total{result="ok|failed|aborted"}, plimsoll_errors_total{kind}, plimsoll_notes_total{kind},
//   plimsoll_responses_total{code}, plimsoll_bytes_total{direction,part="wire|body"},
//   plimsoll_connections_total{event="opened|reused|reconnected"}, plimsoll_rate_per_second,
//   plimsoll_latency_seconds{quantile} (gauge), plimsoll_measure_seconds,
//   plimsoll_operation_duration_seconds (histogram, where the record carries the test's latency histogram)
#pragma once

#include <string>

#include "stats/record.h"

namespace plimsoll::report {

std::string openmetrics(const stats::Record& record);

}  // namespace plimsoll::report
