#include "stats/hdr_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>

namespace plimsoll::stats {
namespace {

constexpr double kMillisecond = 1e6;
constexpr double kTicksPerHalving = 5;
constexpr double kLastLevel =
    100 - 1e-9;  // what is nearer to 100% cannot be told apart from it, nor be left again

double milliseconds(double nanoseconds) {
  return nanoseconds / kMillisecond;
}

double next_level(double level) {
  const double halvings = std::floor(std::log2(100 / (100 - level))) + 1;
  return level + 100 / (kTicksPerHalving * std::exp2(halvings));
}

class Table {
 public:
  explicit Table(const Histogram& histogram) : histogram_(histogram) {
    text_ = fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount",
                        "1/(1-Percentile)");
    double level = 0;
    std::uint64_t seen = 0;
    if (histogram.count() == 0) return;
    for (std::size_t i = histogram.bucket_of(histogram.min()); seen < histogram.count(); ++i) {
      const bool last = i + 1 == histogram.buckets();
      const std::uint64_t n = histogram.count_at(i) + (last ? histogram.overflowed() : 0);
      if (n == 0) continue;
      seen += n;
      value_ = last && histogram.overflowed() > 0 ? histogram.max() : histogram.bucket_high(i);
      const double reached = 100.0 * static_cast<double>(seen) / static_cast<double>(histogram.count());
      // Level by level, as far as this bucket reaches; once all is counted one row of the level and the 100% end it.
      while (level < kLastLevel && reached >= level) {
        row(level, seen);
        level = next_level(level);
        if (seen == histogram.count()) break;
      }
    }
    row(100, seen);
  }

  std::string text() && { return std::move(text_); }

 private:
  void row(double level, std::uint64_t seen) {
    const auto value = static_cast<double>(std::clamp(value_, histogram_.min(), histogram_.max()));
    fmt::format_to(std::back_inserter(text_), "{:12.3f} {:2.12f} {:10}", milliseconds(value), level / 100,
                   seen);
    if (level < 100) fmt::format_to(std::back_inserter(text_), " {:14.2f}", 1 / (1 - level / 100));
    text_ += '\n';
  }

  const Histogram& histogram_;
  std::string text_;
  std::uint64_t value_ = 0;
};

std::string plain_tag(std::string_view tag) {
  std::string out(tag);
  for (char& c : out) {
    if (c == ',' || static_cast<unsigned char>(c) <= ' ') c = '_';
  }
  return out;
}

std::string date_text(std::time_t when) {
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%a %b %d %H:%M:%S UTC %Y", &parts);
  return {text, length};
}

}  // namespace

std::string hgrm(const Histogram& histogram) {
  std::string text = Table(histogram).text();
  fmt::format_to(std::back_inserter(text),
                 "#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n"
                 "#[Max     = {:12.3f}, Total count    = {:12}]\n"
                 "#[Buckets = {:12}, SubBuckets     = {:12}]\n"
                 "#[Unit    = milliseconds]\n",
                 milliseconds(histogram.mean()), milliseconds(histogram.stddev()),
                 milliseconds(static_cast<double>(histogram.max())), histogram.count(), histogram.octaves(),
                 histogram.sub_buckets());
  return text;
}

HistogramLog::HistogramLog(std::chrono::system_clock::time_point started) {
  const auto since_epoch = std::chrono::duration_cast<std::chrono::milliseconds>(started.time_since_epoch());
  const double epoch_s = static_cast<double>(since_epoch.count()) / 1000;
  text_ = fmt::format(
      "#[Histogram log format version 1.3]\n"
      "#[StartTime: {0:.3f} (seconds since epoch), {1}]\n"
      "#[BaseTime: {0:.3f} (seconds since epoch)]\n"
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
      epoch_s, date_text(std::chrono::system_clock::to_time_t(started)));
}

void HistogramLog::interval(std::string_view tag, double start_s, double length_s,
                            const Histogram& histogram) {
  interval(tag, start_s, length_s, static_cast<double>(histogram.max()) * 1e-9, histogram.encode_v2());
}

void HistogramLog::interval(std::string_view tag, double start_s, double length_s, double max_s,
                            std::string_view encoded) {
  if (!tag.empty()) text_ += fmt::format("Tag={},", plain_tag(tag));
  text_ += fmt::format("{:.3f},{:.3f},{:.3f},{}\n", start_s, length_s, max_s * 1000, encoded);
}

}  // namespace plimsoll::stats
