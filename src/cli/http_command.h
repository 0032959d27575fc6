// `plimsoll http`, and the program's other name `ab`: loads HTTP URLs.
#pragma once

#include <memory>

#include "cli/command.h"

namespace plimsoll::cli {

std::unique_ptr<Command> make_http_command();

inline constexpr std::string_view kHttpExamples =
    "  plimsoll http -n 50000 -c 16 http://127.0.0.1:8080/index.html\n"
    "      fifty thousand GETs over sixteen connections, with ab's report\n"
    "  plimsoll http -t 10s -c 64 --threads 2 http://127.0.0.1:8080/\n"
    "      as fast as it goes for ten seconds\n"
    "  plimsoll http --rate 500 -t 30s -c 16 --fail-if 'p99 > 20ms' http://127.0.0.1:8080/\n"
    "      open loop: 500 a second, latencies from the due time, exit code 3 where p99 is above 20 ms\n"
    "  plimsoll http -n 50000 -c 4 --http2 --streams 32 https://localhost:8443/\n"
    "      HTTP/2: four connections with 32 requests at a time on each, a concurrency of 128\n"
    "  plimsoll http -n 1000 -p order.json -T application/json -o csv=rows.csv http://127.0.0.1:8080/orders\n"
    "      POSTs a file, one row a request in rows.csv\n"
    "  plimsoll http -n 1000 'http://127.0.0.1:8080/item/{seq}?nocache={random}'\n"
    "      another URL for each request\n"
    "  plimsoll http --rate 500 -t 1h --metrics 9100 http://127.0.0.1:8080/\n"
    "      for Prometheus to watch, at http://127.0.0.1:9100/metrics\n";

}  // namespace plimsoll::cli
