// The registry suite: zb's eighteen tests by name and order, and the workloads behind them.
//
// A new test is a row of the table, or a row and a session beside those in registry_tests.cc.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "load/workload.h"
#include "workload/registry_target.h"

namespace plimsoll::workload {

enum class RegistryTestKind : std::uint8_t { catalog, push, pull, mixed, sync };

struct RegistryTest {
  std::string_view name;
  RegistryTestKind kind;
  UploadKind upload;  // of tests that push
  // Shares of the size classes (kSizeClasses) in per cent; they need not add up to 100 (33, 33, 33).
  std::array<int, 4> sizes;

  bool mixes_sizes() const;
  bool pushes() const { return kind == RegistryTestKind::push || kind == RegistryTestKind::mixed; }
  std::string_view action() const;  // "catalog", "push", "pull", "mixed", "sync"
  unsigned size_classes() const;    // bit i: kSizeClasses[i] is needed
};

std::span<const RegistryTest> registry_tests();

struct RegistryTestPlan {
  int workers = 1;
  int threads = 1;
  std::uint64_t requests = 1;
  // Where a sync test pushes; its own target syncs from there.
  const RegistryTarget* upstream = nullptr;
};

// The target and the contents outlive the workload.
std::unique_ptr<load::Workload> make_workload(const RegistryTest& test, const RegistryTarget& target,
                                              const Contents& contents, const RegistryTestPlan& plan);

}  // namespace plimsoll::workload
