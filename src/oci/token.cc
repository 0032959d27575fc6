#include "oci/token.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "oci/json.h"

namespace plimsoll::oci {
namespace {

constexpr std::int64_t kShortestLife = 60;
constexpr std::int64_t kLongestLife = 366LL * 24 * 3600;
constexpr std::string_view kClientId = "plimsoll";

std::int64_t life_of(const nlohmann::json& reply) {
  const auto& value = member(reply, "expires_in");
  std::optional<double> seconds;
  if (value.is_number()) seconds = value.get<double>();
  if (value.is_string()) seconds = parse_double(value.get_ref<const std::string&>());
  if (!seconds) return kShortestLife;
  const double bounded =
      std::clamp(*seconds, static_cast<double>(kShortestLife), static_cast<double>(kLongestLife));
  return static_cast<std::int64_t>(bounded);
}

void add(std::string& out, std::string_view name, std::string_view value) {
  if (!out.empty()) out += '&';
  out.append(name).append("=").append(percent_encode(value));
}

// `count` digits at `at`, which moves on.
std::optional<int> digits(std::string_view text, std::size_t& at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  const auto value = parse_u64(text.substr(at, count));
  at += count;
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

bool skip(std::string_view text, std::size_t& at, std::string_view accepted) {
  if (at >= text.size() || accepted.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

// Seconds east of Greenwich: "Z", "+02:00".
std::optional<std::int64_t> zone_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  std::size_t at = 0;
  if (!skip(text, at, "+-")) return std::nullopt;
  const auto hours = digits(text, at, 2);
  if (!skip(text, at, ":")) return std::nullopt;
  const auto minutes = digits(text, at, 2);
  if (!hours || !minutes || at != text.size()) return std::nullopt;
  const std::int64_t seconds = *hours * 3600 + *minutes * 60;
  return text.front() == '-' ? -seconds : seconds;
}

}  // namespace

ReplyTime ReplyTime::now() {
  return {plimsoll::now(), static_cast<std::int64_t>(std::time(nullptr))};
}

std::optional<std::int64_t> parse_rfc3339(std::string_view text) {
  std::size_t at = 0;
  const auto year = digits(text, at, 4);
  if (!year || !skip(text, at, "-")) return std::nullopt;
  const auto month = digits(text, at, 2);
  if (!month || !skip(text, at, "-")) return std::nullopt;
  const auto day = digits(text, at, 2);
  if (!day || !skip(text, at, "Tt ")) return std::nullopt;
  const auto hour = digits(text, at, 2);
  if (!hour || !skip(text, at, ":")) return std::nullopt;
  const auto minute = digits(text, at, 2);
  if (!minute || !skip(text, at, ":")) return std::nullopt;
  const auto second = digits(text, at, 2);
  if (!second) return std::nullopt;
  if (skip(text, at, ".")) {
    at = text.find_first_not_of("0123456789", at);
    if (at == std::string_view::npos) return std::nullopt;
  }
  const auto offset = zone_offset(text.substr(at));
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!offset || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86'400LL + *hour * 3600 + *minute * 60 + *second - *offset;
}

Result<Token> parse_token_reply(std::string_view body, ReplyTime received) {
  const auto reply = parse_json(body);
  if (!reply || !reply->is_object()) return Error{ErrorKind::token, 0, "the token reply is no JSON object"};
  Token token;
  token.value = text_member(*reply, "token");
  if (token.value.empty()) token.value = text_member(*reply, "access_token");
  const bool sendable = std::ranges::all_of(token.value, [](char c) { return c > ' ' && c < 0x7f; });
  if (token.value.empty() || !sendable) return Error{ErrorKind::token, 0, "the token reply holds no token"};
  token.refresh_token = text_member(*reply, "refresh_token");

  std::int64_t left = life_of(*reply);
  if (const auto issued = parse_rfc3339(text_member(*reply, "issued_at"))) {
    const std::int64_t age = received.unix_seconds - *issued;
    if (age > 0 && age < left) left -= age;
  }
  const auto life = std::chrono::seconds(left);
  const Nanos margin = std::min<Nanos>(life / 5, std::chrono::seconds(60));
  token.expires_at = received.monotonic + life;
  token.renew_at = token.expires_at - margin;
  return token;
}

std::string TokenKey::query(std::string_view account) const {
  std::string out;
  if (!service.empty()) add(out, "service", service);
  for (const auto& scope : scopes.scopes()) add(out, "scope", scope.text());
  if (!account.empty()) add(out, "account", account);
  return out;
}

std::string TokenKey::form(const Credentials& credentials) const {
  std::string out;
  if (credentials.identity_token.empty()) {
    add(out, "grant_type", "password");
    add(out, "username", credentials.user);
    add(out, "password", credentials.password);
  } else {
    add(out, "grant_type", "refresh_token");
    add(out, "refresh_token", credentials.identity_token);
  }
  add(out, "client_id", kClientId);
  if (!service.empty()) add(out, "service", service);
  if (!scopes.empty()) add(out, "scope", scopes.text());
  return out;
}

bool operator<(const TokenKey& a, const TokenKey& b) {
  return std::tie(a.realm, a.service, a.scopes) < std::tie(b.realm, b.service, b.scopes);
}

const Token* TokenCache::find(const TokenKey& key, Instant now) const {
  const auto found = tokens_.find(key);
  return found != tokens_.end() && found->second.usable(now) ? &found->second : nullptr;
}

void TokenCache::put(const TokenKey& key, Token token) {
  tokens_.insert_or_assign(key, std::move(token));
}

void TokenCache::drop(const TokenKey& key, std::string_view refused_value) {
  const auto found = tokens_.find(key);
  if (found != tokens_.end() && found->second.value == refused_value) tokens_.erase(found);
}

}  // namespace plimsoll::oci
