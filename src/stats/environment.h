// What machine this is: gathered by itself for the record of every run, and on a server for --describe.
//
// Never fails and starts no program: what the system does not tell (in a container, on another architecture) stays
// empty or 0. Takes a few milliseconds; done before the run.
#pragma once

#include <filesystem>

#include "stats/record.h"

namespace plimsoll::stats {

// All that record.h's Environment lists, but for role, io and versions, which the caller knows.
Environment this_machine();

// The part of it that is read from files, of the system whose /proc, /sys and /etc are below `root`.
void describe_files(Environment& environment, const std::filesystem::path& root);

}  // namespace plimsoll::stats
