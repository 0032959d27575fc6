#include "cli/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/random.h"

namespace plimsoll::cli {
namespace {

void add_repeat(const SweepOptions& options, int repeat, std::size_t target, std::vector<Stretch>& out) {
  for (std::size_t image = 0; image < options.images.size(); ++image) {
    for (const int level : options.levels) {
      for (std::size_t action = 0; action < options.actions.size(); ++action) {
        const bool own = options.actions[action].test != nullptr;
        if (own && image > 0) continue;
        out.push_back({target, action, own ? Stretch::kOwnImage : image, level, repeat});
      }
    }
  }
}

}  // namespace

std::vector<Stretch> plan_stretches(const SweepOptions& options, std::size_t targets, std::uint64_t seed) {
  std::vector<Stretch> stretches;
  for (int repeat = 0; repeat < options.repeat; ++repeat) {
    if (!options.interleave) {
      for (std::size_t target = 0; target < targets; ++target) add_repeat(options, repeat, target, stretches);
      continue;
    }
    std::vector<Stretch> one;
    add_repeat(options, repeat, 0, one);
    for (const Stretch& stretch : one) {
      for (std::size_t turn = 0; turn < targets; ++turn) {
        stretches.push_back(stretch);
        stretches.back().target = (turn + static_cast<std::size_t>(repeat)) % targets;
      }
    }
  }
  if (options.shuffle) {
    Random random(seed);
    for (std::size_t i = stretches.size(); i > 1; --i)
      std::swap(stretches[i - 1], stretches[random.below(i)]);
  }
  return stretches;
}

std::filesystem::path csv_of(const Stretch& stretch, const SweepOptions& options,
                             const std::vector<std::string>& targets) {
  std::filesystem::path path;
  if (targets.size() > 1) path /= targets[stretch.target];
  if (options.images.size() > 1 && stretch.image != Stretch::kOwnImage)
    path /= fmt::format("image-{}", stretch.image + 1);
  if (options.repeat > 1) path /= fmt::format("repeat-{}", stretch.repeat + 1);
  return path / fmt::format("concurrency-{}", stretch.concurrency) /
         (options.actions[stretch.action].slug + "_results.csv");
}

std::string name_of(const Stretch& stretch, const SweepOptions& options,
                    const std::vector<std::string>& targets) {
  std::string name = fmt::format("{} {}", targets[stretch.target], options.actions[stretch.action].name);
  if (options.images.size() > 1 && stretch.image != Stretch::kOwnImage)
    name += " " + options.images[stretch.image].name;
  name += fmt::format(" c={}", stretch.concurrency);
  return options.repeat > 1 ? fmt::format("{} repeat {}", name, stretch.repeat + 1) : name;
}

}  // namespace plimsoll::cli
