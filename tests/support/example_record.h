// One fixed result record with something in every field that a renderer draws.
#pragma once

#include "stats/record.h"

namespace plimsoll::test {

// Times that rise by `step` seconds from `min`, as a summary would hold them.
inline stats::LatencySummary example_times(std::uint64_t count, double min, double step) {
  stats::LatencySummary times;
  times.count = count;
  times.min = min;
  times.p50 = min + 10 * step;
  times.p66 = min + 11 * step;
  times.p75 = min + 12 * step;
  times.p80 = min + 13 * step;
  times.p90 = min + 15 * step;
  times.p95 = min + 17 * step;
  times.p98 = min + 18 * step;
  times.p99 = min + 19 * step;
  times.p999 = min + 20 * step;
  times.p9999 = min + 20 * step;
  times.max = min + 20 * step;
  times.mean = min + 10.5 * step;
  times.stddev = 5.25 * step;
  if (count < 100) times.unsupported.emplace_back("p99");
  if (count < 1000) times.unsupported.emplace_back("p99.9");
  if (count < 10000) times.unsupported.emplace_back("p99.99");
  return times;
}

inline stats::TestRecord example_push() {
  stats::TestRecord test;
  test.name = "Push Monolith 1MB";
  test.target = "registry";
  test.action = "push";
  test.concurrency = 2;
  test.upload = "put";
  test.phases_s = {
      .prepare = 0.012, .setup = 0.004, .warmup = 0, .measure = 0.952336383, .drain = 0.001, .cleanup = 0.2};
  test.operations = {.started = 101, .ok = 96, .failed = 4, .aborted = 1};
  test.rate_per_s = 100 / 0.952336383;
  test.bytes = {.sent = 104'977'600, .received = 120'000, .body_sent = 104'857'600, .body_received = 9'000};
  test.latency_s = example_times(96, 0.011125673, 0.000762484);
  test.service_s = test.latency_s;
  test.failed_latency_s = example_times(4, 0.002, 0.0001);
  test.aborted_age_s = example_times(1, 0.003, 0);
  test.statuses = {{500, 1}, {201, 96}, {404, 2}};
  test.errors = {{"reset", 1, {"Connection reset by peer", "127.0.0.1:5000", "PATCH /v2/zb/blobs/uploads/1"}},
                 {"unexpected_status",
                  3,
                  {"unexpected_status (status 404): BLOB_UPLOAD_UNKNOWN <b>\x1b[31m", "127.0.0.1:5000",
                   "PUT /v2/zb/blobs/uploads/2?digest=sha256:00"}}};
  test.notes = {{"range_mismatch", 2, {"Range: 0-0", "127.0.0.1:5000", "PATCH /v2/zb/blobs/uploads/3"}}};
  test.steps = {{"upload POST",
                 101,
                 {{202, 101}},
                 example_times(101, 0.001, 0.00001),
                 example_times(101, 0.001, 0.00001),
                 {}},
                {"upload PUT",
                 100,
                 {{201, 96}, {404, 2}, {500, 1}},
                 example_times(100, 0.009, 0.0007),
                 example_times(100, 0.009, 0.0007),
                 {}}};
  test.connections = {.opened = 3,
                      .reused = 498,
                      .reconnected = 1,
                      .connect_s = example_times(3, 0.0001, 0.00001),
                      .tls_s = {}};
  test.series = {{1, 96, 4, 105'000'000, 0.018, 0.026}};
  test.checks.client_cpu = 0.41;
  test.checks.littles_law_error = 0.012;
  test.checks.concurrency_reached = 1.98;
  return test;
}

inline stats::TestRecord example_pull() {
  stats::TestRecord test;
  test.name = "Pull 75% and Push 25% Mixed 1MB";
  test.target = "registry";
  test.action = "mixed";
  test.concurrency = 2;
  test.upload = "put";
  test.phases_s = {
      .prepare = 0.012, .setup = 0.1, .warmup = 1, .measure = 2.5, .drain = 0.001, .cleanup = 0.2};
  test.operations = {.started = 1000, .ok = 1000, .failed = 0, .aborted = 0};
  test.rate_per_s = 400;
  test.bytes = {
      .sent = 262'144'000, .received = 786'432'000, .body_sent = 262'144'000, .body_received = 786'432'000};
  test.latency_s = example_times(1000, 0.000402259, 0.000144681);
  test.service_s = test.latency_s;
  test.statuses = {{200, 752}, {201, 248}};
  for (const char* name : {"manifest HEAD", "manifest GET", "config GET", "layer GET"}) {
    test.steps.push_back({name,
                          752,
                          {{200, 752}},
                          example_times(752, 0.0003, 0.00001),
                          example_times(752, 0.00021, 0.0000015),
                          {}});
  }
  test.mix = {{"Pull", 752}, {"Push", 248}};
  test.parts = {{"Pull", example_times(752, 0.0004, 0.0001)}, {"Push", example_times(248, 0.0011, 0.0002)}};
  test.connections = {.opened = 2,
                      .reused = 3998,
                      .reconnected = 0,
                      .connect_s = example_times(2, 0.0001, 0.00001),
                      .tls_s = {}};
  test.open_loop = stats::OpenLoop{400, 399.5, 399.2, 7, 0.012};
  test.checks.client_cpu = 0.99;
  test.checks.client_bound = true;
  test.checks.concurrency_reached = 1.5;
  test.checks.failed = {
      "the generator used 99% of a core: these figures show the generator, not the registry"};
  return test;
}

inline stats::Record example_record() {
  stats::Record record;
  record.tool_version = "0.1.0";
  record.command = "zb -c 2 -n 100 http://localhost:5000";
  record.seed = 42;
  record.started = "2026-01-02T03:04:05Z";
  record.skipped = {"Get Catalog", "On-demand Sync 1GB"};
  record.working_dir = "/home/user/test";
  record.environment.role = "generator";
  record.environment.host = "gen-1";
  record.environment.vendor_model = "HP, DL380 Gen9";
  record.environment.operating_system = "Debian GNU/Linux 12";
  record.environment.kernel = "6.1.0";
  record.environment.architecture = "x86_64";
  record.environment.cpu = "Intel E5-2680 v3";
  record.environment.processors = 2;
  record.environment.cores = 12;
  record.environment.frequency_mhz = 2500;
  record.environment.memory_bytes = 274'877'906'944;
  record.environment.network = {{"p1p1", "Intel, X710", "10G", {"172.20.9.15"}}};
  record.environment.disks = {{"/dev/sda", "HP P840", "HDD", 3'600'000'000'000}};
  record.environment.limits = {{"descriptors", "1024"}};
  record.environment.congestion_control = "cubic";
  record.environment.io = "epoll";
  record.environment.versions = {{"openssl", "3.0.15"}};
  record.targets = {{"registry",
                     "http://localhost:5000",
                     {{"127.0.0.1:5000", 2, ""}, {"[::1]:5000", 0, "connect_refused"}},
                     "HTTP/1.1",
                     "registry/2.0",
                     ""}};
  record.peers = {{"registry",
                   "registry",
                   "http://localhost:5000",
                   "127.0.0.1:5000",
                   {"127.0.0.1"},
                   "",
                   2,
                   {2, 2.1e-5, 2.4e-5, 2.7e-5}},
                  {"token",
                   "registry",
                   "http://auth.example:5001",
                   "172.20.9.17:5001",
                   {"172.20.9.15"},
                   "",
                   1,
                   {1, 4e-4, 4e-4, 4e-4}}};
  record.load.concurrency = 2;
  record.load.requests = 100;
  record.tests = {example_push(), example_pull()};
  record.thresholds = {{"p99 > 50ms", 0.025612869, true}, {"Push Monolith 1MB: errors > 0.1%", 0.04, false}};
  record.findings = {{"too-few-samples",
                      "info",
                      "96 samples are too few for p99",
                      {{"samples", 96}},
                      {{"test", "Push Monolith 1MB"}}}};
  return record;
}

}  // namespace plimsoll::test
