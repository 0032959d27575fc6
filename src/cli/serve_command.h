// `plimsoll serve`: the embedded registry and static file server.
#pragma once

#include <memory>
#include <string_view>

#include "cli/command.h"

namespace plimsoll::cli {

std::unique_ptr<Command> make_serve_command();

inline constexpr std::string_view kServeExamples =
    "  plimsoll serve\n"
    "      a registry in memory on http://127.0.0.1:5000\n"
    "  plimsoll serve --root registry --listen 0.0.0.0:5000 --htpasswd users\n"
    "      on disk (one OCI image layout a repository), for others too, with passwords\n"
    "  plimsoll serve --root cache --sync-from https://registry.example.com,prefix=library\n"
    "      a mirror that copies what is asked for, once\n"
    "  plimsoll serve --static /=public --listen 7070 --access-log -\n"
    "      files over HTTP, each request on stdout\n"
    "  plimsoll serve --fault 'route=blob; method=GET; share=0.1; status=503; retry_after=1'\n"
    "      one blob in ten is refused for a second: how does a client take it?\n"
    "  plimsoll serve --fault 'latency=5ms,200ms@0.01' --fault @registry-quirks.faults\n"
    "      a registry with a slow hundredth, and faults from a file\n";

}  // namespace plimsoll::cli
