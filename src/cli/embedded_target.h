// What `bench` measures without a URL: the embedded registry, with an upstream beside it for On-demand Sync.
//
// Both keep everything in memory where the chosen tests fit there; else in temporary files that go with them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "cli/embedded_registry.h"
#include "workload/registry_tests.h"

namespace plimsoll::cli {

// The most that a registry holds at once in these tests: what the largest of them pushes before it cleans up, at
// `requests` operations by `workers`.
std::uint64_t bytes_held(std::span<const workload::RegistryTest* const> tests, std::uint64_t requests,
                         int workers);

class EmbeddedTarget {
 public:
  // `upstream`: where to sync from; empty: one is started where a test needs it. Takes the core count and the memory
  // of the machine into account. Says on stderr where things lie if not in memory.
  static Checked<EmbeddedTarget> start(std::span<const workload::RegistryTest* const> tests,
                                       std::uint64_t requests, int workers, const std::string& upstream);

  const std::string& url() const { return registry_->url(); }
  // Empty where none was started.
  std::string upstream_url() const { return upstream_ ? upstream_->url() : std::string(); }

 private:
  EmbeddedTarget() = default;

  std::unique_ptr<EmbeddedRegistry> upstream_;
  std::unique_ptr<EmbeddedRegistry> registry_;
};

}  // namespace plimsoll::cli
