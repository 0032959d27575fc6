#include "stats/record_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "stats/histogram.h"
#include "stats/thread_usage.h"
#include "tests/support/golden.h"

namespace plimsoll::stats {
namespace {

LatencySummary latencies(std::uint64_t count) {
  return {.count = count,
          .min = 0.001,
          .mean = 0.0123456789,
          .stddev = 0.004,
          .max = 0.25,
          .p50 = 0.011,
          .p66 = 0.012,
          .p75 = 0.013,
          .p80 = 0.0135,
          .p90 = 0.02,
          .p95 = 0.03,
          .p98 = 0.05,
          .p99 = 0.1,
          .p999 = 0.2,
          .p9999 = 0.25,
          .unsupported = {"p99.9", "p99.99"}};
}

Environment machine(const char* role) {
  return {.role = role,
          .host = "loadgen-1",
          .vendor_model = "Acme Server 9000",
          .operating_system = "Debian GNU/Linux 12 (bookworm)",
          .kernel = "Linux 6.1.0-37-amd64",
          .architecture = "x86_64",
          .cpu = "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
          .processors = 2,
          .cores = 40,
          .frequency_mhz = 2100.5,
          .governor = "performance",
          .memory_bytes = 201'453'432'832,
          .network = {{"eth0", "Intel X710", "10 Gb/s", {"10.0.0.5/24", "fe80::1/64"}}},
          .disks = {{"nvme0n1", "Acme P5520", "SSD", 1'920'383'410'176}},
          .limits = {{"descriptors", "1024 (hard 1048576)"}, {"ports", "32768-60999"}},
          .congestion_control = "cubic",
          .io = "uring",
          .versions = {{"openssl", "3.0.16"}}};
}

TestRecord full_test() {
  TestRecord test;
  test.name = "Push Monolith 1MB";
  test.target = "registry";
  test.action = "push";
  test.concurrency = 10;
  test.repeat = 1;
  test.samples_file = "concurrency-10/push_results.csv";
  test.upload = "put";
  test.phases_s = {0.5, 0.25, 1, 10.125, 0.03, 0.75};
  test.operations = {1003, 990, 10, 3};
  test.rate_per_s = 98.76543209876543;
  test.bytes = {1'048'576'000, 123'456, 1'040'000'000, 1000};
  test.latency_s = latencies(990);
  test.service_s = latencies(990);
  test.failed_latency_s = latencies(10);
  test.aborted_age_s = latencies(3);
  test.statuses = {{201, 990}, {500, 8}, {503, 2}};
  test.errors = {
      {"unexpected_status",
       10,
       {"unexpected_status (status 500)", "127.0.0.1:5000", "PUT /v2/zb/blobs/uploads/\u00e9?digest=\"x\""}}};
  test.notes = {{"resumed", 1, {"resumed at byte 524288", "127.0.0.1:5000", "PATCH /v2/zb/blobs/uploads/1"}}};
  test.steps = {{"upload POST", 1003, {{202, 1003}}, latencies(1003), latencies(1003), {100, 200, 0, 0}},
                {"blob PUT", 1003, {{201, 995}, {500, 8}}, latencies(1003), latencies(1003), {9, 8, 7, 6}}};
  test.mix = {{"Push", 250}, {"Pull", 750}};
  test.parts = {{"warm", latencies(900)}, {"cold", latencies(90)}};
  test.connections = {10, 2996, 1, latencies(10), latencies(10)};
  test.histograms = {{"latency", "HISTFAAAACF4nJNpmSzMwMDAyAABzFAayGd2M9ixgMH+A1QEAFKmBEw="}};
  test.series = {{0, 99, 1, 104'857'600, 0.011, 0.1}, {1, 98, 0, 103'809'024, 0.0105, 0.09}};
  test.open_loop = OpenLoop{100, 99.5, 98.7, 12, 0.75};
  test.checks = {.client_cpu = 0.31,
                 .client_bound = true,
                 .run_delay_share = 0.02,
                 .littles_law_error = 0.001,
                 .concurrency_reached = 9.97,
                 .schedule_lag_p50_s = 1e-5,
                 .schedule_lag_p99_s = 1e-4,
                 .schedule_lag_p999_s = 1e-3,
                 .failed = {"The generator, not the server, was the limit."}};
  test.details = {{"document_length", "1048576"}, {"document_path", "/x"}};
  return test;
}

// Every member differs from its default.
Record full_record() {
  Record record;
  record.tool_version = "0.1.0";
  record.command = "plimsoll bench -c 10 -n 1000 http://127.0.0.1:5000";
  record.seed = 18'446'744'073'709'551'615ULL;
  record.started = "2024-05-06T07:08:09Z";
  record.skipped = {"Pull 1GB"};
  record.working_dir = "/home/user/bench";
  record.upstream_url = "http://127.0.0.1:5001";
  record.environment = machine("generator");
  record.machines = {machine("registry")};
  record.targets = {{"registry",
                     "http://127.0.0.1:5000",
                     {{"127.0.0.1:5000", 10, ""}, {"[::1]:5000", 0, "refused"}},
                     "HTTP/1.1",
                     "acme/1.0",
                     "TLSv1.3, TLS_AES_256_GCM_SHA384"}};
  record.peers = {{"registry+token",
                   "registry",
                   "http://127.0.0.1:5000",
                   "127.0.0.1:3128",
                   {"127.0.0.1"},
                   "127.0.0.1:3128",
                   10,
                   {10, 1e-5, 2e-5, 4e-5}}};
  record.load = {"open", 10, 100, 1000, 10, 1, 2};
  record.tests = {full_test()};
  record.thresholds = {{"p99 > 50ms", 0.1, true}};
  record.findings = {{"concurrency-ceiling",
                      "warning",
                      "Beyond 30 the rate falls.",
                      {{"level", 30}, {"loss", 0.125}},
                      {{"action", "push"}}}};
  record.capabilities = {{"chunked-upload", "partly", "PATCH answers 202 without Range", "push#chunked"}};
  record.attachments = {{"nginx.conf", "worker_processes 4;\nevents {}\n"}};
  record.interrupted = true;
  return record;
}

std::string refusal(std::string_view text) {
  const auto read = from_json(text);
  return read ? "read without complaint" : read.error().message;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(RecordJson, WritesTheGoldenRecords) {
  test::expect_golden("record_full.json", to_json(full_record()));
  Record minimal;
  minimal.tests.emplace_back();
  test::expect_golden("record_minimal.json", to_json(minimal));
}

TEST(RecordJson, ReadsBackAllThatItWrote) {
  const std::string text = to_json(full_record());
  const auto read = from_json(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), text);
  EXPECT_EQ(read->seed, UINT64_MAX);
  EXPECT_EQ(read->tests.at(0).latency_s.p999, 0.2);
  EXPECT_EQ(read->tests.at(0).latency_s.mean, 0.0123456789);
  EXPECT_EQ(read->tests.at(0).mix.at(0).first, "Push") << "pairs keep their order";
  EXPECT_EQ(read->tests.at(0).parts.at(0).first, "warm");
  EXPECT_EQ(read->tests.at(0).open_loop->backlog_max, 12U);
  EXPECT_EQ(read->tests.at(0).statuses.at(503), 2U);
  EXPECT_EQ(read->machines.at(0).network.at(0).addresses.size(), 2U);
  EXPECT_EQ(read->attachments.at("nginx.conf"), "worker_processes 4;\nevents {}\n");
}

TEST(RecordJson, ReadsAnEnvironmentAlone) {
  const auto read = environment_from_json(to_json(machine("registry")));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cpu, machine("").cpu);
  EXPECT_FALSE(environment_from_json("[]"));
}

TEST(RecordJson, NeverWritesWhatIsNoNumber) {
  Record record = full_record();
  record.tests[0].rate_per_s = std::numeric_limits<double>::quiet_NaN();
  record.tests[0].latency_s.mean = std::numeric_limits<double>::infinity();
  const std::string text = to_json(record);
  EXPECT_EQ(text.find("null"), std::string::npos);
  const auto read = from_json(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tests[0].rate_per_s, 0);
  EXPECT_EQ(read->tests[0].latency_s.mean, 0);
}

TEST(RecordJson, WritesBytesThatAreNoUtf8) {
  Record record;
  record.command = "plimsoll \xff\xfe";
  const auto read = from_json(to_json(record));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->command, "plimsoll \u{fffd}\u{fffd}");
}

TEST(RecordJson, RefusesInOneLineThatNamesThePlace) {
  const std::string good = to_json(full_record());
  EXPECT_EQ(refusal("{}"), "not a result record: it names no schema");
  EXPECT_EQ(refusal("[1]"), "not a result record: the JSON is no object");
  EXPECT_EQ(refusal(R"({"schema":"plimsoll.result/2"})"),
            "schema \"plimsoll.result/2\" is not the one that this version reads (plimsoll.result/1)");
  EXPECT_EQ(refusal(replaced(good, "\"rate_per_s\": 98.76543209876543", "\"rate_per_s\": \"fast\"")),
            "tests[0].rate_per_s: expected a number");
  EXPECT_EQ(refusal(replaced(good, "\"started\": 1003", "\"started\": -1")),
            "tests[0].operations.started: expected a whole number, not negative");
  EXPECT_EQ(refusal(replaced(good, "\"503\": 2", "\"ok\": 2")),
            "tests[0].statuses: expected HTTP statuses as keys");
  EXPECT_EQ(refusal(replaced(good, "\"version\": \"0.1.0\"", "\"version\": 1")),
            "tool.version: expected a string");
  EXPECT_EQ(refusal(replaced(good, "\"processors\": 2", "\"processors\": 2.5")),
            "environment.processors: expected a whole number");
  EXPECT_EQ(refusal(replaced(good, "\"client_bound\": true", "\"client_bound\": 1")),
            "tests[0].checks.client_bound: expected true or false");
  EXPECT_EQ(refusal(replaced(good, "\"skipped\": [\"Pull 1GB\"]", "\"skipped\": {}")),
            "skipped: expected a list");
  EXPECT_EQ(refusal(replaced(good, "\"skipped\": [\"Pull 1GB\"]", "\"skipped\": [7]")),
            "skipped[0]: expected a string");
}

TEST(RecordJson, RefusesTruncatedTextWhereverItEnds) {
  const std::string good = to_json(full_record());
  for (std::size_t n = 0; n + 2 < good.size(); n += 41) {
    const std::string why = refusal(std::string_view(good).substr(0, n));
    ASSERT_TRUE(why.starts_with("not valid JSON: ")) << n << ": " << why;
    ASSERT_EQ(why.find('\n'), std::string::npos);
    ASSERT_LT(why.size(), 300U);
  }
}

TEST(RecordJson, SurvivesDamage) {
  const std::string good = to_json(full_record());
  Random random(12);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = good;
    for (int i = 0; i < 3; ++i) damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const auto read = from_json(damaged);
    if (!read) ++refused;
    if (!read) EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
  EXPECT_GT(refused, 50);
}

TEST(RecordJson, KeepsDefaultsAndIgnoresTheUnknown) {
  const auto read =
      from_json(R"({"schema":"plimsoll.result/1","novel":{"a":[1]},"tests":[{"name":"x","later":null}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tests.at(0).name, "x");
  EXPECT_EQ(read->load.mode, "closed");
  EXPECT_FALSE(read->tests[0].open_loop);
}

TEST(RecordJson, ReadsALongSeriesQuickly) {
  Record record = full_record();
  Random random(4);
  for (int i = 0; i < 10'000; ++i) {
    record.tests[0].series.push_back(
        {i * 1.0, random.below(9999), 0, random.next() >> 20, random.uniform(), 1});
  }
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) histogram.record(random.next() >> (24 + random.below(20)));
  for (const char* name : {"latency", "service", "failed_latency"}) {
    record.tests[0].histograms[name] = histogram.encode_v2();
  }
  const std::string text = to_json(record);
  const ThreadUsage before = ThreadUsage::now();
  const auto read = from_json(text);
  const double took = seconds((ThreadUsage::now() - before).cpu);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tests[0].series.size(), 10'002U);
  EXPECT_LT(took, 5) << "far more than it takes, for sanitizers";
  RecordProperty("read_ms", static_cast<int>(took * 1000));
}

}  // namespace
}  // namespace plimsoll::stats
