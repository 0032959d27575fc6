#include "cli/sweep_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "oci/content.h"

namespace plimsoll::cli {
namespace {

constexpr std::size_t kMostLayers = 1000;

std::string slug_of(std::string_view name) {
  std::string slug;
  for (const char c : to_lower(name)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) {
      slug += c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (slug.ends_with('-')) slug.pop_back();
  return slug;
}

// The test whose name the text begins with; the longest, so that none hides another.
const workload::RegistryTest* test_at(std::string_view text) {
  const workload::RegistryTest* found = nullptr;
  for (const workload::RegistryTest& test : workload::registry_tests()) {
    const std::string_view rest = text.substr(0, test.name.size());
    const bool ends = text.size() == test.name.size() ||
                      (text.size() > test.name.size() && text.substr(test.name.size()).front() == ',');
    if (ends && iequals(rest, test.name) && (found == nullptr || test.name.size() > found->name.size()))
      found = &test;
  }
  return found;
}

Checked<SweepImage> parse_image(std::string_view text) {
  SweepImage image{.name = std::string(text), .layers = {}};
  for (const std::string_view part : split(text, ',')) {
    auto size = parse_size(trim(part));
    if (!size) return Refusal{fmt::format("--image: {}", size.error().message)};
    // A layer is a tar archive: nothing smaller than its frame can be made.
    image.layers.push_back(std::max<std::uint64_t>(*size, oci::LayerShape::kSmallest));
  }
  if (image.layers.size() > kMostLayers)
    return Refusal{
        fmt::format("--image: {} layers; at most {} can be made", image.layers.size(), kMostLayers)};
  return image;
}

void declare_plan(CLI::App& app, SweepOptions& o) {
  app.add_option("--actions", o.actions_given,
                 "push, pull, and any test of the suite (bench -l), in this order (default push,pull)")
      ->type_name("LIST");
  app.add_option("--concurrency", o.levels_given, "Levels (default 1,10,30,50,100)")->type_name("LIST");
  add_count(app, "--iterations", o.iterations, 1, "Operations at each level (default 1000)");
  add_count(app, "--repeat", o.repeat, 1, "Repeat the whole campaign this often (default 1)");
  app.add_option(
         "--image", o.images_given,
         "Layers by size, such as 18.1MB,1.9kB; several images by repeating it or with ';' between them "
         "(default 10MB)")
      ->type_name("SIZES")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--client", o.client, "Moves layers as docker (5 up, 3 down), containerd or serial do")
      ->type_name("KIND")
      ->check(one_of({"docker", "containerd", "serial"}));
  app.add_option("--spread", o.spread, "Push to one-repository (a worker) or to many (default many)")
      ->type_name("KIND")
      ->check(one_of({"one-repository", "many"}));
  app.add_option("--reuse", o.reuse, "Share of an image's layers that the registry has already (default 0)")
      ->type_name("0..1")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--cold,!--warm", o.cold,
               "Each pull takes an image that was not pulled before (default --warm)");
  app.add_flag("--shuffle", o.shuffle, "Run the stretches in an order drawn from the seed");
  app.add_flag("--interleave", o.interleave, "Alternate the targets, so that drift hits all of them");
}

void declare_folder(CLI::App& app, SweepOptions& o) {
  app.add_option("--out", o.out, "Folder for the results; an interrupted campaign goes on from it")
      ->type_name("DIR")
      ->required();
  app.add_option("--describe", o.describe, "What plimsoll doctor -o json printed on a server; repeatable")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--attach", o.attach,
                 "Keep this file (a switch's or server's configuration) with the results")
      ->type_name("FILE")
      ->type_size(1)
      ->allow_extra_args(false);
}

}  // namespace

std::uint64_t SweepImage::bytes() const {
  return std::accumulate(layers.begin(), layers.end(), std::uint64_t{0});
}

Checked<std::vector<SweepAction>> parse_actions(std::string_view text) {
  std::vector<SweepAction> actions;
  std::string_view rest = trim(text);
  for (bool more = true; more;) {
    SweepAction action;
    std::size_t length = 0;
    if (const auto* test = test_at(rest)) {
      action = {std::string(test->name), slug_of(test->name), test};
      length = test->name.size();
    } else {
      length = std::min(rest.find(','), rest.size());
      const std::string_view word = trim(rest.substr(0, length));
      if (!iequals(word, "push") && !iequals(word, "pull")) {
        return Refusal{
            fmt::format("--actions '{}': expected push, pull or a test of the suite (bench -l lists "
                        "them), comma-separated",
                        word)};
      }
      action = {to_lower(word), to_lower(word), nullptr};
    }
    if (std::ranges::find(actions, action.name, &SweepAction::name) != actions.end())
      return Refusal{fmt::format("--actions names '{}' twice", action.name)};
    actions.push_back(std::move(action));
    more = length < rest.size();
    if (more) rest = trim(rest.substr(length + 1));
  }
  return actions;
}

Checked<std::vector<int>> parse_levels(std::string_view text) {
  std::vector<int> levels;
  for (const std::string_view part : split(text, ',')) {
    const auto level = parse_u64(trim(part));
    if (!level || *level == 0 || *level > 100'000) {
      return Refusal{fmt::format("--concurrency '{}': expected whole numbers from 1, such as 1,10,30", part)};
    }
    if (std::ranges::find(levels, static_cast<int>(*level)) != levels.end())
      return Refusal{fmt::format("--concurrency names {} twice", *level)};
    levels.push_back(static_cast<int>(*level));
  }
  return levels;
}

Checked<std::vector<SweepImage>> parse_images(const std::vector<std::string>& given) {
  std::vector<SweepImage> images;
  for (const std::string& text : given) {
    for (const std::string_view one : split(text, ';')) {
      auto image = parse_image(trim(one));
      if (!image) return image.error();
      if (std::ranges::find(images, image->name, &SweepImage::name) != images.end())
        return Refusal{fmt::format("--image names '{}' twice", image->name)};
      images.push_back(std::move(*image));
    }
  }
  return images;
}

Checked<void> SweepOptions::check() {
  auto parsed_actions = parse_actions(actions_given);
  if (!parsed_actions) return parsed_actions.error();
  actions = std::move(*parsed_actions);
  for (const SweepAction& action : actions) {
    if (action.test == nullptr || action.test->kind != workload::RegistryTestKind::sync) continue;
    if (bench.upstream_url.empty())
      return Refusal{fmt::format("--actions '{}' needs --upstream-server-url", action.name)};
  }
  auto parsed_levels = parse_levels(levels_given);
  if (!parsed_levels) return parsed_levels.error();
  levels = std::move(*parsed_levels);
  auto parsed_images = parse_images(images_given.empty() ? std::vector<std::string>{"10MB"} : images_given);
  if (!parsed_images) return parsed_images.error();
  images = std::move(*parsed_images);
  if (targets_given.empty() && bench.url.empty()) return Refusal{"sweep: give a URL, or --target NAME=URL"};
  return {};
}

void declare_sweep_options(CLI::App& app, SweepOptions& o) {
  app.add_option("URL", o.bench.url, "The registry; or give --target once or more");
  app.add_option("--target", o.targets_given, "A registry and its name in the results; repeatable")
      ->type_name("NAME=URL")
      ->type_size(1)
      ->allow_extra_args(false);
  declare_plan(app, o);
  declare_folder(app, o);
  app.add_option("-A,--auth-creds", o.bench.auth, "User and password, split at the first colon")
      ->type_name("USER:PASSWORD");
  app.add_option("--repo", o.bench.repository, "Push below this repository")->type_name("NAME");
  app.add_option("--upstream-server-url", o.bench.upstream_url, "Upstream registry of the sync tests")
      ->type_name("URL");
  add_duration(app, "--timeout", o.bench.timeout, "Longest time without progress (default 60s)");
  add_count(app, "--threads", o.bench.threads, 1, "Engine threads (default 1)");
  app.add_option("--seed", o.bench.seed, "Seed of everything random; printed when not given")->type_name("N");
  add_metrics(app, o.bench.metrics);
  add_connection_options(app, o.bench.connection);
}

}  // namespace plimsoll::cli
