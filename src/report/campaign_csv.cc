#include "report/campaign_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIteration = "iteration";
constexpr std::string_view kSpentTime = "spent_time";
constexpr std::string_view kResults = "_results.csv";
constexpr std::uint64_t kHighestIteration = 100'000'000;

// Reads one file row by row.
class ResultsReader {
 public:
  ResultsReader(CampaignSeries& series, std::vector<CampaignProblem>& problems)
      : series_(series), problems_(problems) {}

  void read(std::istream& in) {
    std::string line;
    while (std::getline(in, line)) {
      ++line_;
      const bool ended = !in.eof();
      take(line, ended);
    }
    if (in.bad()) problem("the file could not be read to its end");
    if (line_ == 0) problem("the file is empty");
    if (unnamed_ > 0) {
      problems_.push_back({series_.file, 0, fmt::format("{} more rows are not sound", unnamed_)});
    }
  }

 private:
  void problem(std::string text) {
    if (++named_ > kProblemsPerFile) {
      ++unnamed_;
    } else {
      problems_.push_back({series_.file, line_, std::move(text)});
    }
  }

  void take(std::string_view line, bool ended) {
    if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty()) return problem("blank line");
    if (!header_seen_) {
      header_seen_ = true;
      if (take_header(line)) return;
    }
    take_row(line, ended);
  }

  // True where the line is a header, whatever it names.
  bool take_header(std::string_view line) {
    const auto fields = split(line, ',');
    if (parse_double(trim(fields[0]))) {
      problem("there is no header; the columns are taken as iteration,spent_time");
      return false;
    }
    columns_ = fields.size();
    std::optional<std::size_t> iteration;
    std::optional<std::size_t> time;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (trim(fields[i]) == kIteration) iteration = i;
      if (trim(fields[i]) == kSpentTime) time = i;
    }
    if (!iteration || !time) {
      problem("the header does not name iteration and spent_time; the file is left out");
      usable_ = false;
      return true;
    }
    iteration_column_ = *iteration;
    time_column_ = *time;
    return true;
  }

  // split() into the same vector each time.
  const std::vector<std::string_view>& fields_of(std::string_view line) {
    fields_.clear();
    for (;;) {
      const auto comma = line.find(',');
      fields_.push_back(line.substr(0, comma));
      if (comma == std::string_view::npos) return fields_;
      line.remove_prefix(comma + 1);
    }
  }

  void take_row(std::string_view line, bool ended) {
    if (!usable_) return;
    const std::vector<std::string_view>& fields = fields_of(line);
    if (fields.size() != columns_) {
      return problem(ended ? fmt::format("{} columns where the header has {}; the row is left out",
                                         fields.size(), columns_)
                           : "the last line is cut off and left out");
    }
    const auto iteration = parse_u64(trim(fields[iteration_column_]));
    if (!iteration || *iteration > kHighestIteration) {
      return problem(fmt::format("iteration '{}' is no number; the row is left out",
                                 printable(trim(fields[iteration_column_]), 40)));
    }
    const std::string_view time_text = trim(fields[time_column_]);
    const auto time = parse_double(time_text);
    if (!time) {
      return problem(
          ended ? fmt::format("time '{}' is no finite number; the row is left out", printable(time_text, 40))
                : "the last line is cut off and left out");
    }
    if (*time < 0) return problem(fmt::format("time {} is negative; the row is left out", time_text));
    const auto digits = static_cast<std::size_t>(
        std::ranges::count_if(time_text, [](char c) { return c >= '0' && c <= '9'; }));
    if (!ended && !series_.seconds.empty() && digits < fewest_digits_) {
      return problem(
          "the last line has no end and fewer digits than any other: taken as cut off, and left out");
    }
    fewest_digits_ = std::min(fewest_digits_, digits);
    if (!first_of(*iteration)) {
      return problem(fmt::format("iteration {} came before; the later row is left out", *iteration));
    }
    series_.iterations.push_back(static_cast<std::uint32_t>(*iteration));
    series_.seconds.push_back(*time);
  }

  bool first_of(std::uint64_t iteration) {
    if (iteration >= seen_.size())
      seen_.resize(std::max<std::size_t>(iteration + 1, seen_.size() * 2), false);
    if (seen_[iteration]) return false;
    seen_[iteration] = true;
    return true;
  }

  CampaignSeries& series_;
  std::vector<CampaignProblem>& problems_;
  std::uint64_t line_ = 0;
  std::size_t named_ = 0;
  std::size_t unnamed_ = 0;
  bool header_seen_ = false;
  bool usable_ = true;
  std::size_t columns_ = 2;
  std::size_t iteration_column_ = 0;
  std::size_t time_column_ = 1;
  std::size_t fewest_digits_ = SIZE_MAX;
  std::vector<std::string_view> fields_;
  std::vector<bool> seen_;
};

// "concurrency-10" with the prefix "concurrency-" is 10; nullopt for another name.
std::optional<int> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_u64(name.substr(prefix.size()));
  if (!number || *number == 0 || *number > 1'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

std::vector<fs::path> entries(const fs::path& folder, bool directories) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored) == directories) out.push_back(it->path());
  }
  std::ranges::sort(out);
  return out;
}

// A target, and the number of an image where there are several; else 0.
using Subject = std::pair<std::string, int>;

class FolderReader {
 public:
  FolderReader(const fs::path& root, Campaign& campaign) : root_(root), campaign_(campaign) {}

  void read() {
    read_images(root_, campaign_.name);
    for (const fs::path& folder : entries(root_, true)) {
      if (!is_structure(folder)) read_images(folder, folder.filename().string());
    }
    name_missing_levels();
    name_missing();
  }

 private:
  static bool is_structure(const fs::path& folder) {
    const std::string name = folder.filename().string();
    return name.starts_with("concurrency-") || name.starts_with("repeat-") || name.starts_with("image-");
  }

  void read_images(const fs::path& folder, const std::string& target) {
    read_repeats(folder, {target, 0});
    for (const fs::path& inner : entries(folder, true)) {
      if (const auto image = number_after(inner.filename().string(), "image-"))
        read_repeats(inner, {target, *image});
    }
  }

  void read_repeats(const fs::path& folder, const Subject& subject) {
    read_levels(folder, subject, 0);
    for (const fs::path& inner : entries(folder, true)) {
      if (const auto repeat = number_after(inner.filename().string(), "repeat-"))
        read_levels(inner, subject, *repeat);
    }
  }

  void read_levels(const fs::path& folder, const Subject& subject, int repeat) {
    for (const fs::path& inner : entries(folder, true)) {
      const std::string name = inner.filename().string();
      if (!name.starts_with("concurrency-")) continue;
      if (const auto level = number_after(name, "concurrency-")) {
        read_level(inner, subject, repeat, *level);
      } else {
        problem(inner, "the level is no positive number; the folder is left out");
      }
    }
  }

  void read_level(const fs::path& folder, const Subject& subject, int repeat, int level) {
    const std::string where = folder.lexically_relative(root_).string();
    levels_.emplace(subject, where);
    all_levels_.insert(level);
    StudiedLevels& studied = studied_[{subject, repeat}];
    studied.folder = folder.lexically_relative(root_).parent_path().string();
    studied.levels.insert(level);
    for (const fs::path& path : entries(folder, false)) {
      const std::string name = path.filename().string();
      if (!name.ends_with(kResults) || name.size() == kResults.size()) continue;
      CampaignSeries series;
      series.target = subject.first;
      const std::string action = name.substr(0, name.size() - kResults.size());
      series.action = subject.second == 0 ? action : fmt::format("{} image-{}", action, subject.second);
      series.concurrency = level;
      series.repeat = repeat;
      series.file = path.lexically_relative(root_).string();
      actions_[subject].insert(action);
      std::ifstream in(path, std::ios::binary);
      if (!in.is_open()) {
        problem(path, "the file can't be opened");
        continue;
      }
      read_results(in, series, campaign_.problems);
      present_.emplace(where, action);
      if (series.seconds.empty()) {
        problem(path, "no row of the file is sound");
      } else {
        campaign_.series.push_back(std::move(series));
      }
    }
  }

  // A level that other targets, images or repeats have.
  void name_missing_levels() {
    for (const auto& [subject, studied] : studied_) {
      for (const int level : all_levels_) {
        if (studied.levels.contains(level)) continue;
        const fs::path place = fs::path(studied.folder) / fmt::format("concurrency-{}", level);
        campaign_.problems.push_back({place.string(), 0, "the level is missing; others have it"});
      }
    }
  }

  // An action that other levels of the same target and image have.
  void name_missing() {
    for (const auto& [subject, where] : levels_) {
      const auto known = actions_.find(subject);
      if (known == actions_.end()) continue;
      for (const std::string& action : known->second) {
        if (present_.contains({where, action})) continue;
        campaign_.problems.push_back(
            {where, 0, fmt::format("{}{} is missing; other levels have it", action, kResults)});
      }
    }
  }

  void problem(const fs::path& path, std::string text) {
    campaign_.problems.push_back({path.lexically_relative(root_).string(), 0, std::move(text)});
  }

  fs::path root_;
  Campaign& campaign_;
  struct StudiedLevels {
    std::string folder;
    std::set<int> levels;
  };
  std::map<std::pair<Subject, int>, StudiedLevels> studied_;  // by subject and repeat
  std::set<int> all_levels_;
  std::set<std::pair<Subject, std::string>> levels_;  // with their folders
  std::map<Subject, std::set<std::string>> actions_;
  std::set<std::pair<std::string, std::string>> present_;  // folder and action
};

int action_order(std::string_view action) {
  const std::string_view word = action.substr(0, action.find(' '));
  return word == "push" ? 0 : word == "pull" ? 1 : 2;
}

bool comes_before(const CampaignSeries& a, const CampaignSeries& b) {
  const auto key = [](const CampaignSeries& s) {
    return std::make_tuple(std::string_view(s.target), action_order(s.action), std::string_view(s.action),
                           s.concurrency, s.repeat);
  };
  return key(a) < key(b);
}

std::string folder_name(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  const std::string name = (error ? folder : whole).filename().string();
  return name.empty() ? "campaign" : name;
}

}  // namespace

std::string CampaignProblem::message() const {
  return line == 0 ? fmt::format("{}: {}", printable(file), text)
                   : fmt::format("{}:{}: {}", printable(file), line, text);
}

void read_results(std::istream& in, CampaignSeries& series, std::vector<CampaignProblem>& problems) {
  ResultsReader(series, problems).read(in);
  series.iterations.shrink_to_fit();
  series.seconds.shrink_to_fit();
}

Checked<Campaign> read_campaign(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return Refusal{fmt::format("{}: not a folder that can be read", printable(folder.string()))};
  }
  Campaign campaign;
  campaign.name = folder_name(folder);
  FolderReader(folder, campaign).read();
  if (campaign.series.empty()) {
    std::string why =
        campaign.problems.empty() ? "" : fmt::format(" ({})", campaign.problems.front().message());
    return Refusal{
        fmt::format("{}: no results: expected concurrency-N/push_results.csv or pull_results.csv{}",
                    printable(folder.string()), why)};
  }
  std::ranges::sort(campaign.series, comes_before);
  return campaign;
}

}  // namespace plimsoll::report
