#include "report/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>

#include "report/campaign_table.h"
#include "report/plain.h"
#include "report/run_program.h"
#include "report/thinning.h"
#include "stats/percentile.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kMostPoints = 4000;
constexpr std::array kColours = {"#0b6e99", "#d1495b", "#edae49", "#3d7f4a",
                                 "#6f4a8e", "#8a5a2b", "#4a4a4a", "#2a9d8f"};

struct Line {
  std::string title;
  Points points;
};

// Text in a gnuplot string that interprets nothing.
std::string gnuplot_string(std::string_view text) {
  std::string out = "'";
  for (const char c : printable(text)) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

// File names and titles of one target and action.
std::string slug(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    out += plain ? c : '-';
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

struct Axes {
  std::string x;
  std::string y;
  std::string extra;  // further commands
  std::string style;  // after "with"
};

std::string script(const std::string& name, const std::string& title, const Axes& axes,
                   const std::vector<Line>& lines) {
  std::string out = fmt::format(
      "reset session\nset encoding utf8\n"
      "set terminal svg size 960,540 dynamic noenhanced font 'sans,14' background '#ffffff'\n"
      "set output '{}.svg'\nset title {}\nset xlabel {}\nset ylabel {}\nset grid\nset key outside right\n{}",
      name, gnuplot_string(title), gnuplot_string(axes.x), gnuplot_string(axes.y), axes.extra);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out += fmt::format("$series{} << END\n", i);
    for (const auto& [x, y] : lines[i].points) out += fmt::format("{:.10g} {:.10g}\n", x, y);
    out += "END\n";
  }
  out += "plot ";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out +=
        fmt::format("{}$series{} using 1:2 with {} linecolor rgb '{}' title {}", i == 0 ? "" : ", \\\n     ",
                    i, axes.style, kColours[i % kColours.size()], gnuplot_string(lines[i].title));
  }
  return out + "\nset output\n";
}

// Draws the plots of the series that share a target and an action.
class ActionPlots {
 public:
  ActionPlots(std::vector<const CampaignSeries*> series, bool several_targets, const stats::Record& record)
      : series_(std::move(series)), record_(record) {
    const CampaignSeries& first = *series_.front();
    prefix_ = several_targets ? slug(first.target) + "_" + slug(first.action) : slug(first.action);
    word_ = upper(printable(first.action));
    suffix_ = ", " + first.target;
  }

  std::vector<Plot> all() {
    by_iteration();
    by_concurrency();
    throughput();
    by_percentile();
    return std::move(plots_);
  }

 private:
  std::string line_title(const CampaignSeries& series) const {
    return series.repeat > 0 ? fmt::format("{} (repeat {})", series.concurrency, series.repeat)
                             : fmt::format("{}", series.concurrency);
  }

  void add(const std::string& name, const std::string& title, const Axes& axes,
           const std::vector<Line>& lines) {
    const std::string file = prefix_ + "_" + name;
    plots_.push_back({file, title + suffix_, script(file, title + suffix_, axes, lines)});
  }

  static Points iteration_points(const CampaignSeries& series) {
    Points points;
    points.reserve(series.seconds.size());
    for (std::size_t i = 0; i < series.seconds.size(); ++i)
      points.emplace_back(series.iterations[i], series.seconds[i]);
    std::ranges::sort(points);
    return thinned(std::move(points), kMostPoints);
  }

  void by_iteration() {
    const Axes axes = {"iteration", "time, s", "set yrange [0:*]\n", "points pointtype 7 pointsize 0.3"};
    std::vector<Line> together;
    for (const CampaignSeries* series : series_) {
      Line line{line_title(*series), iteration_points(*series)};
      std::string name = fmt::format("time_iteration_concurrency-{}", series->concurrency);
      if (series->repeat > 0) name += fmt::format("_repeat-{}", series->repeat);
      add(name, fmt::format("{}_TIME(ITERATION, CONCURRENCY={})", word_, line.title), axes, {line});
      together.push_back(std::move(line));
    }
    add("time_iteration_all", word_ + "_TIME(ITERATION, CONCURRENCY)", axes, together);
  }

  // The times of all repeats of each level, sorted.
  std::map<int, std::vector<double>> levels() const {
    std::map<int, std::vector<double>> out;
    for (const CampaignSeries* series : series_) {
      std::vector<double>& times = out[series->concurrency];
      times.insert(times.end(), series->seconds.begin(), series->seconds.end());
    }
    for (auto& [level, times] : out) std::ranges::sort(times);
    return out;
  }

  void by_concurrency() {
    std::vector<Line> lines = {{"minimum", {}}, {"mean", {}}, {"90th percentile", {}}, {"maximum", {}}};
    for (const auto& [level, times] : levels()) {
      const double mean =
          std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
      lines[0].points.emplace_back(level, times.front());
      lines[1].points.emplace_back(level, mean);
      lines[2].points.emplace_back(level, stats::percentile_linear(times, 0.9));
      lines[3].points.emplace_back(level, times.back());
    }
    add("time_concurrency", word_ + "_TIME(CONCURRENCY)",
        {"concurrency", "time, s", "set xrange [0:*]\nset yrange [0:*]\n",
         "linespoints linewidth 2 pointtype 7"},
        lines);
  }

  // The rate that was measured; nullopt where the record has none.
  std::optional<double> measured_rate(const CampaignSeries& series) const {
    for (const stats::TestRecord& test : record_.tests) {
      if (belongs(series, test) && test.rate_per_s > 0 && !test.details.contains("rate"))
        return test.rate_per_s;
    }
    return std::nullopt;
  }

  void throughput() {
    std::map<int, std::pair<double, int>> rates;  // sum and number of repeats
    bool estimated = false;
    for (const CampaignSeries* series : series_) {
      const double mean = std::accumulate(series->seconds.begin(), series->seconds.end(), 0.0) /
                          static_cast<double>(series->seconds.size());
      const auto measured = measured_rate(*series);
      if (!measured && mean <= 0) continue;
      estimated = estimated || !measured;
      auto& [sum, repeats] = rates[series->concurrency];
      sum += measured ? *measured : series->concurrency / mean;
      ++repeats;
    }
    if (rates.empty()) return;
    Line line{estimated ? "estimated from concurrency and mean time" : "measured", {}};
    for (const auto& [level, rate] : rates) line.points.emplace_back(level, rate.first / rate.second);
    add("throughput_concurrency", word_ + "_THROUGHPUT(CONCURRENCY)",
        {"concurrency", "operations a second", "set xrange [0:*]\nset yrange [0:*]\nset key below\n",
         "linespoints linewidth 2 pointtype 7"},
        {line});
  }

  void by_percentile() {
    std::vector<Line> lines;
    double right = 10;
    for (const auto& [level, times] : levels()) {
      Line line{fmt::format("{}", level), percentile_curve(times)};
      right = std::max(right, line.points.back().first);
      lines.push_back(std::move(line));
    }
    add("latency_percentile", word_ + "_TIME(PERCENTILE)",
        {"percentile", "time, s",
         fmt::format(
             "set logscale x 10\nset logscale y 10\nset xrange [1:{:.10g}]\n"
             "set xtics ('0' 1, '50' 2, '90' 10, '99' 100, '99.9' 1000, '99.99' 10000, '99.999' 100000)\n",
             right),
         "lines linewidth 2"},
        lines);
  }

  std::vector<const CampaignSeries*> series_;
  const stats::Record& record_;
  std::string prefix_;
  std::string word_;
  std::string suffix_;
  std::vector<Plot> plots_;
};

}  // namespace

std::vector<Plot> campaign_plots(const Campaign& campaign, const stats::Record& record) {
  std::map<std::string, int> targets;
  for (const CampaignSeries& series : campaign.series) ++targets[series.target];
  std::vector<Plot> plots;
  for (std::size_t first = 0; first < campaign.series.size();) {
    std::vector<const CampaignSeries*> group;
    const CampaignSeries& head = campaign.series[first];
    for (; first < campaign.series.size(); ++first) {
      const CampaignSeries& series = campaign.series[first];
      if (series.target != head.target || series.action != head.action) break;
      group.push_back(&series);
    }
    std::ranges::move(ActionPlots(std::move(group), targets.size() > 1, record).all(),
                      std::back_inserter(plots));
  }
  return plots;
}

Checked<void> draw_plots(const std::vector<Plot>& plots, const std::filesystem::path& folder, Nanos timeout,
                         const std::string& program) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::vector<std::string> arguments = {program};
  for (const Plot& plot : plots) {
    const auto path = folder / (plot.name + ".gp");
    std::ofstream file(path, std::ios::binary);
    file << plot.script;
    file.close();
    if (!file) return Refusal{fmt::format("{}: can't be written: {}", path.string(), std::strerror(errno))};
    arguments.push_back(plot.name + ".gp");
  }
  if (plots.empty()) return {};
  const auto end = run_program(arguments, folder, timeout);
  if (!end) {
    return Refusal{
        fmt::format("plots are not drawn: {}; the scripts are in {}", end.error().message, folder.string())};
  }
  if (end->exit_code != 0) {
    return Refusal{fmt::format("plots are not drawn: {} ended with code {}: {}", program, end->exit_code,
                               printable(end->messages, 200))};
  }
  return {};
}

}  // namespace plimsoll::report
