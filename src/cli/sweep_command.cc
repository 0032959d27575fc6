#include "cli/sweep_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/bench_options.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/result_input.h"
#include "cli/run_common.h"
#include "cli/suite_run.h"
#include "load/run.h"
#include "report/campaign_table.h"
#include "report/closing.h"
#include "report/csv.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/plots.h"
#include "stats/record_json.h"
#include "workload/campaign.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

// One stretch of the campaign: a target, an action, a level, a repeat.
struct Stretch {
  std::size_t target;
  std::string action;
  int concurrency;
  int repeat;
  std::size_t image;
};

class SweepCommand final : public Command {
 public:
  void declare(CLI::App& app) override;
  Exit run(const std::string& command_line) override;

 private:
  Checked<void> parse();
  Checked<void> probe();
  std::vector<Stretch> plan() const;
  fs::path folder_of(const Stretch& stretch) const;
  fs::path csv_of(const Stretch& stretch) const;
  Checked<void> measure(const Stretch& stretch, load::StopSignal& stop, ProgressLine& progress,
                        std::string_view where);
  Checked<void> write_samples(const Stretch& stretch, std::vector<load::SampleFile>& samples) const;
  Checked<void> load_earlier();
  Checked<void> save() const;
  Checked<void> finish();

  BenchOptions bench_;  // connections, credentials, timeouts: as for bench
  std::vector<std::string> targets_given_;
  std::string actions_ = "push,pull";
  std::string levels_ = "1,10,30,50,100";
  std::uint64_t iterations_ = 1000;
  int repeat_ = 1;
  std::vector<std::string> images_given_;
  std::string client_ = "docker";
  std::string spread_ = "many";
  double reuse_ = 0;
  bool cold_ = false;
  bool shuffle_ = false;
  bool interleave_ = false;
  std::string out_;
  std::vector<std::string> describe_;
  std::vector<std::string> attach_;

  std::vector<std::string> action_list_;
  std::vector<int> level_list_;
  std::vector<std::vector<std::uint64_t>> images_;
  std::vector<std::string> image_names_;
  std::vector<ProbedRegistry> targets_;
  std::uint64_t seed_ = 0;
  stats::Record record_;
};

void SweepCommand::declare(CLI::App& app) {
  app.add_option("URL", bench_.url, "The registry; or give --target once or more");
  app.add_option("--target", targets_given_, "A registry and its name in the results; repeatable")
      ->type_name("NAME=URL")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--actions", actions_, "push, pull, in this order (default push,pull)")->type_name("LIST");
  app.add_option("--concurrency", levels_, "Levels (default 1,10,30,50,100)")->type_name("LIST");
  add_count(app, "--iterations", iterations_, 1, "Operations at each level (default 1000)");
  add_count(app, "--repeat", repeat_, 1, "Repeat the whole campaign this often (default 1)");
  app.add_option("--image", images_given_, "Layers by size, such as 18.1MB,1.9kB; repeatable (default 10MB)")
      ->type_name("SIZES")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--client", client_, "Moves layers as docker (5 up, 3 down), containerd or serial do")
      ->type_name("KIND")
      ->check(one_of({"docker", "containerd", "serial"}));
  app.add_option("--spread", spread_, "Push to one-repository (a worker) or to many (default many)")
      ->type_name("KIND")
      ->check(one_of({"one-repository", "many"}));
  app.add_option("--reuse", reuse_, "Share of an image's layers that the registry has already (default 0)")
      ->type_name("0..1")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--cold", cold_, "Each pull takes an image that was not pulled before");
  app.add_flag("--shuffle", shuffle_, "Run the stretches in an order drawn from the seed");
  app.add_flag("--interleave", interleave_, "Alternate the targets, so that drift hits all of them");
  app.add_option("--out", out_, "Folder for the results; an interrupted campaign goes on from it")
      ->type_name("DIR")
      ->required();
  app.add_option("--describe", describe_, "What plimsoll doctor -o json printed on a server; repeatable")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--attach", attach_,
                 "Keep this file (a switch's or server's configuration) with the results")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("-A,--auth-creds", bench_.auth, "User and password, split at the first colon")
      ->type_name("USER:PASSWORD");
  app.add_option("--repo", bench_.repository, "Push below this repository")->type_name("NAME");
  add_duration(app, "--timeout", bench_.timeout, "Longest time without progress (default 60s)");
  add_count(app, "--threads", bench_.threads, 1, "Engine threads (default 1)");
  app.add_option("--seed", bench_.seed, "Seed of everything random; printed when not given")->type_name("N");
  add_connection_options(app, bench_.connection);
}

Checked<void> SweepCommand::parse() {
  for (const std::string_view action : split(actions_, ',')) {
    if (action != "push" && action != "pull") {
      return Refusal{fmt::format("--actions '{}': expected push, pull or both, comma-separated", action)};
    }
    action_list_.emplace_back(action);
  }
  for (const std::string_view text : split(levels_, ',')) {
    const auto level = parse_u64(trim(text));
    if (!level || *level == 0 || *level > 100'000) {
      return Refusal{fmt::format("--concurrency '{}': expected whole numbers from 1, such as 1,10,30", text)};
    }
    level_list_.push_back(static_cast<int>(*level));
  }
  if (images_given_.empty()) images_given_.emplace_back("10MB");
  for (const std::string& image : images_given_) {
    std::vector<std::uint64_t> layers;
    for (const std::string_view text : split(image, ',')) {
      auto size = parse_size(trim(text));
      if (!size) return Refusal{fmt::format("--image: {}", size.error().message)};
      // A layer is a tar archive: nothing smaller than its frame can be made.
      layers.push_back(std::max<std::uint64_t>(*size, oci::LayerShape::kSmallest));
    }
    images_.push_back(std::move(layers));
    image_names_.push_back(image);
  }
  if (targets_given_.empty() && bench_.url.empty()) return Refusal{"sweep: give a URL, or --target NAME=URL"};
  return reserve_descriptors(*std::ranges::max_element(level_list_) * 5);
}

Checked<void> SweepCommand::probe() {
  std::vector<std::pair<std::string, std::string>> named;
  if (!bench_.url.empty()) named.emplace_back("registry", bench_.url);
  for (const std::string& given : targets_given_) {
    const auto equals = given.find('=');
    const std::string name = given.substr(0, equals);
    if (equals == std::string::npos || name.empty() || name.find_first_of("/\\,") != std::string::npos) {
      return Refusal{fmt::format("--target '{}': expected NAME=URL", masked_url(given))};
    }
    named.emplace_back(name, given.substr(equals + 1));
  }
  for (const auto& [name, url] : named) {
    auto probed = probe_registry(url, name, bench_, seed_);
    if (!probed) return probed.error();
    record_.targets.push_back(probed->described);
    targets_.push_back(std::move(*probed));
  }
  return {};
}

std::vector<Stretch> SweepCommand::plan() const {
  std::vector<Stretch> stretches;
  const auto add = [&](int repeat, std::size_t target) {
    for (std::size_t image = 0; image < images_.size(); ++image) {
      for (const int level : level_list_) {
        for (const std::string& action : action_list_)
          stretches.push_back({target, action, level, repeat, image});
      }
    }
  };
  for (int repeat = 0; repeat < repeat_; ++repeat) {
    for (std::size_t target = 0; target < targets_.size(); ++target) add(repeat, target);
  }
  if (interleave_) {
    // The targets follow each other within every level, in turn the first.
    std::ranges::sort(stretches, [&](const Stretch& a, const Stretch& b) {
      const auto key = [&](const Stretch& s) {
        const std::size_t turn = (s.target + static_cast<std::size_t>(s.repeat)) % targets_.size();
        const auto level = std::ranges::find(level_list_, s.concurrency) - level_list_.begin();
        return std::tuple(s.repeat, s.image, level, s.action == action_list_.front() ? 0 : 1, turn);
      };
      return key(a) < key(b);
    });
  }
  if (shuffle_) {
    Random random(seed_);
    for (std::size_t i = stretches.size(); i > 1; --i)
      std::swap(stretches[i - 1], stretches[random.below(i)]);
  }
  return stretches;
}

// DIR/[TARGET/][image-I/][repeat-R/]concurrency-N: the document's names where there is one of each.
fs::path SweepCommand::folder_of(const Stretch& stretch) const {
  fs::path folder = out_;
  if (targets_.size() > 1) folder /= record_.targets[stretch.target].name;
  if (images_.size() > 1) folder /= fmt::format("image-{}", stretch.image + 1);
  if (repeat_ > 1) folder /= fmt::format("repeat-{}", stretch.repeat + 1);
  return folder / fmt::format("concurrency-{}", stretch.concurrency);
}

fs::path SweepCommand::csv_of(const Stretch& stretch) const {
  return folder_of(stretch) / (stretch.action + "_results.csv");
}

Checked<void> SweepCommand::write_samples(const Stretch& stretch,
                                          std::vector<load::SampleFile>& samples) const {
  const fs::path path = csv_of(stretch);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  // A stretch is done when its file is there: it comes into being whole.
  const fs::path unfinished = path.string() + ".part";
  std::ofstream file(unfinished);
  file << "iteration,spent_time\n";
  for (const load::SampleRow& row : by_sequence(samples)) {
    if (row.error < 0) file << fmt::format("{},{:.9f}\n", row.sequence, seconds(row.done - row.due));
  }
  file.close();
  if (!file) return Refusal{fmt::format("cannot write '{}'", unfinished.string())};
  fs::rename(unfinished, path, error);
  if (error) return Refusal{fmt::format("cannot write '{}': {}", path.string(), error.message())};
  return {};
}

Checked<void> SweepCommand::measure(const Stretch& stretch, load::StopSignal& stop, ProgressLine& progress,
                                    std::string_view where) {
  const workload::RegistryTarget& target = *targets_[stretch.target].target;
  const Instant start = now();
  auto contents = workload::Contents::of_images({images_[stretch.image]}, target.nonce);
  if (!contents) return contents.error();
  const double prepare = seconds(now() - start);
  load::Plan plan;
  plan.concurrency = stretch.concurrency;
  plan.requests = iterations_;
  plan.threads = std::min(bench_.threads, stretch.concurrency);
  plan.seed = seed_;
  plan.io = bench_.connection.io;
  plan.keep_samples = true;
  plan.drain_limit = std::max<Nanos>(std::chrono::seconds(10), bench_.timeout);
  const workload::CampaignOptions options{
      .client = workload::client_kind(client_).value_or(workload::ClientKind::docker),
      .many_repositories = spread_ == "many",
      .reuse = reuse_,
      .cold = cold_,
      .workers = stretch.concurrency,
      .threads = plan.threads,
      .iterations = iterations_};
  *target.left_behind = 0;
  const auto workload = stretch.action == "push" ? make_campaign_push(target, *contents, options)
                                                 : make_campaign_pull(target, *contents, options);
  auto measured = load::run(plan, *workload, stop, progress.watch(std::string(where)));
  progress.wipe();
  if (!measured) return measured.error();
  record_.environment.io = measured->io;
  if (measured->interrupted) return {};
  if (!measured->setup_failure.empty()) return Refusal{fmt::format("{}: {}", where, measured->setup_failure)};
  if (auto written = write_samples(stretch, measured->samples); !written) return written;
  stats::TestRecord test = std::move(measured->test);
  test.name =
      images_.size() > 1 ? fmt::format("{} {}", stretch.action, image_names_[stretch.image]) : stretch.action;
  test.target = record_.targets[stretch.target].name;
  test.action = stretch.action;
  test.repeat = repeat_ > 1 ? stretch.repeat + 1 : 0;
  test.phases_s.prepare = prepare;
  test.samples_file = fs::relative(csv_of(stretch), out_).string();
  if (stretch.action == "push") test.upload = "put";
  test.details["image"] = image_names_[stretch.image];
  test.details["client"] = client_;
  if (const auto left = target.left_behind->load(); left > 0)
    test.details["left_behind"] = fmt::format("{}", left);
  fmt::print("{:<34} rate {:>9.3f}/s  mean {:>10}  p90 {:>10}  max {:>10}  failed {}\n", where,
             test.rate_per_s, human_duration(test.latency_s.mean), human_duration(test.latency_s.p90),
             human_duration(test.latency_s.max), test.operations.failed);
  std::fflush(stdout);
  record_.tests.push_back(std::move(test));
  return save();
}

// An interrupted campaign left its record; what it measured is kept.
Checked<void> SweepCommand::load_earlier() {
  std::error_code error;
  const fs::path path = fs::path(out_) / "result.json";
  if (!fs::exists(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  auto earlier = stats::from_json(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!earlier) return Refusal{fmt::format("{}: {}", path.string(), earlier.error().message)};
  record_.tests = std::move(earlier->tests);
  return {};
}

Checked<void> SweepCommand::save() const {
  const fs::path path = fs::path(out_) / "result.json";
  const fs::path unfinished = path.string() + ".part";
  std::ofstream file(unfinished, std::ios::binary);
  file << stats::to_json(record_);
  file.close();
  std::error_code error;
  if (file) fs::rename(unfinished, path, error);
  if (!file || error) return Refusal{fmt::format("cannot write '{}'", path.string())};
  return {};
}

Checked<void> write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return Refusal{fmt::format("cannot write '{}'", path.string())};
  return {};
}

Checked<void> SweepCommand::finish() {
  const fs::path out = out_;
  auto campaign = report::read_campaign(out);
  if (!campaign) return campaign.error();
  record_.findings = report::campaign_findings(*campaign, record_);
  for (auto& finding : report::record_findings(record_)) record_.findings.push_back(std::move(finding));
  if (auto saved = save(); !saved) return saved;
  if (auto written = write_file(out / "summary.csv", report::csv(record_)); !written) return written;
  const std::string summary = report::campaign_markdown(*campaign) + "\n" + report::markdown(record_);
  if (auto written = write_file(out / "summary.md", summary); !written) return written;
  if (auto page = report::html({{out.filename().string(), record_, &*campaign}}); page) {
    if (auto written = write_file(out / "report.html", *page); !written) return written;
  } else {
    fmt::print(stderr, "plimsoll: {}\n", page.error().message);
  }
  if (auto drawn = report::draw_plots(report::campaign_plots(*campaign, record_), out / "plots"); !drawn) {
    fmt::print(stderr, "plimsoll: {}\n", drawn.error().message);
  }
  fmt::print("\n{}{}", report::campaign_text(*campaign), report::closing_lines(record_));
  return {};
}

Exit SweepCommand::run(const std::string& command_line) {
  if (auto good = parse(); !good) return refuse(good.error().message);
  seed_ = bench_.seed.value_or(system_seed());
  record_ = begin_record(command_line, seed_);
  record_.load.requests = iterations_;
  record_.load.concurrency = *std::ranges::max_element(level_list_);
  record_.load.threads = bench_.threads;
  for (const std::string& path : describe_) {
    std::ifstream file(path, std::ios::binary);
    auto machine = stats::environment_from_json(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!machine) return refuse(fmt::format("--describe {}: {}", path, machine.error().message));
    record_.machines.push_back(std::move(*machine));
  }
  for (const std::string& path : attach_) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return refuse(fmt::format("--attach '{}' cannot be read", path));
    record_.attachments[fs::path(path).filename().string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  if (auto probed = probe(); !probed) return refuse(probed.error().message);
  std::error_code error;
  fs::create_directories(out_, error);
  if (error) return refuse(fmt::format("--out '{}': {}", out_, error.message()));
  if (auto earlier = load_earlier(); !earlier) return refuse(earlier.error().message);

  load::StopSignal stop;
  const InterruptListener interrupts(stop);
  ProgressLine progress;
  const std::vector<Stretch> stretches = plan();
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& stretch = stretches[i];
    if (fs::exists(csv_of(stretch), error)) continue;
    const std::string where =
        fmt::format("[{}/{}] {} {} c={}", i + 1, stretches.size(), record_.targets[stretch.target].name,
                    stretch.action, stretch.concurrency);
    if (auto done = measure(stretch, stop, progress, where); !done) return refuse(done.error().message);
    if (stop.requested()) {
      fmt::print(stderr, "plimsoll: interrupted; the same command goes on from here\n");
      return Exit::interrupted;
    }
  }
  if (auto finished = finish(); !finished) return refuse(finished.error().message);
  return verdict({}, record_);
}

}  // namespace

std::unique_ptr<Command> make_sweep_command() {
  return std::make_unique<SweepCommand>();
}

}  // namespace plimsoll::cli
