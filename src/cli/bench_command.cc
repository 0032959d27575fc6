#include "cli/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/random.h"
#include "base/units.h"
#include "cli/bench_options.h"
#include "cli/embedded_target.h"
#include "cli/images_run.h"
#include "cli/interrupt.h"
#include "cli/live_view.h"
#include "cli/metrics_endpoint.h"
#include "cli/outputs.h"
#include "cli/run_common.h"
#include "cli/suite_run.h"
#include "report/closing.h"
#include "report/findings.h"
#include "report/zb_text.h"
#include "workload/image_pull.h"
#include "workload/peers.h"

namespace plimsoll::cli {
namespace {

Checked<void> check_working_dir(const std::string& dir) {
  if (dir.empty()) return {};
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error))
    return Refusal{fmt::format("--working-dir '{}' is no directory", dir)};
  if (access(dir.c_str(), R_OK | W_OK | X_OK) != 0) {
    return Refusal{fmt::format("--working-dir '{}' cannot be read and written", dir)};
  }
  return {};
}

std::string current_directory() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

class BenchCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    declare_bench_options(app, options_);
  }

  Exit run(const std::string& command_line) override {
    if (options_.show_version) {
      fmt::print("plimsoll {}\n", kVersion);
      return Exit::good;
    }
    if (!options_.images.empty()) {
      auto plan = plan_images(options_);
      if (!plan) return refuse(plan.error().message);
      images_ = std::move(*plan);
      return measure({}, command_line);
    }
    const auto selection = select_tests(options_.test_regex, can_sync());
    if (!selection) return refuse(selection.error().message);
    if (options_.list_tests) {
      for (const auto* test : selection->chosen) fmt::print("{}\n", test->name);
      return Exit::good;
    }
    if (!options_.url.empty()) return measure(*selection, command_line);
    // zb prints its usage then; plimsoll measures its own registry.
    if (app_->get_name() == "zb") {
      fmt::print("{}", app_->help());
      return Exit::good;
    }
    return measure_embedded(*selection, command_line);
  }

 private:
  // The embedded registry can have an upstream, which is started where a test that was asked for needs it.
  bool can_sync() const {
    const bool embedded = options_.url.empty() && !options_.test_regex.empty();
    return options_.list_tests || !options_.upstream_url.empty() || embedded;
  }

  // The embedded registry in a process of its own, which leaves the generator a core.
  Exit measure_embedded(const Selection& selection, const std::string& command_line) {
    if (!options_.requests_given && options_.duration == Nanos{}) {
      // Enough for a first look in some ten seconds; images that are synced are large.
      const bool syncs = std::ranges::any_of(
          selection.chosen, [](const auto* test) { return test->kind == workload::RegistryTestKind::sync; });
      options_.requests = syncs ? 2 : 8;
      options_.concurrency = std::max(options_.concurrency, syncs ? 1 : 4);
    }
    auto registry = EmbeddedTarget::start(selection.chosen, options_.requests, options_.concurrency,
                                          options_.upstream_url);
    if (!registry) return refuse(registry.error().message);
    options_.url = registry->url();
    if (options_.upstream_url.empty()) options_.upstream_url = registry->upstream_url();
    const Exit ended = measure(selection, command_line);
    if (!options_.quiet && options_.outputs.empty()) print_verdict();
    return ended;
  }

  // One line: what was the limit, how much went through, what wants more requests.
  void print_verdict() const {
    double most = 0;
    std::string fastest;
    bool client_bound = false;
    bool few = false;
    for (const auto& test : record_.tests) {
      const double moved = static_cast<double>(test.bytes.sent + test.bytes.received);
      const double bandwidth = test.phases_s.measure > 0 ? moved / test.phases_s.measure : 0;
      if (bandwidth > most) fastest = test.name;
      most = std::max(most, bandwidth);
      client_bound = client_bound || test.checks.client_bound;
      few = few || !test.latency_s.unsupported.empty();
    }
    if (record_.tests.empty()) return;
    fmt::print("Verdict: {} was the limit; up to {}/s ({}){}.\nAgain:   {}{}\n",
               client_bound ? "the generator" : "the registry", human_size(most), fastest,
               few ? "; percentiles from p98 on want more requests (-n 1000)" : "", record_.command,
               options_.seed ? "" : fmt::format(" --seed {}", record_.seed));
  }

  int connections_of_worker() const {
    if (!images_) return 1;
    const auto client = workload::client_kind(options_.client).value_or(workload::ClientKind::docker);
    return static_cast<int>(workload::connections_of(client)) + 1;  // and one to the token server
  }

  Checked<void> check() {
    if (!options_.source_cidr.empty() && !options_.source_ips.empty()) {
      return Refusal{"--src-cidr and --src-ips exclude each other: give one of them"};
    }
    if (auto dir = check_working_dir(options_.working_dir); !dir) return dir;
    if (auto enough = reserve_descriptors(options_.concurrency * connections_of_worker()); !enough)
      return enough;
    auto rules = parse_rules(options_.fail_if);
    if (!rules) return rules.error();
    rules_ = std::move(*rules);
    return {};
  }

  Exit measure(const Selection& selection, const std::string& command_line) {
    if (auto good = check(); !good) return refuse(good.error().message);
    auto outputs = OutputFiles::open(options_.outputs, options_.result_file, options_.quiet);
    if (!outputs) return refuse(outputs.error().message);
    // Files that exist before the run must not stay behind, empty, when it never begins.
    const std::uint64_t seed = options_.seed.value_or(system_seed());
    auto registry = probe_registry(options_.url, "registry", options_, seed);
    if (!registry) return outputs->refuse_before_run(registry.error().message);
    if (!options_.upstream_url.empty()) {
      auto probed = probe_registry(options_.upstream_url, "upstream", options_, seed);
      if (!probed) return outputs->refuse_before_run(probed.error().message);
      upstream_ = std::move(*probed);
      // The same names on both sides: what is pushed upstream is pulled from the target.
      upstream_->target->run_id = registry->target->run_id;
    }
    describe_run(*registry, selection, seed, command_line);
    outputs->print(report::zb_header(record_));
    const Exit ended = run_tests(
        *registry, jobs(*registry, upstream_ ? upstream_->target.get() : nullptr, selection, seed), *outputs);
    finish_record(*registry);
    outputs->print(report::closing_lines(record_));
    if (const auto written = outputs->write(record_); !written) return refuse(written.error().message);
    return ended == Exit::good ? verdict(rules_, record_) : ended;
  }

  void describe_run(const ProbedRegistry& registry, const Selection& selection, std::uint64_t seed,
                    const std::string& command_line) {
    record_ = begin_record(command_line, seed);
    record_.skipped = selection.skipped;
    record_.working_dir = options_.working_dir.empty() ? current_directory() : options_.working_dir;
    record_.upstream_url = options_.upstream_url;
    record_.targets.push_back(registry.described);
    record_.load.mode = options_.rate ? "open" : "closed";
    record_.load.concurrency = options_.concurrency;
    record_.load.rate = options_.rate.value_or(0);
    record_.load.requests = options_.duration > Nanos{} && !options_.requests_given ? 0 : options_.requests;
    record_.load.duration_s = seconds(options_.duration);
    record_.load.warmup_s = seconds(options_.warmup);
    record_.load.threads = options_.threads;
  }

  // Runs one test and takes it into the record.
  struct Job {
    std::string name;
    std::function<Checked<stats::TestRecord>(load::StopSignal&, const load::Watch&, std::string& io)> run;
  };

  std::vector<Job> jobs(const ProbedRegistry& registry, const workload::RegistryTarget* upstream,
                        const Selection& selection, std::uint64_t seed) {
    std::vector<Job> all;
    if (images_) {
      all.push_back(
          {std::string(kImagesTest),
           [this, &registry, seed](load::StopSignal& stop, const load::Watch& watch, std::string& io) {
             return run_images_test(*images_, *registry.target, options_, seed, stop, watch, io);
           }});
    }
    for (const auto* test : selection.chosen) {
      all.push_back(
          {std::string(test->name), [this, &registry, upstream, seed, test](
                                        load::StopSignal& stop, const load::Watch& watch, std::string& io) {
             return run_registry_test(*test, *registry.target, upstream, options_, seed, stop, watch, io);
           }});
    }
    return all;
  }

  Exit run_tests(const ProbedRegistry& registry, const std::vector<Job>& jobs, OutputFiles& outputs) {
    load::StopSignal stop;
    const InterruptListener interrupts(stop);
    // Its thread leaves the signals to the listener.
    auto metrics = MetricsEndpoint::start(options_.metrics);
    if (!metrics) return outputs.refuse_before_run(metrics.error().message);
    LiveView live(metrics->get());
    for (const Job& job : jobs) {
      std::string io;
      auto measured = job.run(stop, live.watch(job.name), io);
      live.wipe();
      if (!measured) {
        // What was measured so far is not lost with the test that could not be.
        finish_record(registry);
        static_cast<void>(outputs.write(record_));
        return refuse(measured.error().message);
      }
      record_.environment.io = io;
      measured->target = registry.described.name;
      outputs.print(report::zb_test_block(*measured));
      warn(*measured);
      record_.tests.push_back(std::move(*measured));
      if (stop.requested()) {
        record_.interrupted = true;
        return Exit::interrupted;
      }
    }
    return Exit::good;
  }

  static void warn(const stats::TestRecord& test) {
    const auto left = test.details.find("left_behind");
    if (left == test.details.end()) return;
    fmt::print(stderr,
               "plimsoll: {}: the registry did not delete {} of the images that were pushed; they are "
               "still there\n",
               test.name, left->second);
  }

  void finish_record(const ProbedRegistry& registry) {
    stats::Target& target = record_.targets.front();
    target.addresses = registry.target->tally->addresses(registry.target->options.base);
    record_.peers = peers_of(registry);
    if (upstream_) workload::merge_peers(record_.peers, peers_of(*upstream_, "upstream"));
    record_.findings = report::record_findings(record_);
    evaluate_rules(rules_, record_);
  }

  CLI::App* app_ = nullptr;
  BenchOptions options_;
  std::optional<ImagesPlan> images_;
  std::optional<ProbedRegistry> upstream_;
  std::vector<report::ThresholdRule> rules_;
  stats::Record record_;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() {
  return std::make_unique<BenchCommand>();
}

}  // namespace plimsoll::cli
