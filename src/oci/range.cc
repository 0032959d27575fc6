#include "oci/range.h"

#include "base/text.h"

namespace plimsoll::oci {
namespace {

// What follows "bytes", "bytes=" or "bytes "; all of it where no unit stands.
std::string_view without_unit(std::string_view text) {
  text = trim(text);
  if (!istarts_with(text, "bytes")) return text;
  text = trim(text.substr(5));
  if (text.starts_with('=')) text.remove_prefix(1);
  return trim(text);
}

struct Bounds {
  std::uint64_t first;
  std::uint64_t last;
};

std::optional<Bounds> read_bounds(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_u64(trim(text.substr(0, dash)));
  const auto last = parse_u64(trim(text.substr(dash + 1)));
  if (!first || !last || *last < *first || *last == UINT64_MAX) return std::nullopt;
  return Bounds{*first, *last};
}

}  // namespace

std::optional<UploadRange> parse_upload_range(std::string_view text) {
  std::string_view range = without_unit(text);
  range = trim(range.substr(0, range.find('/')));
  if (range == "0--1") return UploadRange{};
  const auto bounds = read_bounds(range);
  if (!bounds) return std::nullopt;
  return UploadRange{bounds->first, bounds->last + 1, bounds->first == 0 && bounds->last == 0};
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!istarts_with(trim(text), "bytes")) return std::nullopt;
  const std::string_view range = without_unit(text);
  const auto slash = range.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto total_text = trim(range.substr(slash + 1));
  ContentRange out;
  out.total = parse_u64(total_text);
  if (!out.total && total_text != "*") return std::nullopt;
  const auto span = trim(range.substr(0, slash));
  if (span == "*") return out.total ? std::optional(out) : std::nullopt;
  const auto bounds = read_bounds(span);
  if (!bounds || (out.total && bounds->last >= *out.total)) return std::nullopt;
  out.first = bounds->first;
  out.next = bounds->last + 1;
  return out;
}

}  // namespace plimsoll::oci
