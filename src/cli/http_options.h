// What `http` is asked for, with ab's letters, and its option table.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace plimsoll::cli {

struct HttpOptions {
  std::vector<std::string> urls;
  std::string request_file;
  int concurrency = 1;
  std::uint64_t requests = 1;
  bool requests_given = false;
  Nanos duration{};
  Nanos warmup{};
  Nanos ramp{};
  Nanos timeout = std::chrono::seconds(30);
  std::optional<double> rate;
  std::string arrivals = "even";
  int max_connections = 0;
  int threads = 1;
  std::optional<std::uint64_t> seed;
  bool keep_alive_asked = false;  // -k
  bool no_keepalive = false;
  std::uint64_t connections_reuse = 0;
  int follow = 0;
  bool head = false;
  std::string method;
  std::string auth;
  std::vector<std::string> cookies;
  std::string content_type;
  std::string post_file;
  std::string put_file;
  std::string percentile_file;         // -e
  std::string gnuplot_file;            // -g
  bool ignore_receive_errors = false;  // -r: an error never ends a run
  bool variable_length = false;
  bool same_length = false;
  bool quiet_progress = false;  // -q
  bool no_percentages = false;  // -d
  bool no_confidence = false;   // -S
  int verbosity = 0;            // -v
  bool html = false;            // -w
  std::string proxy;            // -X
  std::string proxy_auth;       // -P
  std::string unix_socket;
  std::string sources;
  bool quiet = false;
  std::string metrics;
  std::string result_file;
  std::vector<std::string> fail_if;
  std::vector<Output> outputs;
  ConnectionSettings connection;
};

void declare_http_options(CLI::App& app, HttpOptions& options);

}  // namespace plimsoll::cli
