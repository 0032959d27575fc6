#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "report/plain.h"
#include "stats/percentile.h"

namespace plimsoll::report {
namespace {

using stats::Bytes;
using stats::LatencySummary;
using stats::TestRecord;

using Figures = std::vector<Figure>;

std::string normal(std::string_view name) {
  std::string out = to_lower(trim(name));
  std::ranges::replace(out, '_', ' ');
  return out;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}
double number(std::uint64_t value) {
  return static_cast<double>(value);
}

void append(Figures& out, Figures more) {
  std::ranges::move(more, std::back_inserter(out));
}

void add_counts(Figures& out, const TestRecord& test) {
  const double all = number(completed(test));
  out.push_back({"rate", Unit::per_second, Better::higher, test.rate_per_s, test.phases_s.measure > 0});
  out.push_back({"errors", Unit::share, Better::lower, ratio(number(test.operations.failed), all),
                 all > 0 && !test.details.contains("rate")});  // raw times alone tell of no failure
  out.push_back({"started", Unit::count, Better::neither, number(test.operations.started)});
  out.push_back({"ok", Unit::count, Better::higher, number(test.operations.ok)});
  out.push_back({"failed", Unit::count, Better::lower, number(test.operations.failed)});
  out.push_back({"aborted", Unit::count, Better::lower, number(test.operations.aborted)});
}

void add_bytes(Figures& out, const TestRecord& test) {
  const double seconds = test.phases_s.measure;
  const Bytes& bytes = test.bytes;
  const std::pair<const char*, std::uint64_t> directions[] = {{"sent", bytes.sent},
                                                              {"received", bytes.received}};
  const std::pair<const char*, std::uint64_t> bodies[] = {{"sent", bytes.body_sent},
                                                          {"received", bytes.body_received}};
  const auto rate = [&](std::string name, std::uint64_t count) {
    out.push_back({std::move(name), Unit::bytes_per_second, Better::higher, ratio(number(count), seconds),
                   seconds > 0});
  };
  for (const auto& [name, count] : directions) rate(fmt::format("throughput {}", name), count);
  for (const auto& [name, count] : bodies) rate(fmt::format("body throughput {}", name), count);
  for (const auto& [name, count] : directions) {
    out.push_back({fmt::format("bytes {}", name), Unit::bytes, Better::neither, number(count)});
  }
  for (const auto& [name, count] : bodies) {
    out.push_back({fmt::format("body bytes {}", name), Unit::bytes, Better::neither, number(count)});
  }
}

void add_connections(Figures& out, const stats::Connections& connections) {
  out.push_back({"connections opened", Unit::count, Better::neither, number(connections.opened)});
  out.push_back({"connections reused", Unit::count, Better::neither, number(connections.reused)});
  out.push_back({"connections reconnected", Unit::count, Better::lower, number(connections.reconnected)});
  append(out, latency_figures(connections.connect_s, "connection "));
  append(out, latency_figures(connections.tls_s, "tls "));
}

void add_open_loop(Figures& out, const std::optional<stats::OpenLoop>& loop) {
  if (!loop) return;
  out.push_back({"offered", Unit::per_second, Better::neither, loop->offered_per_s});
  out.push_back({"sent", Unit::per_second, Better::higher, loop->sent_per_s});
  out.push_back({"completed", Unit::per_second, Better::higher, loop->completed_per_s});
  out.push_back({"backlog", Unit::count, Better::lower, number(loop->backlog_max)});
  out.push_back({"backlog age", Unit::seconds, Better::lower, loop->backlog_age_max_s});
}

void add_checks(Figures& out, const TestRecord& test) {
  const stats::Checks& checks = test.checks;
  out.push_back({"client cpu", Unit::share, Better::lower, checks.client_cpu});
  out.push_back({"run delay", Unit::share, Better::lower, checks.run_delay_share});
  out.push_back({"littles law error", Unit::share, Better::lower, checks.littles_law_error});
  out.push_back({"concurrency reached", Unit::count, Better::neither, checks.concurrency_reached});
  const bool open = test.open_loop.has_value();
  out.push_back({"lag p50", Unit::seconds, Better::lower, checks.schedule_lag_p50_s, open});
  out.push_back({"lag p99", Unit::seconds, Better::lower, checks.schedule_lag_p99_s, open});
  out.push_back({"lag p99.9", Unit::seconds, Better::lower, checks.schedule_lag_p999_s, open});
}

void add_phases(Figures& out, const stats::Phases& phases) {
  const std::pair<const char*, double> all[] = {{"prepare", phases.prepare}, {"setup", phases.setup},
                                                {"warmup", phases.warmup},   {"measure", phases.measure},
                                                {"drain", phases.drain},     {"cleanup", phases.cleanup}};
  for (const auto& [name, seconds] : all) {
    out.push_back({fmt::format("{} time", name), Unit::seconds, Better::neither, seconds});
  }
}

}  // namespace

std::vector<Figure> latency_figures(const LatencySummary& times, std::string_view prefix) {
  std::vector<Figure> out;
  const auto add = [&](std::string_view name, double seconds) {
    out.push_back(
        {fmt::format("{}{}", prefix, name), Unit::seconds, Better::lower, seconds, times.count > 0});
  };
  add("min", times.min);
  add("mean", times.mean);
  add("stddev", times.stddev);
  add("max", times.max);
  for (const stats::NamedPercentile& percentile : stats::summary_percentiles()) {
    add(percentile.name, times.*percentile.member);
  }
  return out;
}

std::vector<Figure> figures(const TestRecord& test) {
  std::vector<Figure> out;
  add_counts(out, test);
  append(out, latency_figures(test.latency_s, ""));
  append(out, latency_figures(test.service_s, "service "));
  append(out, latency_figures(test.failed_latency_s, "failed "));
  add_bytes(out, test);
  add_connections(out, test.connections);
  add_open_loop(out, test.open_loop);
  add_checks(out, test);
  add_phases(out, test.phases_s);
  for (const auto& [name, times] : test.parts) append(out, latency_figures(times, name + " "));
  for (const stats::StepRecord& step : test.steps) {
    out.push_back({step.name + " count", Unit::count, Better::neither, number(step.count)});
    append(out, latency_figures(step.latency_s, step.name + " "));
    append(out, latency_figures(step.ttfb_s, step.name + " ttfb "));
  }
  return out;
}

std::optional<Figure> find_figure(const TestRecord& test, std::string_view name) {
  const std::string wanted = normal(name);
  for (Figure& figure : figures(test)) {
    if (normal(figure.name) == wanted) return std::move(figure);
  }
  return std::nullopt;
}

std::string human(Unit unit, double value) {
  switch (unit) {
    case Unit::seconds:
      return human_duration(value);
    case Unit::per_second:
      return std::fabs(value) < 999.5 ? fmt::format("{:.3g}/s", value) : fmt::format("{:.0f}/s", value);
    case Unit::bytes:
      return human_size(value);
    case Unit::bytes_per_second:
      return human_size(value) + "/s";
    case Unit::share:
      return percent(value, 1);
    case Unit::count:
      return fmt::format("{:.10g}", value);
  }
  return "";
}

std::string human(const Figure& figure) {
  return figure.known ? human(figure.unit, figure.value) : "-";
}

std::string column_name(const Figure& figure) {
  std::string name = figure.name;
  std::ranges::replace(name, ' ', '_');
  switch (figure.unit) {
    case Unit::seconds:
      return name + "_s";
    case Unit::per_second:
      return name + "_per_s";
    case Unit::bytes_per_second:
      return name + "_bytes_per_s";
    case Unit::bytes:
    case Unit::share:
    case Unit::count:
      return name;
  }
  return name;
}

}  // namespace plimsoll::report
