// `plimsoll doctor`: what a registry supports and where it strays, and what of this machine would bend a measurement.
#pragma once

#include <memory>

#include "cli/command.h"

namespace plimsoll::cli {

std::unique_ptr<Command> make_doctor_command();

inline constexpr std::string_view kDoctorExamples =
    "  plimsoll doctor http://127.0.0.1:5000\n"
    "      tries what the spec offers, in a scratch repository that is cleaned up\n"
    "  plimsoll doctor --read-only https://registry.example\n"
    "      asks nothing that would change the registry\n"
    "  plimsoll doctor --read-only --repo library/alpine https://registry-1.docker.io\n"
    "      the same, and reads an image that is there\n"
    "  plimsoll doctor\n"
    "      this machine alone: descriptors, ports, congestion control, io_uring, CPU governor\n"
    "  plimsoll doctor -o json=server.json\n"
    "      on a registry's machine: for plimsoll sweep --describe server.json\n";

}  // namespace plimsoll::cli
