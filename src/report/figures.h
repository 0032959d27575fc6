// Every figure of a test by one name, unit and direction: what CSV columns, thresholds and comparisons speak of.
//
// Names, where LATENCY is one of min, mean, stddev, max, p50, p66, p75, p80, p90, p95, p98, p99, p99.9, p99.99:
//   rate, errors (failed share of the completed), started, ok, failed, aborted
//   LATENCY                     of good operations, from when they were due
//   service LATENCY             of good operations, from their sending
//   failed LATENCY              of failed operations
//   throughput sent|received    bytes on the wire a second; body throughput sent|received for bodies alone
//   bytes sent|received, body bytes sent|received
//   connections opened|reused|reconnected; connection LATENCY; tls LATENCY
//   offered, sent, completed, backlog, backlog age      (open loop)
//   client cpu, run delay, littles law error, concurrency reached, lag p50|p99|p99.9
//   prepare|setup|warmup|measure|drain|cleanup time
//   PART LATENCY                a part that the test reports apart ("cold p50")
//   STEP count, STEP LATENCY, STEP ttfb LATENCY         a step ("layer GET ttfb p99")
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/record.h"

namespace plimsoll::report {

enum class Unit : std::uint8_t { seconds, per_second, bytes, bytes_per_second, share, count };
enum class Better : std::uint8_t { lower, higher, neither };

struct Figure {
  std::string name;
  Unit unit = Unit::count;
  Better better = Better::neither;
  double value = 0;
  bool known = true;  // false where nothing was measured: the percentile of no samples, a rate of no time
};

// All figures of the test, in the order above.
std::vector<Figure> figures(const stats::TestRecord& test);

// The figure by its name; case and '_' for ' ' don't matter. nullopt where this test has none of that name.
std::optional<Figure> find_figure(const stats::TestRecord& test, std::string_view name);

// The latency figures' names and values, in the order above.
std::vector<Figure> latency_figures(const stats::LatencySummary& times, std::string_view prefix);

// The figure as a person reads it: "3.02 ms", "105/s", "1.25 MB/s", "0.1%", "42".
std::string human(const Figure& figure);
std::string human(Unit unit, double value);

// The figure's name as the header of a column: "p99.9_s", "rate_per_s", "bytes_sent".
std::string column_name(const Figure& figure);

}  // namespace plimsoll::report
