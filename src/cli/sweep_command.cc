#include "cli/sweep_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/live_view.h"
#include "cli/metrics_endpoint.h"
#include "cli/run_common.h"
#include "cli/suite_run.h"
#include "cli/sweep_folder.h"
#include "cli/sweep_options.h"
#include "cli/sweep_plan.h"
#include "load/run.h"
#include "stats/record_json.h"
#include "workload/campaign.h"
#include "workload/peers.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

double whole_time(const stats::TestRecord& test) {
  const stats::Phases& p = test.phases_s;
  return p.prepare + p.setup + p.warmup + p.measure + p.drain + p.cleanup;
}

// What a stretch gave, before it is named.
struct Outcome {
  stats::TestRecord test;
  std::vector<load::SampleFile> samples;
  bool interrupted = false;
};

class SweepCommand final : public Command {
 public:
  void declare(CLI::App& app) override { declare_sweep_options(app, options_); }
  Exit run(const std::string& command_line) override;

 private:
  Checked<void> describe();
  Checked<void> probe();
  Checked<void> go_on_from(stats::Record earlier);
  Exit run_stretches();
  Checked<Outcome> run_images(const Stretch& stretch, load::StopSignal& stop, const load::Watch& watch);
  Checked<Outcome> run_suite_test(const Stretch& stretch, load::StopSignal& stop, const load::Watch& watch);
  Checked<void> keep(const Stretch& stretch, Outcome outcome, const std::string& where);
  std::map<std::string, std::string> settings(bool own_image) const;
  Checked<void> check_earlier(const stats::TestRecord& test) const;
  const stats::TestRecord* measured(const Stretch& stretch) const;
  std::optional<double> expected_seconds(const Stretch& stretch) const;
  std::optional<double> seconds_after(std::size_t index) const;
  void collect_peers();

  SweepOptions options_;
  std::vector<ProbedRegistry> targets_;
  std::vector<std::string> names_;  // of the targets
  std::optional<ProbedRegistry> upstream_;
  std::vector<Stretch> stretches_;
  std::uint64_t seed_ = 0;
  std::vector<stats::Peer> earlier_peers_;  // of the part that was interrupted
  stats::Record record_;
};

// The machines that others described, and the files that are kept with the results.
Checked<void> SweepCommand::describe() {
  const auto text_of = [](const std::string& path) -> std::optional<std::string> {
    std::error_code error;
    std::ifstream file(path, std::ios::binary);
    if (!file || fs::is_directory(path, error)) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const std::string& path : options_.describe) {
    const auto text = text_of(path);
    if (!text) return Refusal{fmt::format("--describe '{}' cannot be read", path)};
    auto machine = stats::environment_from_json(*text);
    if (!machine) return Refusal{fmt::format("--describe {}: {}", path, machine.error().message)};
    if (machine->role.empty() || machine->role == "generator") machine->role = "server";
    record_.machines.push_back(std::move(*machine));
  }
  for (const std::string& path : options_.attach) {
    auto text = text_of(path);
    if (!text) return Refusal{fmt::format("--attach '{}' cannot be read", path)};
    std::string name = fs::path(path).filename().string();
    if (record_.attachments.contains(name)) name = path;
    record_.attachments[name] = std::move(*text);
  }
  return {};
}

Checked<void> SweepCommand::probe() {
  std::vector<std::pair<std::string, std::string>> named;
  if (!options_.bench.url.empty()) named.emplace_back("registry", options_.bench.url);
  for (const std::string& given : options_.targets_given) {
    const auto equals = given.find('=');
    const std::string name = given.substr(0, equals);
    const bool good = equals != std::string::npos && !name.empty() && !name.starts_with('.') &&
                      name.find_first_of("/\\,") == std::string::npos && !name.starts_with("concurrency-") &&
                      !name.starts_with("repeat-") && !name.starts_with("image-") && name != "plots";
    if (!good) return Refusal{fmt::format("--target '{}': expected NAME=URL", masked_url(given))};
    if (std::ranges::find(named, name, &std::pair<std::string, std::string>::first) != named.end())
      return Refusal{fmt::format("--target names '{}' twice", name)};
    named.emplace_back(name, given.substr(equals + 1));
  }
  for (const auto& [name, url] : named) {
    auto probed = probe_registry(url, name, options_.bench, seed_);
    if (!probed) return probed.error();
    record_.targets.push_back(probed->described);
    names_.push_back(name);
    targets_.push_back(std::move(*probed));
  }
  if (!options_.bench.upstream_url.empty()) {
    auto probed = probe_registry(options_.bench.upstream_url, "upstream", options_.bench, seed_);
    if (!probed) return probed.error();
    record_.upstream_url = options_.bench.upstream_url;
    upstream_ = std::move(*probed);
  }
  return {};
}

// What makes figures comparable: a campaign that goes on with other settings is another campaign.
std::map<std::string, std::string> SweepCommand::settings(bool own_image) const {
  std::map<std::string, std::string> out = {{"iterations", fmt::format("{}", options_.iterations)}};
  if (own_image) return out;
  out["client"] = options_.client;
  out["spread"] = options_.spread;
  out["reuse"] = fmt::format("{}", options_.reuse);
  out["pulls"] = options_.cold ? "cold" : "warm";
  return out;
}

Checked<void> SweepCommand::check_earlier(const stats::TestRecord& test) const {
  const auto refusal = [&](std::string_view what, std::string_view held, std::string_view asked) {
    return Refusal{
        fmt::format("--out '{}' holds a campaign with {} {}, not {}: finish it with the same options, "
                    "or name another folder",
                    options_.out, what, held, asked)};
  };
  if ((test.repeat > 0) != (options_.repeat > 1))
    return refusal("--repeat", test.repeat > 0 ? "above 1" : "1", fmt::format("{}", options_.repeat));
  const auto held = [&](const std::string& name) {
    const auto found = test.details.find(name);
    return found == test.details.end() ? std::string("unknown") : found->second;
  };
  const bool own_image = !test.details.contains("image");
  for (const auto& [name, value] : settings(own_image)) {
    if (held(name) != value) return refusal(name, held(name), value);
  }
  if (own_image) return {};
  for (const Stretch& stretch : stretches_) {
    if (stretch.image == Stretch::kOwnImage || csv_of(stretch, options_, names_) != test.samples_file)
      continue;
    const std::string& asked = options_.images[stretch.image].name;
    if (held("image") != asked) return refusal("image", held("image"), asked);
  }
  return {};
}

// Takes over what an earlier part measured, where the raw times are there too.
Checked<void> SweepCommand::go_on_from(stats::Record earlier) {
  const SweepFolder folder(options_.out);
  for (stats::TestRecord& test : earlier.tests) {
    if (!folder.holds(test.samples_file)) continue;
    if (auto same = check_earlier(test); !same) return same;
    record_.tests.push_back(std::move(test));
  }
  earlier_peers_ = std::move(earlier.peers);
  for (auto& [name, text] : earlier.attachments) record_.attachments.emplace(name, std::move(text));
  return {};
}

const stats::TestRecord* SweepCommand::measured(const Stretch& stretch) const {
  const std::string file = csv_of(stretch, options_, names_).string();
  const auto found = std::ranges::find(record_.tests, file, &stats::TestRecord::samples_file);
  return found == record_.tests.end() ? nullptr : &*found;
}

// As long as the nearest level of the same action took, on whatever target.
std::optional<double> SweepCommand::expected_seconds(const Stretch& stretch) const {
  std::optional<double> best;
  double nearest = 0;
  for (const Stretch& other : stretches_) {
    if (other.action != stretch.action || other.image != stretch.image) continue;
    const stats::TestRecord* test = measured(other);
    if (test == nullptr) continue;
    const double distance = std::fabs(std::log(static_cast<double>(other.concurrency) / stretch.concurrency));
    if (best && distance >= nearest) continue;
    best = whole_time(*test);
    nearest = distance;
  }
  return best;
}

// Of the stretches that come after this one; nullopt as long as nothing tells.
std::optional<double> SweepCommand::seconds_after(std::size_t index) const {
  double sum = 0;
  for (std::size_t i = index + 1; i < stretches_.size(); ++i) {
    if (measured(stretches_[i]) != nullptr) continue;
    const auto expected = expected_seconds(stretches_[i]);
    if (!expected) return std::nullopt;
    sum += *expected;
  }
  return sum;
}

Checked<Outcome> SweepCommand::run_images(const Stretch& stretch, load::StopSignal& stop,
                                          const load::Watch& watch) {
  const workload::RegistryTarget& target = *targets_[stretch.target].target;
  const Instant start = now();
  auto contents = workload::Contents::of_images({options_.images[stretch.image].layers}, target.nonce);
  if (!contents) return contents.error();
  const double prepare = seconds(now() - start);
  load::Plan plan;
  plan.concurrency = stretch.concurrency;
  plan.requests = options_.iterations;
  plan.group = options_.bench.connection.streams;
  plan.threads = std::min(options_.bench.threads, (stretch.concurrency + plan.group - 1) / plan.group);
  plan.seed = seed_;
  plan.io = options_.bench.connection.io;
  plan.keep_samples = true;
  plan.drain_limit = std::max<Nanos>(std::chrono::seconds(10), options_.bench.timeout);
  const workload::CampaignOptions options{
      .client = workload::client_kind(options_.client).value_or(workload::ClientKind::docker),
      .many_repositories = options_.spread == "many",
      .reuse = options_.reuse,
      .cold = options_.cold,
      .workers = stretch.concurrency,
      .threads = plan.threads,
      .iterations = options_.iterations};
  *target.left_behind = 0;
  target.layers->reset();
  const std::string& action = options_.actions[stretch.action].name;
  const auto workload = action == "push" ? make_campaign_push(target, *contents, options)
                                         : make_campaign_pull(target, *contents, options);
  auto measured = load::run(plan, *workload, stop, watch);
  if (!measured) return measured.error();
  record_.environment.io = measured->io;
  if (!measured->setup_failure.empty() && !measured->interrupted) return Refusal{measured->setup_failure};
  stats::TestRecord& test = measured->test;
  test.name =
      options_.images.size() > 1 ? fmt::format("{} {}", action, options_.images[stretch.image].name) : action;
  test.action = action;
  test.phases_s.prepare = prepare;
  if (action == "push") test.upload = "put";
  if (const auto left = target.left_behind->load(); left > 0)
    test.details["left_behind"] = fmt::format("{}", left);
  if (const auto offered = target.layers->offered.load(); offered > 0) {
    test.details["layers_reused"] = fmt::format("{}", offered);
    test.details["layers_found"] = fmt::format("{}", target.layers->found.load());
  }
  return Outcome{std::move(measured->test), std::move(measured->samples), measured->interrupted};
}

Checked<Outcome> SweepCommand::run_suite_test(const Stretch& stretch, load::StopSignal& stop,
                                              const load::Watch& watch) {
  BenchOptions bench = options_.bench;
  bench.concurrency = stretch.concurrency;
  bench.requests = options_.iterations;
  const workload::RegistryTarget& target = *targets_[stretch.target].target;
  std::optional<workload::RegistryTarget> upstream;
  if (upstream_) {
    upstream = *upstream_->target;
    upstream->run_id = target.run_id;  // what is pushed there is pulled from the target under the same names
  }
  Outcome outcome;
  std::string io;
  auto test =
      run_registry_test(*options_.actions[stretch.action].test, target, upstream ? &*upstream : nullptr,
                        bench, seed_, stop, watch, io, &outcome.samples);
  if (!test) return test.error();
  record_.environment.io = io;
  outcome.test = std::move(*test);
  outcome.interrupted = stop.requested();
  return outcome;
}

Checked<void> SweepCommand::keep(const Stretch& stretch, Outcome outcome, const std::string& where) {
  const fs::path csv = csv_of(stretch, options_, names_);
  const SweepFolder folder(options_.out);
  if (auto written = folder.write_samples(csv, outcome.samples); !written) return written;
  stats::TestRecord& test = outcome.test;
  test.target = names_[stretch.target];
  test.concurrency = stretch.concurrency;
  test.repeat = options_.repeat > 1 ? stretch.repeat + 1 : 0;
  test.samples_file = csv.string();
  const bool own_image = stretch.image == Stretch::kOwnImage;
  for (const auto& [name, value] : settings(own_image)) test.details[name] = value;
  if (!own_image) {
    test.details["image"] = options_.images[stretch.image].name;
    test.details["data_size"] = fmt::format("{}", options_.images[stretch.image].bytes());
  }
  fmt::print("{:<34} rate {:>9.3f}/s  mean {:>10}  p90 {:>10}  max {:>10}  failed {}\n", where,
             test.rate_per_s, human_duration(test.latency_s.mean), human_duration(test.latency_s.p90),
             human_duration(test.latency_s.max), test.operations.failed);
  std::fflush(stdout);
  record_.tests.push_back(std::move(test));
  collect_peers();
  return folder.write_record(record_);
}

void SweepCommand::collect_peers() {
  record_.peers = earlier_peers_;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const workload::RegistryTarget& target = *targets_[i].target;
    record_.targets[i].addresses = target.tally->addresses(target.options.base);
    workload::merge_peers(record_.peers, peers_of(targets_[i]));
  }
  if (upstream_) workload::merge_peers(record_.peers, peers_of(*upstream_, "upstream"));
}

Exit SweepCommand::run_stretches() {
  load::StopSignal stop;
  const InterruptListener interrupts(stop);
  // Its thread leaves the signals to the listener.
  auto metrics = MetricsEndpoint::start(options_.bench.metrics);
  if (!metrics) return refuse(metrics.error().message);
  LiveView live(metrics->get());
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    const Stretch& stretch = stretches_[i];
    if (measured(stretch) != nullptr) continue;
    const std::string where =
        fmt::format("[{}/{}] {}", i + 1, stretches_.size(), name_of(stretch, options_, names_));
    const load::Watch watch = live.watch(where, seconds_after(i));
    auto outcome = options_.actions[stretch.action].test != nullptr ? run_suite_test(stretch, stop, watch)
                                                                    : run_images(stretch, stop, watch);
    live.wipe();
    if (!outcome) return refuse(fmt::format("{}: {}", where, outcome.error().message));
    if (outcome->interrupted || stop.requested()) {
      record_.interrupted = true;
      break;
    }
    if (auto kept = keep(stretch, std::move(*outcome), where); !kept) return refuse(kept.error().message);
  }
  if (record_.tests.empty()) return record_.interrupted ? Exit::interrupted : Exit::good;
  auto text = SweepFolder(options_.out).finish(record_);
  if (!text) return refuse(text.error().message);
  fmt::print("\n{}", *text);
  if (!record_.interrupted) return verdict({}, record_);
  fmt::print(stderr, "plimsoll: interrupted; the same command goes on from here\n");
  return Exit::interrupted;
}

Exit SweepCommand::run(const std::string& command_line) {
  if (auto good = options_.check(); !good) return refuse(good.error().message);
  // A docker client has up to five connections.
  if (auto enough = reserve_descriptors(std::ranges::max(options_.levels) * 5); !enough)
    return refuse(enough.error().message);
  const SweepFolder folder(options_.out);
  auto earlier = folder.earlier();
  if (!earlier) return refuse(earlier.error().message);
  // The order that a seed shuffled goes on as it began.
  const bool resumes = !earlier->tests.empty();
  seed_ = options_.bench.seed.value_or(resumes ? earlier->seed : system_seed());
  record_ = begin_record(command_line, seed_);
  if (resumes) record_.started = earlier->started;
  record_.load.requests = options_.iterations;
  record_.load.concurrency = std::ranges::max(options_.levels);
  record_.load.threads = options_.bench.threads;
  if (auto described = describe(); !described) return refuse(described.error().message);
  if (auto probed = probe(); !probed) return refuse(probed.error().message);
  stretches_ = plan_stretches(options_, targets_.size(), seed_);
  if (auto taken = go_on_from(std::move(*earlier)); !taken) return refuse(taken.error().message);
  if (auto created = folder.create(); !created) return refuse(created.error().message);
  return run_stretches();
}

}  // namespace

std::unique_ptr<Command> make_sweep_command() {
  return std::make_unique<SweepCommand>();
}

}  // namespace plimsoll::cli
