#include "server/ranges.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace plimsoll::server {

RangeKind parse_range(std::optional<std::string_view> text, std::uint64_t size, ByteRange& range) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text || !istarts_with(*text, kUnit)) return RangeKind::none;
  const auto set = trim(text->substr(kUnit.size()));
  const auto dash = set.find('-');
  if (dash == std::string_view::npos || set.contains(',')) return RangeKind::none;
  const auto first_text = trim(set.substr(0, dash));
  const auto last_text = trim(set.substr(dash + 1));
  const auto first = parse_u64(first_text);
  const auto last = parse_u64(last_text);
  if ((!first && !first_text.empty()) || (!last && !last_text.empty())) return RangeKind::none;
  if (!first && !last) return RangeKind::none;
  if (!first) {  // the last so many bytes
    if (*last == 0 || size == 0) return RangeKind::unsatisfiable;
    range.length = std::min(*last, size);
    range.first = size - range.length;
    return RangeKind::one;
  }
  if (*first >= size || (last && *last < *first)) return RangeKind::unsatisfiable;
  range.first = *first;
  range.length = std::min(last.value_or(size - 1), size - 1) - *first + 1;
  return RangeKind::one;
}

void answer_with_content(const http::RequestHead& request, http::ServerAnswer& answer,
                         const http::Payload& content, std::string_view etag) {
  answer.add("Accept-Ranges", "bytes");
  answer.body = content;
  if (request.method != http::Method::get) return;
  const auto wanted = request.headers.find("Range");
  if (!wanted) return;
  if (const auto condition = request.headers.find("If-Range"); condition && *condition != etag) return;
  ByteRange range;
  switch (parse_range(wanted, content.size, range)) {
    case RangeKind::none:
      return;
    case RangeKind::one:
      answer.status = 206;
      answer.add("Content-Range",
                 fmt::format("bytes {}-{}/{}", range.first, range.first + range.length - 1, content.size));
      answer.body = content.part(range.first, range.length);
      return;
    case RangeKind::unsatisfiable:
      answer.status = 416;
      answer.add("Content-Range", fmt::format("bytes */{}", content.size));
      answer.body = {};
      return;
  }
}

}  // namespace plimsoll::server
