#include "cli/images_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/suite_run.h"
#include "workload/image_pull.h"

namespace plimsoll::cli {
namespace {

// Options of the suite, which means nothing to pulls of what is there.
std::string_view option_of_suite(const BenchOptions& o) {
  if (!o.test_regex.empty()) return "--test-regex";
  if (o.list_tests) return "--list-tests";
  if (!o.upstream_url.empty()) return "--upstream-server-url";
  if (!o.repository.empty()) return "--repo";
  if (o.skip_cleanup) return "--skip-cleanup";
  if (!o.upload.empty()) return "--upload";
  if (o.chunk_size > 0) return "--chunk-size";
  if (!o.mount.empty()) return "--mount";
  if (o.same_content) return "--same-content";
  return {};
}

}  // namespace

Checked<ImagesPlan> plan_images(BenchOptions& options) {
  if (const auto other = option_of_suite(options); !other.empty())
    return Refusal{fmt::format("--images runs in place of the suite: it excludes {}", other)};
  // `--images app:1 app:2 http://127.0.0.1:5000`: the option takes the URL along, and gives it back.
  std::vector<std::string> given;
  for (std::string& word : options.images) {
    if (word.find("://") == std::string::npos) {
      given.push_back(std::move(word));
    } else if (options.url.empty()) {
      options.url = std::move(word);
    } else {
      return Refusal{fmt::format("--images: '{}' is a URL, and so is '{}': one registry at a time",
                                 masked_url(word), masked_url(options.url))};
    }
  }
  options.images = std::move(given);
  if (options.images.empty()) return Refusal{"--images: which? Give references, or a file that lists them"};
  ImagesPlan plan;
  auto images = workload::read_images(options.images);
  if (!images) return Refusal{"--images: " + images.error().message};
  plan.images = std::move(*images);
  if (!options.platform.empty() && options.platform != "all") {
    auto platform = oci::Platform::parse(options.platform);
    if (!platform) return Refusal{"--platform: " + platform.error().message};
    plan.platform = std::move(*platform);
  }
  if (options.url.empty()) {
    auto url = workload::registry_of(plan.images);
    if (!url) return Refusal{"--images: " + url.error().message};
    options.url = std::move(*url);
  }
  if (!options.requests_given && options.duration == Nanos{}) {
    options.requests =
        std::max<std::uint64_t>(plan.images.size(), static_cast<std::uint64_t>(options.concurrency));
  }
  return plan;
}

Checked<stats::TestRecord> run_images_test(ImagesPlan& plan, const workload::RegistryTarget& target,
                                           const BenchOptions& options, std::uint64_t seed,
                                           load::StopSignal& stop, const load::Watch& watch,
                                           std::string& io) {
  if (auto placed = workload::place_images(plan.images, target.options.base, target.options.mirror_of);
      !placed)
    return Refusal{"--images: " + placed.error().message};
  const load::Plan load_plan = plan_of(options, seed);
  const workload::ImagePullOptions pulls{
      .client = workload::client_kind(options.client).value_or(workload::ClientKind::docker),
      .platform = plan.platform,
      .cold = options.cold,
      .keep_clients = options.keep_clients,
      .threads = load_plan.threads};
  workload::SkippedLayers skipped{0};
  const auto workload = make_image_pulls(target, plan.images, pulls, skipped);
  auto measured = load::run(load_plan, *workload, stop, watch);
  if (!measured) return measured.error();
  io = measured->io;
  if (!measured->setup_failure.empty() && !measured->interrupted)
    return Refusal{fmt::format("{}: {}", kImagesTest, measured->setup_failure)};
  stats::TestRecord record = std::move(measured->test);
  record.name = kImagesTest;
  record.action = "pull";
  record.details["images"] = fmt::format("{}", plan.images.size());
  record.details["client"] = options.client;
  record.details["platform"] = plan.platform ? plan.platform->text() : "all";
  record.details["order"] = options.cold ? "cold" : "drawn";
  record.details["clients"] = options.keep_clients ? "kept" : "new";
  if (const auto left_out = skipped.load(); left_out > 0)
    record.details["skipped_foreign"] = fmt::format("{}", left_out);
  return record;
}

}  // namespace plimsoll::cli
