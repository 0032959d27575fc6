#include "report/ab_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/more_text.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::LatencySummary;
using stats::TestRecord;

struct Line {
  std::string label;
  std::string value;
};

std::string detail(const TestRecord& test, const std::string& key) {
  const auto found = test.details.find(key);
  return found == test.details.end() ? "" : printable(found->second);
}

LatencySummary part(const TestRecord& test, std::string_view name) {
  for (const auto& [part_name, times] : test.parts) {
    if (part_name == name) return times;
  }
  return name == "processing" ? test.latency_s : LatencySummary{};
}

std::uint64_t non_2xx(const TestRecord& test) {
  std::uint64_t count = 0;
  for (const auto& [status, times] : test.statuses) count += status / 100 == 2 ? 0 : times;
  return count;
}

std::vector<Line> server_lines(const TestRecord& test) {
  std::vector<Line> lines = {{"Server Software:", detail(test, "server_software")},
                             {"Server Hostname:", detail(test, "host")},
                             {"Server Port:", detail(test, "port")}};
  if (!detail(test, "tls").empty()) lines.push_back({"SSL/TLS Protocol:", detail(test, "tls")});
  return lines;
}

std::vector<Line> document_lines(const TestRecord& test) {
  const std::string length = detail(test, "document_length");
  return {{"Document Path:", detail(test, "document_path")},
          {"Document Length:", length == "Variable" ? length : (length.empty() ? "0" : length) + " bytes"}};
}

// The count of failures with ab's kinds on a line of their own is drawn by the caller.
std::vector<Line> count_lines(const TestRecord& test) {
  std::vector<Line> lines;
  if (non_2xx(test) > 0) lines.push_back({"Non-2xx responses:", fmt::format("{}", non_2xx(test))});
  if (detail(test, "keep_alive") != "no") {
    const std::string kept = detail(test, "keep_alive_requests");
    lines.push_back(
        {"Keep-Alive requests:", kept.empty() ? fmt::format("{}", test.connections.reused) : kept});
  }
  lines.push_back({"Total transferred:", fmt::format("{} bytes", test.bytes.received)});
  if (detail(test, "body_sent") == "yes")
    lines.push_back({"Total body sent:", fmt::format("{}", test.bytes.sent)});
  lines.push_back({"HTML transferred:", fmt::format("{} bytes", test.bytes.body_received)});
  return lines;
}

std::vector<Line> rate_lines(const TestRecord& test, bool html) {
  const double seconds = test.phases_s.measure;
  const auto requests = static_cast<double>(completed(test));
  if (seconds <= 0 || requests == 0) return {};
  const double received = static_cast<double>(test.bytes.received) / 1024 / seconds;
  const double sent = static_cast<double>(test.bytes.sent) / 1024 / seconds;
  std::vector<Line> lines;
  lines.push_back(
      {"Requests per second:", fmt::format("{:.2f}{}", requests / seconds, html ? "" : " [#/sec] (mean)")});
  if (!html) {
    lines.push_back({"Time per request:",
                     fmt::format("{:.3f} [ms] (mean)", test.concurrency * seconds * 1000 / requests)});
    lines.push_back({"Time per request:", fmt::format("{:.3f} [ms] (mean, across all concurrent requests)",
                                                      seconds * 1000 / requests)});
  }
  lines.push_back(
      {"Transfer rate:", fmt::format("{:.2f} {} received", received, html ? "kb/s" : "[Kbytes/sec]")});
  if (detail(test, "body_sent") == "yes") {
    lines.push_back({html ? "&nbsp;" : "", fmt::format("{:.2f} kb/s sent", sent)});
    lines.push_back({html ? "&nbsp;" : "", fmt::format("{:.2f} kb/s total", received + sent)});
  }
  return lines;
}

std::string failure_kinds(const TestRecord& test) {
  const AbFailures kinds = ab_failures(test);
  return fmt::format("   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})", kinds.connect,
                     kinds.receive, kinds.length, kinds.exceptions);
}

std::string text_of(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) out += fmt::format("{:<23} {}\n", line.label, line.value);
  return out;
}

long milliseconds(double seconds) {
  return std::lround(seconds * 1000);
}

struct Row {
  std::string_view label;
  std::string_view meaning;
  LatencySummary times;
};

std::array<Row, 4> time_rows(const TestRecord& test) {
  return {Row{"Connect:", "the initial connection time", part(test, "connect")},
          Row{"Processing:", "the processing time", part(test, "processing")},
          Row{"Waiting:", "the waiting time", part(test, "waiting")},
          Row{"Total:", "the total time", test.latency_s}};
}

// ab's doubt about a mean far from its median, asked of unrounded times: a doubt about rounding helps nobody.
std::string doubt(const Row& row) {
  const double distance = std::fabs(row.times.mean - row.times.p50);
  if (distance > 2 * row.times.stddev) {
    return fmt::format(
        "ERROR: The median and mean for {} are more than twice the standard\n"
        "       deviation apart. These results are NOT reliable.\n",
        row.meaning);
  }
  if (distance > row.times.stddev) {
    return fmt::format(
        "WARNING: The median and mean for {} are not within a normal deviation\n"
        "        These results are probably not that reliable.\n",
        row.meaning);
  }
  return "";
}

std::string time_table(const TestRecord& test, bool confidence) {
  std::string out = "\nConnection Times (ms)\n";
  out += confidence ? "              min  mean[+/-sd] median   max\n" : "              min   avg   max\n";
  std::string doubts;
  for (const Row& row : time_rows(test)) {
    const LatencySummary& times = row.times;
    if (confidence) {
      out += fmt::format("{:<12}{:5} {:4} {:5.1f} {:6} {:7}\n", row.label, milliseconds(times.min),
                         milliseconds(times.mean), times.stddev * 1000, milliseconds(times.p50),
                         milliseconds(times.max));
      doubts += doubt(row);
    } else {
      out += fmt::format("{:<12}{:5} {:5}{:5}\n", row.label, milliseconds(times.min),
                         milliseconds(times.mean), milliseconds(times.max));
    }
  }
  return out + doubts;
}

std::string percentage_table(const LatencySummary& times) {
  const std::array<std::pair<int, double>, 8> rows = {{{50, times.p50},
                                                       {66, times.p66},
                                                       {75, times.p75},
                                                       {80, times.p80},
                                                       {90, times.p90},
                                                       {95, times.p95},
                                                       {98, times.p98},
                                                       {99, times.p99}}};
  std::string out = "\nPercentage of the requests served within a certain time (ms)\n";
  for (const auto& [share, time] : rows) out += fmt::format("  {}%  {:5}\n", share, milliseconds(time));
  return out + fmt::format(" 100%  {:5} (longest request)\n", milliseconds(times.max));
}

std::string text_report(const TestRecord& test, const AbOptions& options) {
  std::string out = "\n\n" + text_of(server_lines(test)) + "\n" + text_of(document_lines(test)) + "\n";
  out += text_of({{"Concurrency Level:", fmt::format("{}", test.concurrency)},
                  {"Time taken for tests:", fmt::format("{:.3f} seconds", test.phases_s.measure)},
                  {"Complete requests:", fmt::format("{}", completed(test))},
                  {"Failed requests:", fmt::format("{}", test.operations.failed)}});
  if (test.operations.failed > 0) out += failure_kinds(test) + "\n";
  out += text_of(count_lines(test)) + text_of(rate_lines(test, false));
  if (completed(test) > 0) {
    out += time_table(test, options.confidence);
    if (options.percentages && completed(test) > 1) out += percentage_table(test.latency_s);
  }
  if (options.more) out += "\n" + more_lines(test);
  return out;
}

std::string html_row(std::string_view label, std::string_view value) {
  return fmt::format("<tr ><th colspan=2 bgcolor=white>{}</th><td colspan=2 bgcolor=white>{}</td></tr>\n",
                     label == "&nbsp;" ? std::string(label) : xml_escape(label), xml_escape(value));
}

std::string html_times(const TestRecord& test) {
  std::string out =
      "<tr ><th bgcolor=white colspan=4>Connection Times (ms)</th></tr>\n"
      "<tr ><th bgcolor=white>&nbsp;</th> <th bgcolor=white>min</th>   <th bgcolor=white>avg</th>   "
      "<th bgcolor=white>max</th></tr>\n";
  for (const Row& row : time_rows(test)) {
    if (row.label == "Waiting:") continue;
    out += fmt::format(
        "<tr ><th bgcolor=white>{}</th><td bgcolor=white>{:5}</td><td bgcolor=white>{:5}</td><td "
        "bgcolor=white>{:5}</td></tr>\n",
        row.label, milliseconds(row.times.min), milliseconds(row.times.mean), milliseconds(row.times.max));
  }
  return out;
}

std::string html_report(const TestRecord& test) {
  std::string out = "\n\n<table >\n";
  const auto add = [&](const std::vector<Line>& lines) {
    for (const Line& line : lines) out += html_row(line.label, line.value);
  };
  add(server_lines(test));
  add(document_lines(test));
  add({{"Concurrency Level:", fmt::format("{}", test.concurrency)},
       {"Time taken for tests:", fmt::format("{:.3f} seconds", test.phases_s.measure)},
       {"Complete requests:", fmt::format("{}", completed(test))},
       {"Failed requests:", fmt::format("{}", test.operations.failed)}});
  if (test.operations.failed > 0) {
    out += fmt::format("<tr ><td colspan=4 bgcolor=white >{}</td></tr>\n", failure_kinds(test));
  }
  add(count_lines(test));
  add(rate_lines(test, true));
  return out + html_times(test) + "</table>\n";
}

}  // namespace

AbFailures ab_failures(const TestRecord& test) {
  constexpr std::array connect = {"resolve",      "connect_refused",    "connect_timeout",
                                  "out_of_ports", "out_of_descriptors", "tls"};
  constexpr std::array receive = {"reset", "closed", "timeout", "deadline"};
  const auto holds = [](const auto& kinds, const std::string& kind) {
    return std::ranges::any_of(kinds, [&](const char* known) { return kind == known; });
  };
  AbFailures failures;
  for (const stats::ErrorCount& error : test.errors) {
    if (holds(connect, error.kind)) {
      failures.connect += error.count;
    } else if (holds(receive, error.kind)) {
      failures.receive += error.count;
    } else if (error.kind == "short_body") {
      failures.length += error.count;
    } else {
      failures.exceptions += error.count;
    }
  }
  return failures;
}

std::string ab_banner(const std::string& tool_version, const std::string& host) {
  return fmt::format("This is Plimsoll, Version {}\n\nBenchmarking {} (be patient)", tool_version,
                     printable(host));
}

std::string ab_report(const TestRecord& test, const AbOptions& options) {
  return options.html ? html_report(test) : text_report(test, options);
}

}  // namespace plimsoll::report
