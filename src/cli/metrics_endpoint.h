// `--metrics ADDR:PORT`: a run's figures for Prometheus while it runs, at http://ADDR:PORT/metrics.
//
// The engine threads know nothing of it: they publish what live progress needs five times a second, and a small
// server of its own thread renders the last of that when it is asked. Counters start anew with the measure phase,
// which Prometheus takes for a restart. With several tests the finished ones stay, with their last figures.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "load/run.h"

namespace plimsoll::cli {

class MetricsEndpoint {
 public:
  // Listens, and says on stderr where; `listen` is ADDR:PORT, [V6]:PORT or PORT (loopback), port 0 picks one. Null
  // where `listen` is empty. The refusal names the option.
  static Checked<std::unique_ptr<MetricsEndpoint>> start(const std::string& listen);
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;
  ~MetricsEndpoint();

  // In the thread that watches the run.
  void update(const std::string& test, const load::Progress& progress);

 private:
  struct Parts;
  explicit MetricsEndpoint(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The text exposition format (version 0.0.4) of these tests, in this order.
std::string metrics_text(const std::vector<std::pair<std::string, load::Progress>>& tests);

}  // namespace plimsoll::cli
