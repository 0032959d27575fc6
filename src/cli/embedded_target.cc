#include "cli/embedded_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"
#include "server/memory_contents.h"

namespace plimsoll::cli {
namespace {

using Kind = workload::RegistryTestKind;

bool syncs(const workload::RegistryTest* test) {
  return test->kind == Kind::sync;
}

// The mean size of what a test draws.
double mean_size(const workload::RegistryTest& test) {
  double bytes = 0;
  int shares = 0;
  for (std::size_t i = 0; i < test.sizes.size(); ++i) {
    bytes += test.sizes[i] * static_cast<double>(workload::kSizeClasses[i].bytes);
    shares += test.sizes[i];
  }
  return shares == 0 ? 0 : bytes / shares;
}

double largest_size(const workload::RegistryTest& test) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < test.sizes.size(); ++i) {
    if (test.sizes[i] > 0) largest = workload::kSizeClasses[i].bytes;
  }
  return static_cast<double>(largest);
}

Checked<std::unique_ptr<EmbeddedRegistry>> start_registry(const std::vector<std::string>& options) {
  auto started = EmbeddedRegistry::start(options);
  if (!started) return started.error();
  return std::make_unique<EmbeddedRegistry>(std::move(*started));
}

}  // namespace

std::uint64_t bytes_held(std::span<const workload::RegistryTest* const> tests, std::uint64_t requests,
                         int workers) {
  double most = 0;
  for (const auto* test : tests) {
    // Pulls need an image of each size a worker; pushes keep what they pushed until the clean-up.
    const double pulled = workers * largest_size(*test);
    const double pushed = static_cast<double>(requests) * mean_size(*test) + largest_size(*test);
    most = std::max(most, test->kind == Kind::pull    ? pulled
                          : test->kind == Kind::mixed ? pulled + pushed
                                                      : pushed);
  }
  return static_cast<std::uint64_t>(most);
}

Checked<EmbeddedTarget> EmbeddedTarget::start(std::span<const workload::RegistryTest* const> tests,
                                              std::uint64_t requests, int workers,
                                              const std::string& upstream) {
  const bool pair = upstream.empty() && std::ranges::any_of(tests, syncs);
  const std::uint64_t limit = server::default_memory_limit() / (pair ? 2 : 1);
  // Uploads under way count too.
  const std::uint64_t needed = bytes_held(tests, requests, workers) / 10 * 11;
  std::vector<std::string> options{"--memory", fmt::format("{}", limit)};
  if (needed > limit) {
    std::error_code ignored;
    fmt::print(
        stderr, "plimsoll: {} do not fit into memory: the embedded registry keeps them in files below {}\n",
        human_size(static_cast<double>(needed)), std::filesystem::temp_directory_path(ignored).string());
    options = {"--temporary"};
  }
  EmbeddedTarget target;
  std::string source = upstream;
  if (pair) {
    auto started = start_registry(options);
    if (!started) return started.error();
    target.upstream_ = std::move(*started);
    source = target.upstream_->url();
  }
  // The generator keeps a core.
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  options.insert(options.end(), {"--threads", fmt::format("{}", cores > 2 ? cores - 1 : 1)});
  if (!source.empty()) options.insert(options.end(), {"--sync-from", source});
  auto registry = start_registry(options);
  if (!registry) return registry.error();
  target.registry_ = std::move(*registry);
  return target;
}

}  // namespace plimsoll::cli
