#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace plimsoll {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kDurationUnits = {Unit{"ns", 1},  Unit{"us", 1e3}, Unit{"\u00b5s", 1e3}, Unit{"ms", 1e6},
                                       Unit{"s", 1e9}, Unit{"m", 60e9}, Unit{"h", 3600e9}};
constexpr std::array kSizeUnits = {
    Unit{"", 1},         Unit{"B", 1},       Unit{"k", 1e3},      Unit{"K", 1e3},      Unit{"kB", 1e3},
    Unit{"KB", 1e3},     Unit{"M", 1e6},     Unit{"MB", 1e6},     Unit{"G", 1e9},      Unit{"GB", 1e9},
    Unit{"T", 1e12},     Unit{"TB", 1e12},   Unit{"Ki", 0x1p10},  Unit{"KiB", 0x1p10}, Unit{"Mi", 0x1p20},
    Unit{"MiB", 0x1p20}, Unit{"Gi", 0x1p30}, Unit{"GiB", 0x1p30}, Unit{"Ti", 0x1p40},  Unit{"TiB", 0x1p40}};

// The longest prefix of digits and points.
std::string_view take_number(std::string_view& text) {
  const auto end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, end);
  text.remove_prefix(number.size());
  return number;
}

template <std::size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view unit_name) {
  for (const Unit& unit : units) {
    if (unit.name == unit_name) return &unit;
  }
  return nullptr;
}

Refusal bad_duration(std::string_view text) {
  return {fmt::format("'{}' is not a duration: expected a form like 10s, 500ms, 2m or 1h30m", text)};
}

Refusal bad_size(std::string_view text) {
  return {fmt::format("'{}' is not a size: expected a form like 512, 64kB, 10MB or 8MiB", text)};
}

// Three significant digits of `value` in the largest unit below it.
std::string with_unit(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (std::fabs(value) >= unit.factor * 0.9995) best = &unit;
  }
  const double scaled = value / best->factor;
  const double magnitude = std::fabs(scaled);
  const int decimals = magnitude >= 99.95 || scaled == 0 ? 0 : magnitude >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", scaled, decimals, best->name);
}

}  // namespace

Checked<Nanos> parse_duration(std::string_view text) {
  if (text.empty()) return bad_duration(text);
  if (const auto bare = parse_double(text)) {
    if (*bare < 0 || *bare > 1e9) return bad_duration(text);
    return from_seconds(*bare);
  }
  std::string_view rest = text;
  double total = 0;
  while (!rest.empty()) {
    const auto number = parse_double(take_number(rest));
    const std::string_view unit_name = rest.substr(0, rest.find_first_of("0123456789."));
    rest.remove_prefix(unit_name.size());
    const Unit* unit = find_unit(kDurationUnits, unit_name);
    if (!number || unit == nullptr) return bad_duration(text);
    total += *number * unit->factor;
  }
  if (total > 1e18) return bad_duration(text);
  return Nanos(std::llround(total));
}

Checked<std::uint64_t> parse_size(std::string_view text) {
  std::string_view rest = text;
  const auto number = parse_double(take_number(rest));
  const Unit* unit = find_unit(kSizeUnits, trim(rest));
  if (!number || unit == nullptr || *number * unit->factor > 9e18) return bad_size(text);
  return static_cast<std::uint64_t>(std::llround(*number * unit->factor));
}

std::string go_duration(Nanos duration) {
  const auto total = duration.count();
  if (total == 0) return "0s";
  const bool negative = total < 0;
  auto magnitude = negative ? 0 - static_cast<std::uint64_t>(total) : static_cast<std::uint64_t>(total);
  // The fraction, without trailing zeros and without a bare point.
  const auto fraction = [](std::uint64_t value, std::uint64_t unit, int digits) {
    std::string out = fmt::format("{}", value / unit);
    if (value % unit != 0) {
      std::string decimals = fmt::format("{:0{}}", value % unit, digits);
      decimals.erase(decimals.find_last_not_of('0') + 1);
      out += "." + decimals;
    }
    return out;
  };
  std::string out = negative ? "-" : "";
  if (magnitude < 1'000) return out + fmt::format("{}ns", magnitude);
  if (magnitude < 1'000'000) return out + fraction(magnitude, 1'000, 3) + "\u00b5s";
  if (magnitude < 1'000'000'000) return out + fraction(magnitude, 1'000'000, 6) + "ms";
  const std::uint64_t minute = 60'000'000'000;
  const std::uint64_t hour = 60 * minute;
  if (magnitude >= hour) out += fmt::format("{}h", magnitude / hour);
  if (magnitude >= minute) out += fmt::format("{}m", magnitude % hour / minute);
  return out + fraction(magnitude % minute, 1'000'000'000, 9) + "s";
}

std::string go_float32(float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  std::array<char, 64> buffer{};
  const auto scientific =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view digits(buffer.data(), static_cast<std::size_t>(scientific.ptr - buffer.data()));
  const int exponent = std::stoi(std::string(digits.substr(digits.find('e') + 1)));
  if (exponent < -4 || exponent > 5) return std::string(digits);
  const auto plain =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return {buffer.data(), plain.ptr};
}

std::string human_size(double bytes) {
  constexpr std::array units = {Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9},
                                Unit{"TB", 1e12}};
  return with_unit(bytes, units);
}

std::string binary_size(double bytes) {
  constexpr std::array units = {Unit{"B", 1}, Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30},
                                Unit{"TiB", 0x1p40}};
  return with_unit(bytes, units);
}

std::string human_duration(double seconds) {
  constexpr std::array units = {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
  return with_unit(seconds * 1e9, units);
}

}  // namespace plimsoll
