#include "oci/link_header.h"

#include <algorithm>

#include "base/text.h"

namespace plimsoll::oci {
namespace {

// The length of `text` up to the first of `ends` that stands outside of quotes.
std::size_t length_to(std::string_view text, std::string_view ends) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && ends.find(text[i]) != std::string_view::npos) {
      return i;
    }
  }
  return text.size();
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

bool says_next(std::string_view parameter) {
  const auto equals = parameter.find('=');
  if (equals == std::string_view::npos || !iequals(trim(parameter.substr(0, equals)), "rel")) return false;
  const auto relations = split(unquoted(trim(parameter.substr(equals + 1))), ' ');
  return std::ranges::any_of(relations, [](std::string_view relation) { return iequals(relation, "next"); });
}

struct Link {
  std::string_view target;
  bool next = false;
};

// Reads one link off the front of `rest`, with the comma after it.
Link read_link(std::string_view& rest) {
  Link link;
  const auto close = rest.starts_with('<') ? rest.find('>') : std::string_view::npos;
  if (close != std::string_view::npos) {
    link.target = trim(rest.substr(1, close - 1));
    rest.remove_prefix(close + 1);
  } else if (rest.starts_with('<')) {
    rest = {};  // never closed: nothing after it can be told apart
    return link;
  } else {
    const auto length = length_to(rest, ",;");
    link.target = trim(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  const auto parameters = rest.substr(0, length_to(rest, ","));
  rest.remove_prefix(std::min(parameters.size() + 1, rest.size()));
  for (auto left = parameters; !left.empty();) {
    const auto parameter = left.substr(0, length_to(left, ";"));
    left.remove_prefix(std::min(parameter.size() + 1, left.size()));
    link.next = link.next || says_next(parameter);
  }
  return link;
}

}  // namespace

std::optional<std::string_view> next_link(std::span<const std::string_view> header_values) {
  for (const auto value : header_values) {
    for (auto rest = trim(value); !rest.empty(); rest = trim(rest)) {
      const Link link = read_link(rest);
      if (link.next && !link.target.empty()) return link.target;
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::oci
