#include "server/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "server/json_text.h"
#include "server/registry_error.h"
#include "server/route.h"

namespace plimsoll::server {
namespace {

std::string text_of(const Scope& scope) {
  return fmt::format("{}:{}:{}", scope.type, scope.name, fmt::join(scope.actions, ","));
}

net::Task<bool> known(const Htpasswd& users, Workers& workers, net::Loop& loop,
                      const Credentials& credentials) {
  if (users.remembers(credentials)) co_return true;
  co_return co_await workers.run(loop, [&] { return users.verify(credentials); });
}

bool covered(const std::vector<Scope>& granted, const std::vector<Scope>& needed) {
  return std::ranges::all_of(needed, [&](const Scope& need) {
    return std::ranges::all_of(need.actions, [&](const std::string& action) {
      return std::ranges::any_of(
          granted, [&](const Scope& scope) { return scope.allows(need.type, need.name, action); });
    });
  });
}

}  // namespace

std::optional<Scope> Scope::parse(std::string_view text) {
  const auto first = text.find(':');
  const auto last = text.rfind(':');
  if (first == std::string_view::npos || last == first) return std::nullopt;
  Scope scope{.type = std::string(text.substr(0, first)),
              .name = std::string(text.substr(first + 1, last - first - 1)),
              .actions = {}};
  if (const auto paren = scope.type.find('('); paren != std::string::npos) scope.type.resize(paren);
  for (const auto action : split(text.substr(last + 1), ',')) {
    if (!action.empty()) scope.actions.emplace_back(action);
  }
  return scope;
}

bool Scope::allows(std::string_view wanted_type, std::string_view wanted_name,
                   std::string_view action) const {
  if (type != wanted_type || name != wanted_name) return false;
  return std::ranges::any_of(actions, [&](const std::string& own) { return own == "*" || own == action; });
}

std::vector<Scope> needed_scopes(const http::RequestHead& request) {
  const auto route = find_route(request.path);
  if (!route || route->resource == Resource::ping) return {};
  if (route->resource == Resource::catalog) return {{"registry", "catalog", {"*"}}};
  std::vector<Scope> scopes{{"repository", route->repository, {"pull"}}};
  const bool reads = request.method == http::Method::get || request.method == http::Method::head;
  const bool upload = route->resource == Resource::upload || route->resource == Resource::upload_start;
  if (request.method == http::Method::del && !upload) {
    scopes[0].actions = {"delete"};
  } else if (!reads || upload) {
    scopes[0].actions = {"pull", "push"};
  }
  if (route->resource == Resource::upload_start) {
    const Query query(request.query);
    const auto from = query.find("from");
    if (from && query.find("mount")) scopes.push_back({"repository", std::string(*from), {"pull"}});
  }
  return scopes;
}

std::string Tokens::issue(const Grant& grant, std::int64_t unix_seconds) const {
  const auto end = unix_seconds + std::chrono::duration_cast<std::chrono::seconds>(options_.lifetime).count();
  std::string content = fmt::format("{} {}", end, percent_encode(grant.user));
  for (const auto& scope : grant.scopes) content += " " + text_of(scope);
  return to_hex({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}) + "." +
         sign_(content);
}

std::optional<Tokens::Grant> Tokens::check(std::string_view token, std::int64_t unix_seconds) const {
  const auto dot = token.find('.');
  if (dot == std::string_view::npos || dot % 2 != 0) return std::nullopt;
  std::string content;
  for (std::size_t i = 0; i < dot; i += 2) {
    const auto byte = percent_decode("%" + std::string(token.substr(i, 2)));
    if (!byte || byte->size() != 1) return std::nullopt;
    content += *byte;
  }
  const std::string signature = sign_(content);
  if (token.substr(dot + 1) != signature) return std::nullopt;
  const auto words = split(content, ' ');
  const auto end = parse_u64(words[0]);
  if (words.size() < 2 || !end || static_cast<std::int64_t>(*end) <= unix_seconds) return std::nullopt;
  Grant grant{.user = percent_decode(words[1]).value_or(""), .scopes = {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (auto scope = Scope::parse(words[i])) grant.scopes.push_back(std::move(*scope));
  }
  return grant;
}

net::Task<void> TokenService::handle(http::Call& call) {
  http::ServerAnswer& answer = call.answer;
  std::string form;
  if (call.request.method == http::Method::post) {
    for (;;) {
      const auto piece = co_await call.body.read();
      if (!piece || piece->empty()) break;
      if (form.size() + piece->size() > 64 * 1024)
        co_return write_error(answer, {413, "SIZE_INVALID", "too large"});
      form += *piece;
    }
    std::ranges::replace(form, '+', ' ');
  } else if (call.request.method != http::Method::get) {
    answer.add("Allow", "GET, POST");
    co_return write_error(answer, unsupported("tokens are got by GET or POST"));
  }
  const Query query(call.request.method == http::Method::post ? std::optional<std::string_view>(form)
                                                              : call.request.query);
  std::optional<Credentials> credentials;
  if (const auto header = call.request.headers.find("Authorization")) credentials = parse_basic(*header);
  if (const auto user = query.find("username"); user && query.find("password")) {
    credentials = Credentials{std::string(*user), std::string(*query.find("password"))};
  }
  if (users_ != nullptr && credentials && !co_await known(*users_, workers_, call.loop, *credentials)) {
    co_return write_error(answer, {401, "UNAUTHORIZED", "unknown user or wrong password"});
  }
  Tokens::Grant grant{.user = credentials ? credentials->user : "", .scopes = {}};
  if (users_ == nullptr || credentials) {
    for (const auto scopes : query.find_all("scope")) {
      for (const auto text : split(scopes, ' ')) {
        if (auto scope = Scope::parse(text)) grant.scopes.push_back(std::move(*scope));
      }
    }
  }
  const std::int64_t now_s = std::time(nullptr);
  const std::string token = tokens_.issue(grant, now_s);
  tm parts{};
  gmtime_r(&now_s, &parts);
  std::string body = fmt::format(
      R"({{"token":"{}","access_token":"{}","expires_in":{},"issued_at":"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z"}})",
      token, token, std::chrono::duration_cast<std::chrono::seconds>(tokens_.options().lifetime).count(),
      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  answer.add("Content-Type", "application/json");
  answer.add("Cache-Control", "no-store");
  answer.body = http::Payload::of_text(std::move(body));
}

net::Task<bool> AccessControl::check_basic(http::Call& call) {
  const auto header = call.request.headers.find("Authorization");
  const auto credentials = header ? parse_basic(*header) : std::nullopt;
  if (!credentials || !co_await known(*users_, workers_, call.loop, *credentials)) co_return false;
  call.user = credentials->user;
  co_return true;
}

void AccessControl::challenge_bearer(http::Call& call, const std::vector<Scope>& needed,
                                     std::string_view error) {
  std::string scopes;
  for (const auto& scope : needed) scopes += (scopes.empty() ? "" : " ") + text_of(scope);
  std::string challenge =
      fmt::format("Bearer realm=\"{}://{}/token\",service=\"{}\"", call.secure ? "https" : "http",
                  call.request.authority, tokens_->options().service);
  if (!scopes.empty()) challenge += fmt::format(",scope=\"{}\"", scopes);
  if (!error.empty()) challenge += fmt::format(",error=\"{}\"", error);
  call.answer.add("WWW-Authenticate", challenge);
}

net::Task<void> AccessControl::handle(http::Call& call) {
  const RegistryError refused{401, "UNAUTHORIZED", "authentication required"};
  if (tokens_ == nullptr) {
    if (co_await check_basic(call)) co_return co_await next_.handle(call);
    call.answer.add("Docker-Distribution-API-Version", "registry/2.0");
    call.answer.add("WWW-Authenticate", "Basic realm=\"plimsoll\"");
    co_return write_error(call.answer, refused);
  }
  const auto needed = needed_scopes(call.request);
  std::string_view error;
  const auto header = call.request.headers.find("Authorization");
  if (header && istarts_with(*header, "Bearer ")) {
    const auto grant = tokens_->check(trim(header->substr(7)), std::time(nullptr));
    if (grant && covered(grant->scopes, needed)) {
      call.user = grant->user;
      co_return co_await next_.handle(call);
    }
    error = grant ? "insufficient_scope" : "invalid_token";
  }
  call.answer.add("Docker-Distribution-API-Version", "registry/2.0");
  challenge_bearer(call, needed, error);
  write_error(call.answer, refused);
}

}  // namespace plimsoll::server
