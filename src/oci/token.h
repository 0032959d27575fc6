// Bearer tokens: what a token server's reply says, and where tokens are kept until they are to be renewed
// (distribution project, "Token Authentication Specification"; RFC 6749 for the POST form).
//
// No input or output here: the registry client makes the requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "oci/credentials.h"
#include "oci/scope.h"

namespace plimsoll::oci {

struct Token {
  std::string value;
  std::string refresh_token;  // empty if none was given
  Instant renew_at{};         // from here on a new one is fetched, ahead of its end
  Instant expires_at{};

  bool usable(Instant now) const { return !value.empty() && now < expires_at; }
  bool due(Instant now) const { return now >= renew_at; }
};

// When a reply arrived, on both clocks: `issued_at` is in the server's wall time.
struct ReplyTime {
  Instant monotonic{};
  std::int64_t unix_seconds = 0;

  static ReplyTime now();
};

// `token` or `access_token`, the former if both are there. `expires_in` may be absent, zero, a string or a fraction;
// it is 60 s where it says nothing and never less than that. `issued_at` shortens it only where it is plausible: a
// server's clock that is off must not make every token look expired. Fails with ErrorKind::token.
Result<Token> parse_token_reply(std::string_view body, ReplyTime received);

// Seconds since 1970 of "2026-01-02T03:04:05.6+02:00" (RFC 3339); fractions are dropped.
std::optional<std::int64_t> parse_rfc3339(std::string_view text);

// What a token was asked for. Equal sets of scopes make equal keys, whatever their order.
struct TokenKey {
  std::string realm;
  std::string service;
  ScopeSet scopes;

  // Of a GET: "service=...&scope=...&scope=...", percent-encoded, with account=<user> where there is one.
  std::string query(std::string_view account) const;
  // The OAuth2 form of a POST, by password or by refresh token.
  std::string form(const Credentials& credentials) const;

  friend bool operator<(const TokenKey& a, const TokenKey& b);
};

// Tokens by what they were asked for. Belongs to one thread.
class TokenCache {
 public:
  // nullptr if there is none, or none that is still good at `now`.
  const Token* find(const TokenKey& key, Instant now) const;
  void put(const TokenKey& key, Token token);
  // After a 401 with this token. One that came in its place meanwhile stays.
  void drop(const TokenKey& key, std::string_view refused_value);
  void drop(const TokenKey& key) { tokens_.erase(key); }
  std::size_t size() const { return tokens_.size(); }

 private:
  std::map<TokenKey, Token> tokens_;
};

}  // namespace plimsoll::oci
