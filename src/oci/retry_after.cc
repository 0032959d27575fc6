#include "oci/retry_after.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "base/text.h"

namespace plimsoll::oci {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};

std::optional<unsigned> month_number(std::string_view text) {
  const auto found = std::ranges::find(kMonths, to_lower(text));
  if (found == kMonths.end()) return std::nullopt;
  return static_cast<unsigned>(found - kMonths.begin()) + 1;
}

// "08:49:37"
std::optional<std::int64_t> second_of_day(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  const auto hour = parse_u64(parts[0]);
  const auto minute = parse_u64(parts[1]);
  const auto second = parse_u64(parts[2]);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return static_cast<std::int64_t>(*hour * 3600 + *minute * 60 + *second);
}

std::optional<std::int64_t> at(std::string_view year, std::string_view month, std::string_view day,
                               std::string_view time) {
  auto y = parse_u64(year);
  const auto m = month_number(month);
  const auto d = parse_u64(day);
  const auto seconds = second_of_day(time);
  if (!y || !m || !d || !seconds || *y > 9999 || *d > 31) return std::nullopt;
  if (year.size() == 2) *y += *y < 70 ? 2000 : 1900;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*y)), std::chrono::month(*m),
                                         std::chrono::day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * 86'400LL + *seconds;
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  std::vector<std::string_view> words = split(trim(text), ' ');
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  if (words.size() == 6) return at(words[3], words[2], words[1], words[4]);
  // "Sun Nov  6 08:49:37 1994"
  if (words.size() == 5) return at(words[4], words[1], words[2], words[3]);
  // "Sunday, 06-Nov-94 08:49:37 GMT"
  if (words.size() != 4) return std::nullopt;
  const auto day = split(words[1], '-');
  return day.size() == 3 ? at(day[2], day[1], day[0], words[2]) : std::nullopt;
}

std::optional<Nanos> parse_retry_after(std::string_view text, std::string_view date, std::int64_t unix_now) {
  constexpr std::int64_t kLongest = std::chrono::duration_cast<std::chrono::seconds>(kLongestWait).count();
  text = trim(text);
  if (const auto seconds = parse_double(text); seconds && *seconds >= 0) {
    return from_seconds(std::min(*seconds, static_cast<double>(kLongest)));
  }
  const auto when = parse_http_date(text);
  if (!when) return std::nullopt;
  const std::int64_t from = parse_http_date(date).value_or(unix_now);
  return std::chrono::seconds(std::clamp<std::int64_t>(*when - from, 0, kLongest));
}

}  // namespace plimsoll::oci
