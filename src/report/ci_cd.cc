#include "report/ci_cd.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "report/plain.h"
#include "report/zb_text.h"

namespace plimsoll::report {
namespace {

// Go's encoder also escapes what HTML would take for markup.
std::string go_json_string(std::string_view text) {
  std::string out;
  for (const char c : json_string(text)) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// The decimal digits of `value` > 0 and the exponent of its first one.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal shortest(float value) {
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const auto e = text.find('e');
  Decimal decimal;
  for (const char c : text.substr(0, e)) {
    if (c != '.') decimal.digits += c;
  }
  decimal.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  return decimal;
}

std::string plain(const Decimal& decimal) {
  const auto& [digits, exponent] = decimal;
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0');
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

std::string go_json_float32(float value) {
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  const std::string sign = value < 0 ? "-" : "";
  const Decimal decimal = shortest(std::fabs(value));
  if (decimal.exponent >= -6 && decimal.exponent < 21) return sign + plain(decimal);
  std::string out = sign + decimal.digits.substr(0, 1);
  if (decimal.digits.size() > 1) out += "." + decimal.digits.substr(1);
  return out + fmt::format("e{}{}", decimal.exponent < 0 ? "-" : "+", std::abs(decimal.exponent));
}

Checked<std::string> ci_cd(const stats::Record& record) {
  std::string out = "[";
  for (const stats::TestRecord& test : record.tests) {
    const float rate = zb_rate(test);
    if (!std::isfinite(rate)) {
      return Refusal{fmt::format("{}: the rate of '{}' is no finite number", kCiCdFile, test.name)};
    }
    if (out.size() > 1) out += ",";
    out += fmt::format(R"({{"name":{},"unit":"requests per sec","value":{},"range":"3"}})",
                       go_json_string(test.name), go_json_float32(rate));
  }
  return out + "]";
}

}  // namespace plimsoll::report
