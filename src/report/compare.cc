#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/compare_samples.h"
#include "report/markdown.h"
#include "report/plain.h"
#include "report/statistics.h"

namespace plimsoll::report {
namespace {

constexpr std::size_t kRepeatsAlone = 6;  // enough to test with, corrected for several figures
constexpr std::size_t kFewestBlocks = 6;
constexpr double kLevel = 0.05;
constexpr double kFloor = 0.02;
constexpr double kShareFloor = 0.001;
constexpr int kRounds = 2000;
constexpr std::uint64_t kSeed = 0xc04f'a5e5;

std::set<std::string> targets(const CompareSide& side) {
  std::set<std::string> out;
  for (const stats::Record& record : side.records) {
    for (const stats::TestRecord& test : record.tests) out.insert(test.target);
  }
  return out;
}

double change_of(Unit unit, double base, double now) {
  if (unit == Unit::share) return now - base;
  return base != 0 ? now / base - 1 : 0;
}

double half_difference(Unit unit, const std::vector<double>& values) {
  const std::span<const double> all(values);
  const auto half = values.size() / 2;
  return std::fabs(change_of(unit, mean(all.first(half)), mean(all.subspan(half))));
}

bool overlap(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::max(a) >= std::ranges::min(b) && std::ranges::max(b) >= std::ranges::min(a);
}

// One figure of one test on both sides, on its way to a Change.
struct Candidate {
  Change change;
  bool beyond_own_noise = false;
};

class FigureComparison {
 public:
  FigureComparison(const ComparedTest& base, const ComparedTest& now, const std::string& figure,
                   const Figure& head)
      : base_repeats_(repeat_values(base, figure)),
        now_repeats_(repeat_values(now, figure)),
        unit_(head.unit) {
    out_.change.test = base.name;
    out_.change.figure = figure;
    out_.change.unit = head.unit;
    out_.change.better = head.better;
    const bool repeats = std::min(base_repeats_.size(), now_repeats_.size()) >= kRepeatsAlone;
    base_ = repeats ? base_repeats_ : block_values(base, figure);
    now_ = repeats ? now_repeats_ : block_values(now, figure);
    word_ = repeats ? "repeats" : "blocks";
  }

  Candidate run(Random& random) {
    Change& change = out_.change;
    change.base = mean(base_repeats_);
    change.now = mean(now_repeats_);
    change.change = change.low = change.high = change_of(unit_, change.base, change.now);
    const bool few_blocks = std::min(base_.size(), now_.size()) < kFewestBlocks;
    if (few_blocks && std::min(base_repeats_.size(), now_repeats_.size()) > 1) {
      change.p_value = 0;
      believe_repeats();
      change.basis = fmt::format("{} and {} repeats", base_repeats_.size(), now_repeats_.size());
      out_.beyond_own_noise = beyond_own_noise();
      return out_;
    }
    if (few_blocks) {
      change.basis = "nothing to test with";
      return out_;
    }
    change.basis = fmt::format("{} and {} {}", base_.size(), now_.size(), word_);
    change.p_value = rank_test(base_, now_).two_sided;
    interval(random);
    if (word_ == "blocks") believe_repeats();
    out_.beyond_own_noise = beyond_own_noise();
    return out_;
  }

 private:
  void interval(Random& random) {
    std::vector<double> results;
    results.reserve(kRounds);
    const auto drawn_mean = [&](const std::vector<double>& values) {
      double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.below(values.size())];
      return sum / static_cast<double>(values.size());
    };
    for (int round = 0; round < kRounds; ++round) {
      const double base = drawn_mean(base_);
      results.push_back(change_of(unit_, base, drawn_mean(now_)));
    }
    out_.change.low = quantile(results, 0.025);
    out_.change.high = quantile(results, 0.975);
  }

  // Blocks of one run are more alike than runs are. Two to five repeats are too few for ranks, but enough to tell
  // what runs differ by: the change has to stand out of that too.
  void believe_repeats() {
    if (std::min(base_repeats_.size(), now_repeats_.size()) < 2) return;
    const WelchTest runs = welch_test(base_repeats_, now_repeats_);
    out_.change.p_value = std::max(out_.change.p_value, runs.p_value);
    const double scale = unit_ == Unit::share || out_.change.base == 0 ? 1 : std::fabs(out_.change.base);
    out_.change.low = std::min(out_.change.low, runs.low / scale);
    out_.change.high = std::max(out_.change.high, runs.high / scale);
    out_.change.basis =
        fmt::format("{} and {} repeats in {}", base_repeats_.size(), now_repeats_.size(), out_.change.basis);
  }

  bool beyond_own_noise() const {
    if (base_repeats_.size() >= kRepeatsAlone && now_repeats_.size() >= kRepeatsAlone) return true;
    if (base_repeats_.size() > 1 && now_repeats_.size() > 1) return !overlap(base_repeats_, now_repeats_);
    return std::fabs(out_.change.change) >
           std::max(half_difference(unit_, base_), half_difference(unit_, now_));
  }

  std::vector<double> base_repeats_;
  std::vector<double> now_repeats_;
  std::vector<double> base_;
  std::vector<double> now_;
  std::string word_;
  Unit unit_;
  Candidate out_;
};

void judge(std::vector<Candidate>& candidates) {
  std::vector<double> p_values;
  for (const Candidate& candidate : candidates) p_values.push_back(candidate.change.p_value);
  const std::vector<double> adjusted = holm(p_values);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Change& change = candidates[i].change;
    change.p_value = adjusted[i];
    const double floor = change.unit == Unit::share ? kShareFloor : kFloor;
    change.significant = candidates[i].beyond_own_noise && adjusted[i] < kLevel &&
                         change.low * change.high > 0 && std::fabs(change.change) >= floor;
  }
}

std::string change_text(const Change& change, double value) {
  return fmt::format("{:+.2f}{}", value * 100, change.unit == Unit::share ? " points" : "%");
}

std::string verdict(const Change& change) {
  if (!change.significant) return "~";
  return change.is_worse() ? "worse" : change.is_better() ? "better" : "changed";
}

std::vector<std::string> header(const Comparison& comparison) {
  return {"Test",
          "Figure",
          printable(comparison.base_name),
          printable(comparison.new_name),
          "Change",
          "95% interval",
          "p",
          "Basis",
          "Verdict"};
}

std::vector<std::string> row(const Change& change) {
  return {printable(change.test),
          change.figure,
          human(change.unit, change.base),
          human(change.unit, change.now),
          change_text(change, change.change),
          fmt::format("{} to {}", change_text(change, change.low), change_text(change, change.high)),
          fmt::format("{:.2g}", change.p_value),
          change.basis,
          verdict(change)};
}

constexpr std::string_view kLegend =
    "~ is no more than noise. Ranks of repeats or blocks, corrected by Holm over all figures; a floor of 2%.";

}  // namespace

bool Change::is_worse() const {
  return significant && ((better == Better::lower && change > 0) || (better == Better::higher && change < 0));
}

bool Change::is_better() const {
  return significant && ((better == Better::lower && change < 0) || (better == Better::higher && change > 0));
}

bool Comparison::any_worse() const {
  return std::ranges::any_of(changes, [](const Change& change) { return change.is_worse(); });
}

Comparison compare(const CompareSide& base, const CompareSide& now) {
  Comparison out;
  out.base_name = base.name;
  out.new_name = now.name;
  const bool with_target = targets(base).size() > 1 && targets(now).size() > 1;
  const std::vector<ComparedTest> base_tests = compared_tests(base, with_target);
  const std::vector<ComparedTest> now_tests = compared_tests(now, with_target);
  Random random(kSeed);
  std::vector<Candidate> candidates;
  for (const ComparedTest& test : base_tests) {
    const auto other = std::ranges::find(now_tests, test.name, &ComparedTest::name);
    if (other == now_tests.end()) {
      out.notes.push_back(fmt::format("'{}' is only in {}", test.name, base.name));
      continue;
    }
    for (const char* figure : kComparedFigures) {
      const auto head = find_figure(*test.runs.front().test, figure);
      const auto there = find_figure(*other->runs.front().test, figure);
      if (!head || !head->known || !there || !there->known) continue;
      candidates.push_back(FigureComparison(test, *other, figure, *head).run(random));
    }
    if (std::min(test.runs.size(), other->runs.size()) < 2) {
      out.notes.push_back(fmt::format(
          "'{}' ran once on a side: what differs from run to run can't be told from a change", test.name));
    }
  }
  for (const ComparedTest& test : now_tests) {
    if (std::ranges::find(base_tests, test.name, &ComparedTest::name) == base_tests.end()) {
      out.notes.push_back(fmt::format("'{}' is only in {}", test.name, now.name));
    }
  }
  judge(candidates);
  for (Candidate& candidate : candidates) out.changes.push_back(std::move(candidate.change));
  return out;
}

std::string compare_text(const Comparison& comparison) {
  std::string lines;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) lines += (i > 0 ? "\t " : "") + cells[i];
    lines += "\n";
  };
  add(header(comparison));
  for (const Change& change : comparison.changes) add(row(change));
  std::string out = align_tabs(lines) + "\n" + std::string(kLegend) + "\n";
  for (const std::string& note : comparison.notes) out += printable(note) + "\n";
  return out;
}

std::string compare_markdown(const Comparison& comparison) {
  const auto escaped = [](const std::vector<std::string>& cells) {
    std::vector<std::string> out;
    for (const std::string& cell : cells) out.push_back(cell == "~" ? cell : markdown_text(cell));
    return out;
  };
  std::vector<std::vector<std::string>> rows;
  for (const Change& change : comparison.changes) {
    rows.push_back(escaped(row(change)));
    if (change.significant) rows.back().back() = "**" + rows.back().back() + "**";
  }
  std::string out = markdown_table(escaped(header(comparison)), rows, 2) + "\n" + std::string(kLegend) + "\n";
  if (!comparison.notes.empty()) out += "\n";
  for (const std::string& note : comparison.notes) out += "- " + markdown_text(note) + "\n";
  return out;
}

std::vector<stats::Threshold> evaluate(const ChangeRule& rule, const Comparison& comparison) {
  std::vector<stats::Threshold> rows;
  for (const Change& change : comparison.changes) {
    const bool named = change.test == rule.test || change.test.starts_with(rule.test + " c=");
    if (change.figure != rule.figure || (!rule.test.empty() && !named)) continue;
    const bool fails = change.significant && holds(change.change, rule.op, rule.change);
    rows.push_back({fmt::format("{}: {} {}", change.test, rule.figure, change_text(change, change.change)) +
                        " (" + rule.text + ")",
                    change.change, !fails});
  }
  if (rows.empty()) rows.push_back({rule.text + " (nothing was compared for it)", 0, false});
  return rows;
}

}  // namespace plimsoll::report
