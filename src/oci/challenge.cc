#include "oci/challenge.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace plimsoll::oci {
namespace {

constexpr std::size_t kMostChallenges = 16;
constexpr std::size_t kMostParameters = 32;
constexpr std::string_view kSpace = " \t";

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Token characters and what base64 adds to them.
bool is_token68_char(char c) {
  return is_token_char(c) || c == '/';
}

bool is_action(std::string_view word) {
  constexpr std::array<std::string_view, 4> kActions = {"pull", "push", "delete", "*"};
  return std::ranges::find(kActions, word) != kActions.end();
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  void skip_to_element() {
    const auto next = rest_.find_first_not_of(" \t,");
    rest_ = next == std::string_view::npos ? std::string_view() : rest_.substr(next);
  }
  void skip_space() {
    const auto next = rest_.find_first_not_of(kSpace);
    rest_ = next == std::string_view::npos ? std::string_view() : rest_.substr(next);
  }
  bool at_end() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  std::string_view rest() const { return rest_; }
  void advance(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }

  std::string_view word(bool (*accepts)(char)) {
    std::size_t size = 0;
    while (size < rest_.size() && accepts(rest_[size])) ++size;
    const auto word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }

  // After "=": quoted with backslash escapes, or everything up to a comma or space.
  std::string value() {
    if (peek() != '"') {
      const auto value = rest_.substr(0, rest_.find_first_of(", \t"));
      rest_.remove_prefix(value.size());
      return std::string(value);
    }
    std::string out;
    std::size_t i = 1;
    for (; i < rest_.size() && rest_[i] != '"'; ++i) {
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      out += rest_[i];
    }
    advance(i + 1);
    return out;
  }

 private:
  std::string_view rest_;
};

// "name = value", not the "=" padding of a token68.
bool is_parameter_next(std::string_view rest) {
  std::size_t at = 0;
  while (at < rest.size() && is_token_char(rest[at])) ++at;
  if (at == 0) return false;
  at = rest.find_first_not_of(kSpace, at);
  if (at == std::string_view::npos || rest[at] != '=') return false;
  at = rest.find_first_not_of(kSpace, at + 1);
  return at != std::string_view::npos && rest[at] != '=' && rest[at] != ',';
}

void read_parameter(Reader& reader, Challenge& challenge) {
  std::string name = to_lower(reader.word(is_token_char));
  reader.skip_space();
  reader.advance(1);
  reader.skip_space();
  std::string value = reader.value();
  if (challenge.parameters.size() < kMostParameters)
    challenge.parameters.emplace_back(std::move(name), std::move(value));
}

// "pull,push" without quotes: the second word belongs to the scope before it.
bool continues_scope(const std::vector<Challenge>& challenges, std::string_view word) {
  return !challenges.empty() && !challenges.back().parameters.empty() &&
         challenges.back().parameters.back().first == "scope" && is_action(word);
}

void read_scheme(Reader& reader, std::vector<Challenge>& out) {
  const auto word = reader.word(is_token_char);
  if (word.empty()) {
    // Nothing that could begin an element: on to the next comma.
    reader.advance(std::min(reader.rest().find(','), reader.rest().size()));
    return;
  }
  if (continues_scope(out, word)) {
    out.back().parameters.back().second.append(",").append(word);
    return;
  }
  Challenge challenge;
  challenge.scheme = to_lower(word);
  reader.skip_space();
  if (!reader.at_end() && reader.peek() != ',' && !is_parameter_next(reader.rest())) {
    challenge.token68 = reader.word(is_token68_char);
    while (reader.peek() == '=') {
      challenge.token68 += '=';
      reader.advance(1);
    }
  }
  out.push_back(std::move(challenge));
}

}  // namespace

std::string_view Challenge::parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return {};
}

std::vector<Challenge> parse_challenges(std::span<const std::string_view> header_values) {
  std::vector<Challenge> out;
  for (const auto header : header_values) {
    Reader reader(header);
    const std::size_t before = out.size();
    for (reader.skip_to_element(); !reader.at_end() && out.size() <= kMostChallenges;
         reader.skip_to_element()) {
      if (out.size() > before && is_parameter_next(reader.rest())) {
        read_parameter(reader, out.back());
      } else {
        read_scheme(reader, out);
      }
    }
  }
  if (out.size() > kMostChallenges) out.resize(kMostChallenges);
  return out;
}

const Challenge* choose_challenge(std::span<const Challenge> challenges) {
  const auto bearer = std::ranges::find_if(
      challenges, [](const Challenge& c) { return c.scheme == "bearer" && !c.parameter("realm").empty(); });
  if (bearer != challenges.end()) return &*bearer;
  const auto basic = std::ranges::find(challenges, "basic", &Challenge::scheme);
  return basic == challenges.end() ? nullptr : &*basic;
}

}  // namespace plimsoll::oci
