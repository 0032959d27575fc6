// Access control before the registry: none, Basic by htpasswd, or Bearer tokens from a token service of our own
// (distribution's token authentication), which exists to test clients with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/server.h"
#include "server/htpasswd.h"
#include "server/workers.h"

namespace plimsoll::server {

// One "type:name:action,action" of a scope; a name may hold a colon.
struct Scope {
  std::string type;
  std::string name;
  std::vector<std::string> actions;

  static std::optional<Scope> parse(std::string_view text);
  bool allows(std::string_view type, std::string_view name, std::string_view action) const;
};

// What a request needs, as scopes.
std::vector<Scope> needed_scopes(const http::RequestHead& request);

struct TokenOptions {
  Nanos lifetime = std::chrono::seconds(300);
  std::string service = "plimsoll";
};

// Makes and checks tokens: the scopes, the user and the end, signed with a key that lives as long as the process.
class Tokens {
 public:
  explicit Tokens(TokenOptions options) : options_(std::move(options)) {}
  struct Grant {
    std::string user;
    std::vector<Scope> scopes;
  };
  std::string issue(const Grant& grant, std::int64_t unix_seconds) const;
  // nullopt for what is not ours or has ended.
  std::optional<Grant> check(std::string_view token, std::int64_t unix_seconds) const;
  const TokenOptions& options() const { return options_; }

 private:
  TokenOptions options_;
  KeyedHash sign_;
};

// GET and POST /token. With an htpasswd file, only who is in it gets what was asked for; others get no action, which
// is no error. Without one, everybody gets everything.
class TokenService final : public http::Handler {
 public:
  TokenService(const Tokens& tokens, const Htpasswd* users, Workers& workers)
      : tokens_(tokens), users_(users), workers_(workers) {}
  net::Task<void> handle(http::Call& call) override;

 private:
  const Tokens& tokens_;
  const Htpasswd* users_;
  Workers& workers_;
};

// Stands before a handler and lets those in who may.
class AccessControl final : public http::Handler {
 public:
  // `tokens`: where given, Bearer; else Basic by `users`.
  AccessControl(http::Handler& next, const Htpasswd* users, const Tokens* tokens, Workers& workers)
      : next_(next), users_(users), tokens_(tokens), workers_(workers) {}
  net::Task<void> handle(http::Call& call) override;

 private:
  net::Task<bool> check_basic(http::Call& call);
  void challenge_bearer(http::Call& call, const std::vector<Scope>& needed, std::string_view error);

  http::Handler& next_;
  const Htpasswd* users_;
  const Tokens* tokens_;
  Workers& workers_;
};

}  // namespace plimsoll::server
