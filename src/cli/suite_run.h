// Runs the chosen tests of the registry suite one after the other, and turns each into a test of the record.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "http/transport.h"
#include "load/run.h"
#include "load/samples.h"
#include "load/stop.h"
#include "stats/record.h"
#include "workload/registry_tests.h"

namespace plimsoll::cli {

// A registry that was found to be one.
struct ProbedRegistry {
  std::unique_ptr<workload::RegistryTarget> target;
  stats::Target described;  // for the record
};

// Resolves, connects and asks GET /v2/ once, before anything is written. The refusal is one line that says why this
// is no registry that can be measured.
Checked<ProbedRegistry> probe_registry(const std::string& url, std::string name, const BenchOptions& options,
                                       std::uint64_t seed);

// Who was talked to for its sake. `part`: what the registry itself is called, where it is not the one measured.
std::vector<stats::Peer> peers_of(const ProbedRegistry& registry, std::string_view part = "registry");

// The tests that `-t` finds and that can run, and the names of the others.
struct Selection {
  std::vector<const workload::RegistryTest*> chosen;
  std::vector<std::string> skipped;
};
Checked<Selection> select_tests(const std::string& regex, bool with_sync);

// How much load a test gets.
load::Plan plan_of(const BenchOptions& options, std::uint64_t seed);

// One test. `watch` may be null; raw times are kept where `samples` is given.
Checked<stats::TestRecord> run_registry_test(const workload::RegistryTest& test,
                                             const workload::RegistryTarget& target,
                                             const workload::RegistryTarget* upstream,
                                             const BenchOptions& options, std::uint64_t seed,
                                             load::StopSignal& stop, const load::Watch& watch,
                                             std::string& io,
                                             std::vector<load::SampleFile>* samples = nullptr);

}  // namespace plimsoll::cli
