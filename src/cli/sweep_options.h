// What `sweep` is asked for, its option table, and the lists in it: actions, levels, images.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/bench_options.h"
#include "workload/registry_tests.h"

namespace plimsoll::cli {

// Something to be measured at every level: pushes or pulls of --image, or a test of the suite.
struct SweepAction {
  std::string name;                              // "push", "pull", or the test's
  std::string slug;                              // in file names: "push", "pull-1mb"
  const workload::RegistryTest* test = nullptr;  // null: pushes or pulls of --image
};

struct SweepImage {
  std::string name;                   // as it was given: "187.8MB,194.5kB"
  std::vector<std::uint64_t> layers;  // bytes; what can be made, where less was asked for
  std::uint64_t bytes() const;
};

struct SweepOptions {
  BenchOptions bench;  // connections, credentials, timeouts: as for bench
  std::vector<std::string> targets_given;
  std::string actions_given = "push,pull";
  std::string levels_given = "1,10,30,50,100";
  std::uint64_t iterations = 1000;
  int repeat = 1;
  std::vector<std::string> images_given;
  std::string client = "docker";
  std::string spread = "many";
  double reuse = 0;
  bool cold = false;
  bool shuffle = false;
  bool interleave = false;
  std::string out;
  std::vector<std::string> describe;
  std::vector<std::string> attach;

  // What the lists say, once check() was good.
  std::vector<SweepAction> actions;
  std::vector<int> levels;
  std::vector<SweepImage> images;

  // Reads the lists. Refused: what is in none, twice, or not to be had here (sync tests without an upstream).
  Checked<void> check();
};

void declare_sweep_options(CLI::App& app, SweepOptions& options);

// "push,pull,Pull Mixed 20% 1MB, 70% 10MB, 10% 100MB": the names of tests may hold commas themselves. Case does not
// matter.
Checked<std::vector<SweepAction>> parse_actions(std::string_view text);
// "1,10,30"
Checked<std::vector<int>> parse_levels(std::string_view text);
// "187.8MB,194.5kB"; several images stand in one text with semicolons between them.
Checked<std::vector<SweepImage>> parse_images(const std::vector<std::string>& given);

}  // namespace plimsoll::cli
