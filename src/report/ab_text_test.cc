#include "report/ab_text.h"

#include <gtest/gtest.h>

#include "tests/support/example_record.h"
#include "tests/support/golden.h"

namespace plimsoll::report {
namespace {

stats::LatencySummary milliseconds(double min, double mean, double stddev, double median, double max) {
  stats::LatencySummary times;
  times.count = 1;
  times.min = min / 1000;
  times.mean = mean / 1000;
  times.stddev = stddev / 1000;
  times.max = max / 1000;
  for (double* p : {&times.p50, &times.p66, &times.p75, &times.p80, &times.p90, &times.p95, &times.p98,
                    &times.p99, &times.p999, &times.p9999}) {
    *p = median / 1000;
  }
  return times;
}

// What ab 2.3 measured of a static server with keep-alive and bodies of changing length.
stats::TestRecord keep_alive_run() {
  stats::TestRecord test;
  test.name = "http";
  test.action = "http";
  test.concurrency = 3;
  test.phases_s.measure = 400 / 19985.01;
  test.operations = {.started = 400, .ok = 256, .failed = 144, .aborted = 0};
  test.errors = {{"short_body", 144, {"another length than the first answer", "127.0.0.1:18745", "GET /v"}}};
  test.statuses = {{200, 348}, {503, 52}};
  test.bytes = {.sent = 40'000, .received = 62'798, .body_sent = 0, .body_received = 2520};
  test.latency_s = milliseconds(0, 0.14, 0.1, 0.12, 3);
  test.parts = {{"connect", milliseconds(0, 0, 0, 0, 0.2)},
                {"processing", milliseconds(0, 0.13, 0.1, 0.12, 2)},
                {"waiting", milliseconds(0, 0.13, 0.1, 0.12, 2)}};
  test.details = {{"server_software", "nginx/1.22.1"},
                  {"host", "127.0.0.1"},
                  {"port", "18745"},
                  {"document_path", "/v"},
                  {"document_length", "8"},
                  {"keep_alive_requests", "394"}};
  return test;
}

constexpr AbOptions kPlain{.confidence = true, .percentages = true, .html = false, .more = false};

// Recorded from ab 2.3 (Debian 12) itself.
TEST(AbText, PrintsWhatAbPrinted) {
  EXPECT_EQ(ab_report(keep_alive_run(), kPlain),
            "\n\n"
            "Server Software:        nginx/1.22.1\n"
            "Server Hostname:        127.0.0.1\n"
            "Server Port:            18745\n"
            "\n"
            "Document Path:          /v\n"
            "Document Length:        8 bytes\n"
            "\n"
            "Concurrency Level:      3\n"
            "Time taken for tests:   0.020 seconds\n"
            "Complete requests:      400\n"
            "Failed requests:        144\n"
            "   (Connect: 0, Receive: 0, Length: 144, Exceptions: 0)\n"
            "Non-2xx responses:      52\n"
            "Keep-Alive requests:    394\n"
            "Total transferred:      62798 bytes\n"
            "HTML transferred:       2520 bytes\n"
            "Requests per second:    19985.01 [#/sec] (mean)\n"
            "Time per request:       0.150 [ms] (mean)\n"
            "Time per request:       0.050 [ms] (mean, across all concurrent requests)\n"
            "Transfer rate:          3064.01 [Kbytes/sec] received\n"
            "\n"
            "Connection Times (ms)\n"
            "              min  mean[+/-sd] median   max\n"
            "Connect:        0    0   0.0      0       0\n"
            "Processing:     0    0   0.1      0       2\n"
            "Waiting:        0    0   0.1      0       2\n"
            "Total:          0    0   0.1      0       3\n"
            "\n"
            "Percentage of the requests served within a certain time (ms)\n"
            "  50%      0\n"
            "  66%      0\n"
            "  75%      0\n"
            "  80%      0\n"
            "  90%      0\n"
            "  95%      0\n"
            "  98%      0\n"
            "  99%      0\n"
            " 100%      3 (longest request)\n");
}

// Recorded as well: -p FILE, -l, without keep-alive.
TEST(AbText, PrintsWhatAbPrintedOfAPost) {
  stats::TestRecord test;
  test.concurrency = 7;
  test.phases_s.measure = 1500 / 10600.03;
  test.operations = {.started = 1500, .ok = 1500, .failed = 0, .aborted = 0};
  test.statuses = {{200, 1500}};
  test.bytes = {.sent = 190'500, .received = 232'500, .body_sent = 6000, .body_received = 18'000};
  test.latency_s = milliseconds(0.3, 0.6, 0.1, 0.6, 1.2);
  test.parts = {{"connect", milliseconds(0, 0.1, 0.1, 0.1, 0.9)},
                {"processing", milliseconds(0.2, 0.4, 0.1, 0.4, 0.9)},
                {"waiting", milliseconds(0.2, 0.4, 0.1, 0.4, 0.9)}};
  test.details = {{"server_software", "nginx/1.22.1"},
                  {"host", "127.0.0.1"},
                  {"port", "18745"},
                  {"document_path", "/x"},
                  {"document_length", "Variable"},
                  {"keep_alive", "no"},
                  {"body_sent", "yes"}};
  const std::string report = ab_report(test, kPlain);
  EXPECT_NE(report.find("Document Length:        Variable\n"), std::string::npos);
  EXPECT_NE(report.find("Complete requests:      1500\n"
                        "Failed requests:        0\n"
                        "Total transferred:      232500 bytes\n"
                        "Total body sent:        190500\n"
                        "HTML transferred:       18000 bytes\n"
                        "Requests per second:    10600.03 [#/sec] (mean)\n"
                        "Time per request:       0.660 [ms] (mean)\n"
                        "Time per request:       0.094 [ms] (mean, across all concurrent requests)\n"
                        "Transfer rate:          1604.50 [Kbytes/sec] received\n"
                        "                        1314.65 kb/s sent\n"
                        "                        2919.15 kb/s total\n"),
            std::string::npos)
      << report;
}

TEST(AbText, WithoutConfidenceHasThreeColumns) {
  AbOptions options = kPlain;
  options.confidence = false;
  options.percentages = false;
  const std::string report = ab_report(keep_alive_run(), options);
  EXPECT_TRUE(
      report.ends_with("Connection Times (ms)\n"
                       "              min   avg   max\n"
                       "Connect:        0     0    0\n"
                       "Processing:     0     0    2\n"
                       "Waiting:        0     0    2\n"
                       "Total:          0     0    3\n"))
      << report;
}

TEST(AbText, DoubtsAMeanFarFromItsMedian) {
  stats::TestRecord test = keep_alive_run();
  test.latency_s = milliseconds(1, 10, 4, 1, 20);
  test.parts[2].second = milliseconds(1, 5, 3, 1, 20);
  const std::string report = ab_report(test, kPlain);
  EXPECT_NE(
      report.find("WARNING: The median and mean for the waiting time are not within a normal deviation\n"
                  "        These results are probably not that reliable.\n"
                  "ERROR: The median and mean for the total time are more than twice the standard\n"
                  "       deviation apart. These results are NOT reliable.\n"),
      std::string::npos)
      << report;
}

TEST(AbText, SortsFailuresIntoAbsKinds) {
  stats::TestRecord test;
  test.errors = {{"connect_refused", 1, {}}, {"tls", 2, {}},       {"timeout", 4, {}},
                 {"short_body", 8, {}},      {"protocol", 16, {}}, {"reset", 32, {}}};
  const AbFailures failures = ab_failures(test);
  EXPECT_EQ(failures.connect, 3U);
  EXPECT_EQ(failures.receive, 36U);
  EXPECT_EQ(failures.length, 8U);
  EXPECT_EQ(failures.exceptions, 16U);
}

TEST(AbText, HtmlIsATableWithoutForeignMarkup) {
  stats::TestRecord test = keep_alive_run();
  test.details["server_software"] = "<script>";
  AbOptions options;
  options.html = true;
  const std::string html = ab_report(test, options);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_NE(html.find("<tr ><th colspan=2 bgcolor=white>Complete requests:</th><td colspan=2 "
                      "bgcolor=white>400</td></tr>\n"),
            std::string::npos);
  EXPECT_NE(
      html.find(
          "<tr ><th bgcolor=white>Total:</th><td bgcolor=white>    0</td><td bgcolor=white>    0</td><td "
          "bgcolor=white>    3</td></tr>\n"),
      std::string::npos);
  test::expect_golden("ab.html", ab_report(keep_alive_run(), options));
}

TEST(AbText, Golden) {
  test::expect_golden("ab.txt", ab_banner("0.1.0", "127.0.0.1") + ab_report(keep_alive_run()));
}

TEST(AbText, ARunWithoutRequestsHasNoRates) {
  const std::string report = ab_report(stats::TestRecord{}, kPlain);
  EXPECT_NE(report.find("Complete requests:      0\n"), std::string::npos);
  EXPECT_EQ(report.find("Requests per second"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::report
