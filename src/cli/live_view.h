// A run while it runs: three lines on the terminal, written over a few times a second and wiped before anything else
// is printed, and the same figures for Prometheus where --metrics asks for them.
//
//   127.0.0.1:8080  measure  37012 of 100000 (37%)  left 5s
//     now  12.3 k/s  10.2 MB/s  in flight 64  p50 1.2 ms  p90 2.0 ms  p99 3.1 ms
//     run  2xx 37002  5xx 10  errors 10 (unexpected_status 10)  p50 1.3 ms  p99 3.0 ms  p99.9 8 ms
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/metrics_endpoint.h"
#include "load/run.h"

namespace plimsoll::cli {

class LiveView {
 public:
  // Draws nothing where stderr is no terminal, or `quiet`. `metrics` may be null; it outlives the view.
  explicit LiveView(MetricsEndpoint* metrics, bool quiet = false);

  // For load::run(); null where nobody looks.
  // `after_s`: how long what comes after this test will take, where that is known.
  load::Watch watch(std::string test, std::optional<double> after_s = {});
  void wipe();

 private:
  void show(std::string_view test, const load::Progress& progress, std::optional<double> after_s);
  MetricsEndpoint* metrics_;
  bool shown_;
  int lines_ = 0;  // on the screen now
};

// The lines above, the last without its end. With what comes after the test: "left 2s, in all 3m 20s".
std::string progress_text(std::string_view test, const load::Progress& progress,
                          std::optional<double> after_s = {});

}  // namespace plimsoll::cli
