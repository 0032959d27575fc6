#include "oci/authenticator.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "net/scope.h"
#include "oci/challenge.h"
#include "oci/mask.h"
#include "oci/spec_error.h"
#include "oci/step_report.h"
#include "oci/text_sink.h"

namespace plimsoll::oci {
namespace {

constexpr std::size_t kMaxReply = 1U << 20U;
constexpr int kMostRedirects = 5;
constexpr std::size_t kManyGrants = 1024;
constexpr Nanos kUnused = std::chrono::seconds(30);
constexpr std::string_view kBearer = "Bearer ";

// Statuses by which token servers say that they don't know this way of asking (registry-specific, all seen).
bool tries_other_way(int status) {
  return status == 400 || status == 401 || status == 404 || status == 405;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

ScopeSet Access::scopes() const {
  ScopeSet set;
  const auto add = [&set](std::string_view name, std::vector<std::string> actions) {
    set.add(Scope{"repository", std::string(name), std::move(actions)});
  };
  switch (right) {
    case Right::none:
      break;
    case Right::pull:
      add(repository, {"pull"});
      break;
    case Right::push:
      add(repository, {"pull", "push"});
      break;
    case Right::all:
      add(repository, {"*"});
      break;
    case Right::catalog:
      set.add(Scope{"registry", "catalog", {"*"}});
      break;
  }
  if (!mount_from.empty()) add(mount_from, {"pull"});
  return set;
}

// Whoever wants the same token waits here; `error` is how it ended.
struct Authenticator::Fetching {
  net::Event ended;
  std::optional<Error> error;
  Detail detail;
};

struct Authenticator::Reply {
  int status = 0;
  std::string body;
  std::string location;
};

Authenticator::Authenticator(net::Loop& loop, Connectors& connectors, const http::Url& base,
                             Credentials credentials, Nanos timeout)
    : loop_(loop),
      connectors_(connectors),
      base_(base),
      credentials_(std::move(credentials)),
      timeout_(timeout) {
  if (!credentials_.user.empty() || !credentials_.password.empty()) basic_ = credentials_.basic();
}

Authenticator::~Authenticator() = default;

Authenticator::Grant& Authenticator::grant(const Access& access) {
  grant_name_.assign(1, static_cast<char>('0' + static_cast<int>(access.right)));
  grant_name_.append(access.repository).append(" ").append(access.mount_from);
  auto found = grants_.find(grant_name_);
  if (found == grants_.end()) {
    if (grants_.size() >= kManyGrants) forget_unused();
    found = grants_.emplace(grant_name_, Grant{access.scopes(), {}}).first;
  }
  found->second.used = loop_.now();
  return found->second;
}

// A run that pushes to ever new repositories must not keep all their tokens.
void Authenticator::forget_unused() {
  const Instant oldest = loop_.now() - kUnused;
  std::erase_if(grants_, [&](const auto& entry) {
    if (entry.second.used >= oldest) return false;
    tokens_.drop(key_of(entry.second));
    return true;
  });
}

std::string_view Authenticator::authorization(const Access& access) {
  if (scheme_ == Scheme::basic) return basic_;
  if (scheme_ == Scheme::none) return {};
  const Token* token = tokens_.find(key_of(grant(access)), loop_.now());
  if (token == nullptr) return {};
  authorization_.assign(kBearer).append(token->value);
  return authorization_;
}

bool Authenticator::needs_token(const Access& access) {
  if (scheme_ != Scheme::bearer) return false;
  const TokenKey key = key_of(grant(access));
  const Token* token = tokens_.find(key, loop_.now());
  return token == nullptr || (token->due(loop_.now()) && !fetching_.contains(key));
}

net::Task<Result<void>> Authenticator::prepare(Access access, StepObserver* observer, Detail* detail) {
  co_return co_await fetch(key_of(grant(access)), observer, detail);
}

void Authenticator::learn(std::vector<std::string_view> www_authenticate) {
  const auto challenges = parse_challenges(www_authenticate);
  const Challenge* chosen = choose_challenge(challenges);
  if (chosen == nullptr) return;
  scheme_ = chosen->scheme == "basic" ? Scheme::basic : Scheme::bearer;
  if (scheme_ == Scheme::basic) return;
  realm_ = chosen->parameter("realm");
  service_ = chosen->parameter("service");
}

net::Task<Result<bool>> Authenticator::answer(Access access, std::vector<std::string_view> www_authenticate,
                                              std::string refused, StepObserver* observer, Detail* detail) {
  const auto challenges = parse_challenges(www_authenticate);
  const Challenge* chosen = choose_challenge(challenges);
  if (chosen == nullptr) co_return false;
  if (chosen->scheme == "basic") {
    scheme_ = Scheme::basic;
    co_return !basic_.empty() && refused != basic_;
  }
  scheme_ = Scheme::bearer;
  realm_ = chosen->parameter("realm");
  service_ = chosen->parameter("service");
  Grant& wanted = grant(access);
  wanted.scopes.add(ScopeSet::parse(chosen->parameter("scope")));
  const TokenKey key = key_of(wanted);
  if (refused.starts_with(kBearer)) tokens_.drop(key, std::string_view(refused).substr(kBearer.size()));
  // Another worker may have renewed it while this one's request was on its way.
  if (tokens_.find(key, loop_.now()) != nullptr) co_return true;
  if (auto fetched = co_await fetch(key, observer, detail); !fetched) co_return fetched.error();
  co_return true;
}

net::Task<Result<void>> Authenticator::fetch(TokenKey key, StepObserver* observer, Detail* detail) {
  if (const auto found = fetching_.find(key); found != fetching_.end()) {
    const std::shared_ptr<Fetching> other = found->second;
    co_await other->ended.wait();
    if (!other->error) co_return ok();
    *detail = other->detail;
    co_return *other->error;
  }
  const auto mine = std::make_shared<Fetching>();
  fetching_.emplace(key, mine);
  auto token = co_await request(key, observer, &mine->detail);
  fetching_.erase(key);
  if (token) {
    tokens_.put(key, std::move(*token));
  } else {
    mine->error = token.error();
    *detail = mine->detail;
  }
  mine->ended.open();
  if (!token) co_return token.error();
  co_return ok();
}

// A user and password go by GET, an identity token by POST; each tries the other way where that may help.
net::Task<Result<Token>> Authenticator::request(TokenKey key, StepObserver* observer, Detail* detail) {
  const auto realm = http::resolve(base_, key.realm);
  if (!realm) co_return Error{ErrorKind::token, 0, "the realm of the challenge is no URL"};
  if (base_.secure() && !realm->secure() && !credentials_.anonymous()) {
    co_return Error{ErrorKind::token, 0,
                    "the realm is http, the registry https: no credentials are sent there"};
  }
  const bool post_first = !credentials_.identity_token.empty();
  Reply reply;
  for (const bool by_post : {post_first, !post_first}) {
    if (reply.status != 0 &&
        (!tries_other_way(reply.status) || (by_post ? credentials_.anonymous() : basic_.empty()))) {
      break;
    }
    auto answered =
        by_post ? co_await post(*realm, key.form(credentials_), observer, detail)
                : co_await get(http::append_query(*realm, key.query(credentials_.user)), observer, detail);
    if (!answered) co_return answered.error();
    reply = std::move(*answered);
    if (reply.status < 300) break;
  }
  if (reply.status == 429) co_return Error{ErrorKind::throttled, 429, "the token server throttles"};
  if (reply.status < 200 || reply.status >= 300) {
    co_return Error{ErrorKind::token, reply.status, "the token server refused"};
  }
  auto token = parse_token_reply(reply.body, ReplyTime::now());
  if (token && !credentials_.identity_token.empty() && !token->refresh_token.empty()) {
    credentials_.identity_token =
        token->refresh_token;  // RFC 6749, section 6: it replaces the one that was sent
  }
  co_return token;
}

net::Task<Result<Authenticator::Reply>> Authenticator::get(http::Url url, StepObserver* observer,
                                                           Detail* detail) {
  const http::Url realm = url;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    std::array<http::HeaderView, 2> headers{http::HeaderView{"Accept", "application/json"},
                                            http::HeaderView{"Authorization", basic_}};
    const bool authorized = !basic_.empty() && url.same_origin(realm);
    http::Request request;
    request.headers = std::span(headers).first(authorized ? 2 : 1);
    auto reply = co_await exchange(url, request, observer, detail);
    if (!reply || !is_redirect(reply->status)) co_return reply;
    auto next = http::resolve(url, reply->location);
    if (!next || (url.secure() && !next->secure())) co_return reply;
    url = std::move(*next);
  }
  co_return Error{ErrorKind::redirect_loop, 0, "the token server redirects without end"};
}

net::Task<Result<Authenticator::Reply>> Authenticator::post(http::Url url, std::string form,
                                                            StepObserver* observer, Detail* detail) {
  const std::array<http::HeaderView, 2> headers{
      http::HeaderView{"Accept", "application/json"},
      http::HeaderView{"Content-Type", "application/x-www-form-urlencoded"}};
  const http::TextBody body(form);
  http::Request request;
  request.method = http::Method::post;
  request.headers = headers;
  request.body = &body;
  co_return co_await exchange(std::move(url), request, observer, detail);
}

net::Task<Result<Authenticator::Reply>> Authenticator::exchange(http::Url url, http::Request request,
                                                                StepObserver* observer, Detail* detail) {
  std::unique_ptr<http::Client> client = borrow(url);
  const std::string authority = url.authority();
  request.target = url.target;
  request.authority = authority;
  TextSink sink(kMaxReply);
  sink.begin();
  const auto answer = co_await client->exchange(request, &sink, {.idle = timeout_});
  Reply reply;
  StepReport report;
  if (answer) {
    reply.status = answer->status();
    reply.body = sink.text();
    reply.location = answer->head->headers.find("Location").value_or("");
    report = report_of(*answer);
  } else {
    report = report_of(client->progress());
  }
  if (observer != nullptr) observer->step(Step::token, report);
  if (!answer || reply.status >= 300) {
    detail->peer = client->peer();
    detail->request = fmt::format("{} {}{}", name(request.method), url.origin(), masked_target(url.target));
    detail->text = answer
                       ? fmt::format("token server: {} {}", reply.status, parse_spec_error(reply.body).text())
                       : fmt::format("token server: {}", describe(answer.error()));
  }
  idle_.emplace(url.origin(), std::move(client));
  if (!answer) co_return answer.error();
  co_return reply;
}

std::unique_ptr<http::Client> Authenticator::borrow(const http::Url& url) {
  if (const auto found = idle_.find(url.origin()); found != idle_.end()) {
    std::unique_ptr<http::Client> client = std::move(found->second);
    idle_.erase(found);
    return client;
  }
  return std::make_unique<http::Client>(loop_, connectors_.to(url, Part::token),
                                        http::ClientOptions{.connect_patience = {.idle = timeout_}}, nullptr);
}

}  // namespace plimsoll::oci
