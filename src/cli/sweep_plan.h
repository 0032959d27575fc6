// The stretches of a campaign: which there are, in which order they run, and where each one's raw times lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/sweep_options.h"

namespace plimsoll::cli {

// A target, an action, an image, a level, a repeat: what is run, drained and cleaned before the next one starts.
// The numbers are indices of the options' lists; tests of the suite bring their own images (kOwnImage).
struct Stretch {
  static constexpr std::size_t kOwnImage = SIZE_MAX;
  std::size_t target = 0;
  std::size_t action = 0;
  std::size_t image = 0;
  int concurrency = 1;
  int repeat = 0;  // from 0
};

// Target after target, and within one the images, levels and actions in their order. With `interleave` the targets
// follow each other at every stretch, in turn the first; with `shuffle` the order is drawn from the seed.
std::vector<Stretch> plan_stretches(const SweepOptions& options, std::size_t targets, std::uint64_t seed);

// [TARGET/][image-I/][repeat-R/]concurrency-N/ACTION_results.csv: the campaign document's names where there is one
// of each.
std::filesystem::path csv_of(const Stretch& stretch, const SweepOptions& options,
                             const std::vector<std::string>& targets);

// "registry push 60kB c=10"
std::string name_of(const Stretch& stretch, const SweepOptions& options,
                    const std::vector<std::string>& targets);

}  // namespace plimsoll::cli
