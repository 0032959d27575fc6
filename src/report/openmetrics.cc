#include "report/openmetrics.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>

#include "report/plain.h"
#include "stats/histogram.h"
#include "stats/percentile.h"

namespace plimsoll::report {
namespace {

using stats::Record;
using stats::TestRecord;

// Upper bounds of the buckets, in seconds: what dashboards of HTTP services use, down to 100 us and up to 10 min.
constexpr std::array kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,  0.1,  0.25,
                                0.5,    1.0,     2.5,    5.0,   10.0,   25.0,  60.0, 150.0, 300.0, 600.0};

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : printable(text, 1000)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string labels(const TestRecord& test, const std::string& more = "") {
  return fmt::format(R"({{test="{}",target="{}",action="{}",concurrency="{}",repeat="{}"{}{}}})",
                     label_value(test.name), label_value(test.target), label_value(test.action),
                     test.concurrency, test.repeat, more.empty() ? "" : ",", more);
}

std::string label(std::string_view name, std::string_view value) {
  return fmt::format(R"({}="{}")", name, label_value(value));
}

// Writes one family: its head, then what `each` writes of every test.
class Writer {
 public:
  explicit Writer(const Record& record) : record_(record) {}

  void family(const std::string& name, const char* type, const char* unit, const char* help,
              const std::function<void(const TestRecord&)>& each) {
    name_ = name;
    out_ += fmt::format("# TYPE {} {}\n", name, type);
    if (*unit != 0) out_ += fmt::format("# UNIT {} {}\n", name, unit);
    out_ += fmt::format("# HELP {} {}\n", name, help);
    for (const TestRecord& test : record_.tests) each(test);
  }

  void sample(std::string_view suffix, const std::string& label_set, double value) {
    out_ += fmt::format("{}{}{} {}\n", name_, suffix, label_set, json_number(value));
  }

  std::string finish() { return std::move(out_) + "# EOF\n"; }

 private:
  const Record& record_;
  std::string name_;
  std::string out_;
};

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

void counters(Writer& out) {
  out.family(
      "plimsoll_operations", "counter", "", "Operations by how they ended.", [&](const TestRecord& test) {
        out.sample("_total", labels(test, label("result", "ok")), number(test.operations.ok));
        out.sample("_total", labels(test, label("result", "failed")), number(test.operations.failed));
        out.sample("_total", labels(test, label("result", "aborted")), number(test.operations.aborted));
      });
  out.family("plimsoll_errors", "counter", "", "Failed operations by kind.", [&](const TestRecord& test) {
    for (const auto& error : test.errors)
      out.sample("_total", labels(test, label("kind", error.kind)), number(error.count));
  });
  out.family("plimsoll_notes", "counter", "", "What strayed from the standard and was survived.",
             [&](const TestRecord& test) {
               for (const auto& note : test.notes) {
                 out.sample("_total", labels(test, label("kind", note.kind)), number(note.count));
               }
             });
  out.family("plimsoll_responses", "counter", "", "Operations by their last status.",
             [&](const TestRecord& test) {
               for (const auto& [status, count] : test.statuses) {
                 out.sample("_total", labels(test, label("code", fmt::format("{}", status))), number(count));
               }
             });
  out.family("plimsoll_bytes", "counter", "", "Bytes on the wire and of bodies.",
             [&](const TestRecord& test) {
               const auto one = [&](const char* direction, const char* part, std::uint64_t count) {
                 out.sample("_total", labels(test, label("direction", direction) + "," + label("part", part)),
                            number(count));
               };
               one("sent", "wire", test.bytes.sent);
               one("received", "wire", test.bytes.received);
               one("sent", "body", test.bytes.body_sent);
               one("received", "body", test.bytes.body_received);
             });
  out.family("plimsoll_connections", "counter", "", "Connections by what became of them.",
             [&](const TestRecord& test) {
               out.sample("_total", labels(test, label("event", "opened")), number(test.connections.opened));
               out.sample("_total", labels(test, label("event", "reused")), number(test.connections.reused));
               out.sample("_total", labels(test, label("event", "reconnected")),
                          number(test.connections.reconnected));
             });
}

void gauges(Writer& out) {
  out.family("plimsoll_rate_per_second", "gauge", "", "Completed operations a second of the measure phase.",
             [&](const TestRecord& test) { out.sample("", labels(test), test.rate_per_s); });
  out.family("plimsoll_measure_seconds", "gauge", "seconds", "Length of the measure phase.",
             [&](const TestRecord& test) { out.sample("", labels(test), test.phases_s.measure); });
  out.family("plimsoll_latency_seconds", "gauge", "seconds", "Latency of good operations by quantile.",
             [&](const TestRecord& test) {
               if (test.latency_s.count == 0) return;
               out.sample("", labels(test, label("quantile", "0")), test.latency_s.min);
               for (const auto& percentile : stats::summary_percentiles()) {
                 out.sample("",
                            labels(test, label("quantile", json_number(percentile.per_ten_thousand / 1e4))),
                            test.latency_s.*percentile.member);
               }
               out.sample("", labels(test, label("quantile", "1")), test.latency_s.max);
             });
}

void histogram(Writer& out, const TestRecord& test) {
  const auto encoded = test.histograms.find("latency");
  if (encoded == test.histograms.end()) return;
  const auto times = stats::Histogram::decode_v2(encoded->second);
  if (!times) return;
  for (const double bound : kBounds) {
    const auto within = times->count_up_to(static_cast<std::uint64_t>(std::llround(bound * 1e9)));
    out.sample("_bucket", labels(test, label("le", json_number(bound))), number(within));
  }
  out.sample("_bucket", labels(test, label("le", "+Inf")), number(times->count()));
  out.sample("_count", labels(test), number(times->count()));
  out.sample("_sum", labels(test), times->mean() * number(times->count()) * 1e-9);
}

}  // namespace

std::string openmetrics(const Record& record) {
  Writer out(record);
  std::string info = fmt::format(
      "# TYPE plimsoll_build info\n# HELP plimsoll_build The program.\nplimsoll_build_info{{version=\"{}\"}} "
      "1\n",
      label_value(record.tool_version));
  counters(out);
  gauges(out);
  out.family("plimsoll_operation_duration_seconds", "histogram", "seconds", "Latency of good operations.",
             [&](const TestRecord& test) { histogram(out, test); });
  return info + out.finish();
}

}  // namespace plimsoll::report
