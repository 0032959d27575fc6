#include "http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/text.h"

namespace plimsoll::http {

void ServerAnswer::add(std::string_view name, std::string_view value) {
  if (!is_field_value(value)) return;
  fields_.append(name).append(": ").append(value).append("\r\n");
}

void ServerAnswer::add(std::string_view name, std::uint64_t value) {
  const fmt::format_int text(value);
  add(name, std::string_view(text.data(), text.size()));
}

std::optional<std::string_view> ServerAnswer::find(std::string_view name) const {
  for (std::size_t begin = 0; begin < fields_.size();) {
    const auto end = fields_.find("\r\n", begin);
    const std::string_view line(fields_.data() + begin, end - begin);
    if (line.size() > name.size() + 1 && line[name.size()] == ':' &&
        iequals(line.substr(0, name.size()), name)) {
      return trim(line.substr(name.size() + 1));
    }
    begin = end + 2;
  }
  return std::nullopt;
}

void ServerAnswer::remove(std::string_view name) {
  for (std::size_t begin = 0; begin < fields_.size();) {
    const auto end = fields_.find("\r\n", begin) + 2;
    const std::string_view line(fields_.data() + begin, end - begin);
    if (line.size() > name.size() && line[name.size()] == ':' && iequals(line.substr(0, name.size()), name)) {
      fields_.erase(begin, end - begin);
    } else {
      begin = end;
    }
  }
}

void ServerAnswer::clear() {
  status = 200;
  body = {};
  close = false;
  delivery.reset();
  fields_.clear();
}

namespace {

constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<std::int64_t> from_parts(std::string_view day, std::string_view month, std::string_view year,
                                       std::string_view time) {
  const auto at = std::ranges::find(kMonths, month);
  const auto clock = split(time, ':');
  const auto d = parse_u64(day);
  const auto y = parse_u64(year);
  if (at == kMonths.end() || clock.size() != 3 || !d || !y) return std::nullopt;
  const auto h = parse_u64(clock[0]);
  const auto m = parse_u64(clock[1]);
  const auto s = parse_u64(clock[2]);
  if (!h || !m || !s || *d < 1 || *d > 31 || *h > 23 || *m > 59 || *s > 60 || *y > 9999) return std::nullopt;
  tm parts{};
  parts.tm_year = static_cast<int>(*y) - 1900;
  parts.tm_mon = static_cast<int>(at - kMonths.begin());
  parts.tm_mday = static_cast<int>(*d);
  parts.tm_hour = static_cast<int>(*h);
  parts.tm_min = static_cast<int>(*m);
  parts.tm_sec = static_cast<int>(*s);
  return timegm(&parts);
}

// RFC 9110, section 5.6.7: two digits more than 50 years ahead are of the past century.
std::string four_digits(std::string_view year) {
  const auto number = parse_u64(year);
  if (!number || year.size() != 2) return {};
  const auto this_year = 1970 + std::time(nullptr) / 31'556'952;
  auto full = this_year / 100 * 100 + static_cast<std::int64_t>(*number);
  if (full > this_year + 50) full -= 100;
  return std::to_string(full);
}

}  // namespace

std::string http_date(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  std::vector<std::string_view> words;
  for (const auto word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.size() == 6 && words[5] == "GMT") return from_parts(words[1], words[2], words[3], words[4]);
  if (words.size() == 4 && words[3] == "GMT") {  // RFC 850
    const auto date = split(words[1], '-');
    if (date.size() != 3) return std::nullopt;
    return from_parts(date[0], date[1], four_digits(date[2]), words[2]);
  }
  if (words.size() == 5) return from_parts(words[2], words[1], words[4], words[3]);  // asctime
  return std::nullopt;
}

}  // namespace plimsoll::http
