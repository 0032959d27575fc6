// `plimsoll sweep`: a campaign of pushes and pulls over levels of concurrency, one or several registries side by side.
#pragma once

#include <memory>

#include "cli/command.h"

namespace plimsoll::cli {

std::unique_ptr<Command> make_sweep_command();

inline constexpr std::string_view kSweepExamples =
    "  plimsoll sweep --concurrency 1,10,30,50,100 --iterations 1000 --out campaign http://127.0.0.1:5000\n"
    "      time of pushes and pulls by iteration and by concurrency: CSV files, tables, plots, a page\n"
    "  plimsoll sweep --image 187.8MB,194.5kB,1.9kB,18.1MB --client docker --out campaign "
    "http://127.0.0.1:5000\n"
    "      an image of four layers, moved as a Docker daemon does\n"
    "  plimsoll sweep --target zot=http://127.0.0.1:8080 --target cncf=http://127.0.0.1:5000 --interleave "
    "--repeat 6 \\\n"
    "      --out both\n"
    "      two registries side by side, so that drift of the machine hits both\n"
    "  plimsoll sweep --out campaign http://127.0.0.1:5000\n"
    "      the same --out again goes on where an interrupted campaign stopped\n";

}  // namespace plimsoll::cli
