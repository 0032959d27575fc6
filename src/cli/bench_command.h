// `plimsoll bench` and the program's other name, `zb`: the registry suite.
#pragma once

#include <memory>

#include "cli/command.h"

namespace plimsoll::cli {

std::unique_ptr<Command> make_bench_command();

inline constexpr std::string_view kBenchExamples =
    "  plimsoll bench http://127.0.0.1:5000\n"
    "      every test once\n"
    "  plimsoll bench -c 10 -n 1000 -t '^(Push Monolith|Pull) 1MB$' http://127.0.0.1:5000\n"
    "      a thousand pushes and pulls by ten workers\n"
    "  plimsoll bench -c 16 --duration 30s --warmup 5s -t '^Pull 10MB$' -o json=pull.json "
    "https://registry.example\n"
    "      half a minute of pulls, with the result record in a file\n"
    "  plimsoll bench -t '^On-demand Sync 100MB$' -u http://127.0.0.1:9000 http://127.0.0.1:8080\n"
    "      cold and warm pulls through a registry that syncs from another\n"
    "  plimsoll bench -t '^On-demand Sync'\n"
    "      the same with an embedded registry that syncs from another one\n"
    "  plimsoll bench -c 200 --platform linux/amd64 --images registry.example/team/app:1.2\n"
    "      a storm: two hundred docker clients pull one image that is there\n"
    "  plimsoll bench --images images.txt --cold --client containerd -c 8 https://registry.example\n"
    "      every image of a list once, as containerd pulls\n"
    "  plimsoll bench -n 500 -t 'Pull 1MB' --fail-if 'p99 > 50ms' --fail-if 'errors > 0.1%' "
    "http://127.0.0.1:5000\n"
    "      a gate: exit code 3 where a condition holds\n";

}  // namespace plimsoll::cli
