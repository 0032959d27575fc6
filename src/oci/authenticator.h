// Who we are to one registry, for all workers of one thread: it answers challenges, fetches tokens, keeps them and
// renews them ahead of their end (distribution project, "Token Authentication Specification"; RFC 7617, RFC 6750).
//
// Nothing is sent before the registry has asked for it. After the first challenge its scheme is known, and tokens
// for further repositories are fetched before their first request. Requests for the same token wait for one
// another: a renewal is one request, however many workers need it. What is asked of the token server is a step of
// its own, told to the observer of the worker who asked.
//
// Credentials go to the registry itself and to the realm that it names, never from https to http.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "http/url.h"
#include "net/loop.h"
#include "net/task.h"
#include "oci/connectors.h"
#include "oci/credentials.h"
#include "oci/step.h"
#include "oci/token.h"

namespace plimsoll::oci {

// What a request needs to be allowed to do.
enum class Right : std::uint8_t {
  none,     // no scope: GET /v2/
  pull,     // repository:<name>:pull
  push,     // repository:<name>:pull,push
  all,      // repository:<name>:*, which deletes on every registry ("delete" does not)
  catalog,  // registry:catalog:*
};

struct Access {
  Right right = Right::none;
  std::string_view repository = {};
  std::string_view mount_from = {};  // a repository to pull from as well

  ScopeSet scopes() const;
};

class Authenticator {
 public:
  // All references outlive it. `base`: the registry.
  Authenticator(net::Loop& loop, Connectors& connectors, const http::Url& base, Credentials credentials,
                Nanos timeout = std::chrono::seconds(60));
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  // The Authorization field for such a request, as far as is known; empty where none is to be sent. Valid until the
  // next call.
  std::string_view authorization(const Access& access);
  // Whether prepare() should be awaited first: a token is missing, or due and nobody renews it.
  bool needs_token(const Access& access);
  // Fetches the token. `detail` explains a failure. Errors: token, throttled, and those of connections.
  net::Task<Result<void>> prepare(Access access, StepObserver* observer, Detail* detail);

  // Takes note of what the registry asks for, without answering it: what a client learns from its first GET /v2/.
  // The next request's token is then fetched ahead of it.
  void learn(std::vector<std::string_view> www_authenticate);
  // After a 401 on a request that carried `refused` (empty: nothing). True: the request is to be repeated, once.
  // False: nothing else can be tried.
  net::Task<Result<bool>> answer(Access access, std::vector<std::string_view> www_authenticate,
                                 std::string refused, StepObserver* observer, Detail* detail);

 private:
  enum class Scheme : std::uint8_t { none, basic, bearer };
  // What one kind of access is to ask for.
  struct Grant {
    ScopeSet scopes;  // ours, and what the registry said it wants
    Instant used{};
  };
  struct Fetching;  // a token request on its way
  struct Reply;     // of the token server

  Grant& grant(const Access& access);
  void forget_unused();
  TokenKey key_of(const Grant& grant) const { return {realm_, service_, grant.scopes}; }
  net::Task<Result<void>> fetch(TokenKey key, StepObserver* observer, Detail* detail);
  net::Task<Result<Token>> request(TokenKey key, StepObserver* observer, Detail* detail);
  net::Task<Result<Reply>> get(http::Url url, StepObserver* observer, Detail* detail);
  net::Task<Result<Reply>> post(http::Url url, std::string form, StepObserver* observer, Detail* detail);
  net::Task<Result<Reply>> exchange(http::Url url, http::Request request, StepObserver* observer,
                                    Detail* detail);
  std::unique_ptr<http::Client> borrow(const http::Url& url);

  net::Loop& loop_;
  Connectors& connectors_;
  http::Url base_;
  Credentials credentials_;
  std::string basic_;  // the whole field
  Nanos timeout_;
  Scheme scheme_ = Scheme::none;
  std::string realm_;
  std::string service_;
  TokenCache tokens_;
  std::unordered_map<std::string, Grant> grants_;
  std::string grant_name_;     // kept, as is the next: looking up makes no new string
  std::string authorization_;  // what was last given out
  std::map<TokenKey, std::shared_ptr<Fetching>> fetching_;
  std::multimap<std::string, std::unique_ptr<http::Client>> idle_;  // by origin
};

}  // namespace plimsoll::oci
