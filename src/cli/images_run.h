// `bench --images`: pulls of what a registry already has, as one test of the record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench_options.h"
#include "load/run.h"
#include "load/stop.h"
#include "oci/manifest.h"
#include "stats/record.h"
#include "workload/image_list.h"
#include "workload/registry_target.h"

namespace plimsoll::cli {

inline constexpr std::string_view kImagesTest = "Pull Images";

struct ImagesPlan {
  std::vector<workload::ListedImage> images;
  std::optional<oci::Platform> platform;
};

// Reads what --images names. Fills in of the options what was not given: the URL, from the references, and the number
// of pulls, so that every worker and every image has one.
Checked<ImagesPlan> plan_images(BenchOptions& options);

// The plan's images are placed in the target's registry first. `watch` may be null.
Checked<stats::TestRecord> run_images_test(ImagesPlan& plan, const workload::RegistryTarget& target,
                                           const BenchOptions& options, std::uint64_t seed,
                                           load::StopSignal& stop, const load::Watch& watch, std::string& io);

}  // namespace plimsoll::cli
