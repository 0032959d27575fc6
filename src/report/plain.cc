#include "report/plain.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace plimsoll::report {
namespace {

using Cells = std::vector<std::string_view>;

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

// Widths of the columns of lines [first, last), found block by block as tabwriter does.
class Tabulator {
 public:
  explicit Tabulator(const std::vector<Cells>& lines) : lines_(lines) {}

  std::string layout() {
    block(0, lines_.size());
    return std::move(out_);
  }

 private:
  // A cell counts for a column only where a tab ends it.
  bool has_cell(std::size_t line) const { return widths_.size() + 1 < lines_[line].size(); }

  void block(std::size_t first, std::size_t last) {
    std::size_t written = first;
    for (std::size_t line = first; line < last; ++line) {
      if (!has_cell(line)) continue;
      write(written, line);
      written = line;
      std::size_t width = 0;
      std::size_t end = line;
      for (; end < last && has_cell(end); ++end) {
        width = std::max(width, code_points(lines_[end][widths_.size()]) + 1);
      }
      widths_.push_back(width);
      block(written, end);
      widths_.pop_back();
      written = end;
      line = end - 1;
    }
    write(written, last);
  }

  void write(std::size_t first, std::size_t last) {
    for (std::size_t line = first; line < last; ++line) {
      const Cells& cells = lines_[line];
      for (std::size_t i = 0; i < cells.size(); ++i) {
        out_ += cells[i];
        if (i < widths_.size() && i + 1 < cells.size()) out_.append(widths_[i] - code_points(cells[i]), ' ');
      }
      out_ += '\n';
    }
  }

  const std::vector<Cells>& lines_;
  std::vector<std::size_t> widths_;
  std::string out_;
};

// The number of bytes of the well-formed UTF-8 sequence at the start of `text`; 0 where there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

// Hands each code point to `each` as its bytes; what is no UTF-8 as U+FFFD.
template <class Each>
void for_each_code_point(std::string_view text, Each each) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    each(length == 0 ? std::string_view("\uFFFD") : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

bool is_control(std::string_view point) {
  if (point.size() == 1) return static_cast<unsigned char>(point[0]) < 0x20 || point[0] == 0x7f;
  return point.size() == 2 && point[0] == '\xC2' && static_cast<unsigned char>(point[1]) < 0xA0;
}

}  // namespace

std::string align_tabs(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<Cells> lines;
  for (const std::string_view line : split(text, '\n')) lines.push_back(split(line, '\t'));
  return Tabulator(lines).layout();
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  bool cut = false;
  for_each_code_point(text, [&](std::string_view point) {
    if (out.size() >= limit) {
      cut = true;
    } else if (is_control(point)) {
      for (const char c : point) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += point;
    }
  });
  return cut ? out + "..." : out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for_each_code_point(text, [&](std::string_view point) {
    if (point == "\"" || point == "\\") {
      out += '\\';
      out += point;
    } else if (point == "\n") {
      out += "\\n";
    } else if (point.size() == 1 && static_cast<unsigned char>(point[0]) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point[0]));
    } else {
      out += point;
    }
  });
  return out + "\"";
}

std::string xml_escape(std::string_view text) {
  std::string out;
  for_each_code_point(text, [&](std::string_view point) {
    if (point == "&") {
      out += "&amp;";
    } else if (point == "<") {
      out += "&lt;";
    } else if (point == ">") {
      out += "&gt;";
    } else if (point == "\"") {
      out += "&quot;";
    } else if (point == "'") {
      out += "&#39;";
    } else if (point == "\n" || point == "\t") {
      out += fmt::format("&#{};", static_cast<int>(point[0]));
    } else {
      out += is_control(point) || point == "\xEF\xBF\xBE" || point == "\xEF\xBF\xBF" ? "\uFFFD" : point;
    }
  });
  return out;
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "0";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

std::string percent(double part, double whole) {
  if (whole == 0 || part == 0) return "0%";
  return fmt::format("{:.3g}%", part / whole * 100);
}

Nanos nanos(double seconds) {
  return Nanos(std::llround(seconds * 1e9));
}

std::string sample_text(const stats::Sample& sample) {
  std::string out = printable(sample.request);
  if (!sample.text.empty()) out += (out.empty() ? "" : ": ") + printable(sample.text);
  if (!sample.peer.empty()) out += (out.empty() ? "(" : " (") + printable(sample.peer) + ")";
  return out;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

std::uint64_t completed(const stats::TestRecord& test) {
  return test.operations.ok + test.operations.failed;
}

}  // namespace plimsoll::report
