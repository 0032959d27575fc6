// What `bench` is asked for, and its option table.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace plimsoll::cli {

struct BenchOptions {
  std::string url;
  std::optional<std::string> auth;
  int concurrency = 1;
  std::uint64_t requests = 1;
  bool requests_given = false;
  Nanos duration{};
  Nanos warmup{};
  std::optional<double> rate;
  int threads = 1;
  std::optional<std::uint64_t> seed;
  Nanos timeout = std::chrono::seconds(60);
  std::optional<Nanos> deadline;
  std::string repository;
  std::string test_regex;
  bool list_tests = false;
  bool skip_cleanup = false;
  bool show_version = false;
  std::string source_cidr;
  std::string source_ips;
  std::string upstream_url;
  std::string working_dir;
  std::string upload;  // "", "put", "post", "stream", "chunk", "auto"
  std::string mount;   // "", "cross", "anonymous"
  std::uint64_t chunk_size = 0;
  bool same_content = false;
  bool no_verify = false;
  bool legacy_timing = false;
  bool no_keepalive = false;
  int retries = 0;
  bool respect_retry_after = false;
  std::string mirror_of;
  std::vector<std::string> images;  // --images, as given; not empty: these are pulled, in place of the suite
  std::string client = "docker";
  std::string platform;  // "": all of an index
  bool cold = false;
  bool keep_clients = false;
  bool quiet = false;
  std::string metrics;
  std::string result_file;
  std::vector<std::string> fail_if;
  std::vector<Output> outputs;
  ConnectionSettings connection;
};

void declare_bench_options(CLI::App& app, BenchOptions& options);

}  // namespace plimsoll::cli
