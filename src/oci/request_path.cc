#include "oci/request_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "oci/mask.h"
#include "oci/retry_after.h"
#include "oci/spec_error.h"
#include "oci/step_report.h"

namespace plimsoll::oci {
namespace {

constexpr int kMostRedirects = 10;
constexpr std::size_t kMostOrigins = 32;
constexpr Nanos kFirstWait = std::chrono::milliseconds(500);
constexpr Nanos kLongestBackoff = std::chrono::seconds(30);

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string without_trailing_slash(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

bool is_passing(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504 ||
         status == 522;
}

bool is_passing(const Error& error) {
  switch (error.kind) {
    case ErrorKind::connect_refused:
    case ErrorKind::connect_timeout:
    case ErrorKind::reset:
    case ErrorKind::closed:
    case ErrorKind::timeout:
    case ErrorKind::short_body:
    case ErrorKind::throttled:
      return true;
    case ErrorKind::unexpected_status:
    case ErrorKind::token:
      return is_passing(error.code);
    default:
      return false;
  }
}

Error error_of_status(int status, bool upload) {
  if (status == 401 || status == 403)
    return {ErrorKind::unauthorized, status, "refused after all that could be tried"};
  if (status == 429) return {ErrorKind::throttled, status, "the registry throttles"};
  if (status == 404 && upload)
    return {ErrorKind::upload_lost, status, "the registry no longer knows the upload"};
  return {ErrorKind::unexpected_status, status, "an answer that is not foreseen here"};
}

}  // namespace

// How far a call has come over its exchanges.
struct RequestPath::Progress {
  http::Url asked;
  http::Method asked_method;
  int hops = 0;
  int attempts = 0;
  bool reauthorized = false;
  bool at_token_server = false;  // where the last exchange failed: nothing of the call itself was sent
  bool fetched_anew = false;
};

RequestPath::RequestPath(net::Loop& loop, Connectors& connectors, Authenticator& authenticator,
                         const RegistryOptions& options, StepObserver* observer,
                         http::ConnectionObserver* connections)
    : loop_(loop),
      connectors_(connectors),
      authenticator_(authenticator),
      options_(options),
      observer_(observer),
      connections_(connections),
      authority_(options.base.authority()),
      ping_url_(options.base) {
  ping_url_.target = without_trailing_slash(options_.base.path()) + "/v2/";
  registry_ = std::make_unique<http::Client>(
      loop_, connectors_.to(options_.base, Part::registry),
      http::ClientOptions{.connect_patience = {.idle = options_.timeout}, .keep_alive = options_.keep_alive},
      connections_);
  last_client_ = registry_.get();
}

http::Client& RequestPath::client_of(const http::Url& url) {
  if (at_registry(url)) return *registry_;
  if (elsewhere_.size() >= kMostOrigins && !elsewhere_.contains(url.origin())) {
    elsewhere_.clear();
    last_client_ = registry_.get();
  }
  auto& client = elsewhere_[url.origin()];
  if (!client) {
    client =
        std::make_unique<http::Client>(loop_, connectors_.to(url, Part::storage),
                                       http::ClientOptions{.connect_patience = {.idle = options_.timeout},
                                                           .keep_alive = options_.keep_alive},
                                       connections_);
  }
  return *client;
}

net::Task<Result<Reply>> RequestPath::run(Call call) {
  Progress progress{.asked = call.url, .asked_method = call.method};
  for (;;) {
    auto reply = co_await exchange(call, progress);
    if (!reply) {
      const auto again = co_await may_go_again(call, reply.error(), progress);
      if (!again) co_return again.error();
      if (!*again) co_return reply.error();
      continue;
    }
    const auto authorized = co_await challenged(call, *reply, progress);
    if (!authorized) {
      progress.at_token_server = true;
      const auto again = co_await may_go_again(call, authorized.error(), progress);
      if (!again) co_return again.error();
      if (!*again) co_return authorized.error();
      progress.reauthorized = false;
      continue;
    }
    if (*authorized) continue;
    const auto led_on = redirected(call, *reply, progress);
    if (!led_on) co_return led_on.error();
    if (*led_on || expired(call, *reply, progress)) continue;
    const auto repeated = co_await throttled(call, *reply, progress);
    if (!repeated) co_return repeated.error();
    if (*repeated) continue;
    co_return std::move(*reply);
  }
}

net::Task<Result<Reply>> RequestPath::exchange(const Call& call, Progress& progress) {
  progress.at_token_server = false;
  if (const Nanos wait = not_before_ - plimsoll::now(); wait > Nanos{}) {
    if (auto waited = co_await sleep(wait); !waited) co_return waited.error();
  }
  const bool trusted = at_registry(call.url);
  authorization_.clear();
  if (trusted) {
    if (authenticator_.needs_token(call.access)) {
      if (auto ready = co_await authenticator_.prepare(call.access, observer_, &detail_); !ready) {
        progress.at_token_server = true;
        co_return ready.error();
      }
    }
    authorization_ = authenticator_.authorization(call.access);
  }
  headers_.clear();
  headers_.push_back({"User-Agent", options_.user_agent});
  if (!call.accept.empty()) headers_.push_back({"Accept", call.accept});
  if (call.method == http::Method::get) headers_.push_back({"Accept-Encoding", "identity"});
  if (!call.content_type.empty()) headers_.push_back({"Content-Type", call.content_type});
  if (!call.content_range.empty()) headers_.push_back({"Content-Range", call.content_range});
  if (!call.range.empty()) headers_.push_back({"Range", call.range});
  if (!authorization_.empty()) headers_.push_back({"Authorization", authorization_});
  if (trusted) {
    for (const auto& [name, value] : options_.headers) headers_.push_back({name, value});
  }
  const std::string other_authority = trusted ? std::string() : call.url.authority();
  http::Request request;
  request.method = call.method;
  request.target = call.url.target;
  request.authority = trusted ? authority_ : other_authority;
  request.headers = headers_;
  request.body = call.body;
  request.bulk_answer = call.bulk;
  net::Patience patience{.idle = options_.timeout};
  if (options_.deadline != Nanos::max()) patience.deadline = plimsoll::now() + options_.deadline;
  if (call.sink != nullptr) call.sink->begin();
  http::Client& client = client_of(call.url);
  last_client_ = &client;
  const auto answer = co_await client.exchange(request, call.sink, patience);

  const bool storage_hop = progress.hops > 0 && call.method == http::Method::get;
  const StepReport report = answer ? report_of(*answer) : report_of(client.progress());
  if (observer_ != nullptr) observer_->step(storage_hop ? Step::storage : call.step, report);
  last_status_ = report.status;
  last_byte_ = report.done;
  if (!answer) {
    // A refusal that came while the body was on its way is what happened, however the connection ended after it.
    const bool refusal = report.status >= 400;
    const Error error = refusal ? error_of_status(report.status, call.upload) : answer.error();
    const std::string why = client.failure();
    explain(call, why.empty() || why == describe(error) ? describe(error)
                                                        : fmt::format("{} ({})", describe(error), why));
    co_return error;
  }
  Reply reply{.status = answer->status(),
              .head = answer->head,
              .url = call.url,
              .body_received = answer->body_received,
              .redirected = progress.hops > 0};
  remember(reply);
  co_return reply;
}

void RequestPath::remember(const Reply& reply) {
  retry_after_.reset();
  if (const auto wait = reply.head->headers.find("Retry-After")) {
    retry_after_ = parse_retry_after(*wait, reply.header("Date"), std::time(nullptr));
    const bool asked = reply.status == 429 || reply.status == 503;
    if (retry_after_ && asked && options_.respect_retry_after) not_before_ = plimsoll::now() + *retry_after_;
  }
  if (!at_registry(reply.url)) return;
  const std::string_view parts[] = {reply.header("Server"), reply.header("Docker-Distribution-Api-Version")};
  bool changed = false;
  for (std::size_t i = 0; i < 2; ++i) {
    if (parts[i].empty() || parts[i] == server_parts_[i]) continue;
    server_parts_[i] = parts[i];
    changed = true;
  }
  if (!changed) return;
  server_ = server_parts_[0];
  if (!server_parts_[1].empty()) server_.append(server_.empty() ? "" : ", ").append(server_parts_[1]);
}

net::Task<Result<bool>> RequestPath::challenged(const Call& call, Reply& reply, Progress& progress) {
  // Only the registry itself may ask who we are: a storage host that does has to be content with its signature.
  if (reply.status != 401 || progress.reauthorized || !at_registry(call.url)) co_return false;
  if (!call.answer_challenge) {
    authenticator_.learn(reply.head->headers.find_all("WWW-Authenticate"));
    co_return false;
  }
  progress.reauthorized = true;
  const std::string sent = authorization_;
  std::vector<std::string_view> asked = reply.head->headers.find_all("WWW-Authenticate");
  if (asked.empty() && call.step != Step::ping) {
    // Some registries say how only where every client begins. The first answer's head does not outlive this.
    const Call ping{.step = Step::ping, .method = http::Method::get, .url = ping_url_};
    Progress pinging;
    const auto pong = co_await exchange(ping, pinging);
    if (!pong) co_return pong.error();
    reply.head = pong->head;
    asked = pong->head->headers.find_all("WWW-Authenticate");
  }
  auto again = co_await authenticator_.answer(call.access, asked, sent, observer_, &detail_);
  if (!again) co_return again.error();
  if (*again && !sent.empty()) {
    note(NoteKind::reauthorized, call, "the registry refused what it had given or accepted");
  }
  co_return *again;
}

Result<bool> RequestPath::redirected(Call& call, const Reply& reply, Progress& progress) {
  if (!is_redirect(reply.status) || call.follow == Follow::none) return false;
  const std::string_view location = reply.header("Location");
  if (location.empty()) return failed(ErrorKind::protocol, reply.status, "a redirect without Location", call);
  auto next = http::resolve(call.url, location);
  const std::string shown = fmt::format("{} to {}", reply.status, masked_target(location));
  if (!next) {
    const Error error = failed(ErrorKind::protocol, reply.status, "a redirect to what is no URL", call);
    detail_.text = shown;
    return error;
  }
  if (call.follow == Follow::registry_only && !next->same_origin(call.url)) return false;
  if (call.url.secure() && !next->secure()) {
    const Error error = failed(ErrorKind::protocol, reply.status, "a redirect from https to http", call);
    detail_.text = shown;
    return error;
  }
  if (++progress.hops > kMostRedirects) {
    const Error error = failed(ErrorKind::redirect_loop, reply.status, "more than 10 redirects", call);
    detail_.text = shown;
    return error;
  }
  // 303 says where the result can be read. The others mean the same request, whatever browsers make of 301 and 302.
  if (reply.status == 303 && call.method != http::Method::head) {
    call.method = http::Method::get;
    call.body = nullptr;
    call.content_type = {};
    call.content_range = {};
  }
  call.url = std::move(*next);
  return true;
}

// A signed URL that is too old by the time it is used: the registry signs another one, once.
bool RequestPath::expired(Call& call, const Reply& reply, Progress& progress) {
  const bool refused = reply.status == 403 || reply.status == 401;
  if (progress.hops == 0 || !refused || progress.fetched_anew || progress.asked_method != http::Method::get)
    return false;
  progress.fetched_anew = true;
  progress.hops = 0;
  call.url = progress.asked;
  return true;
}

net::Task<Result<bool>> RequestPath::throttled(const Call& call, const Reply& reply, Progress& progress) {
  if (!is_passing(reply.status) || progress.attempts >= options_.retries) co_return false;
  // A 429 did nothing; after any other the registry may have taken some of the body.
  if (!call.repeatable && reply.status != 429) co_return false;
  auto waited = co_await wait_to_retry(++progress.attempts, call, fmt::format("status {}", reply.status));
  if (!waited) co_return waited.error();
  co_return true;
}

net::Task<Result<bool>> RequestPath::may_go_again(const Call& call, const Error& error, Progress& progress) {
  const bool repeatable = call.repeatable || progress.at_token_server;
  if (!repeatable || !is_passing(error) || progress.attempts >= options_.retries) co_return false;
  const auto waited = co_await wait_to_retry(++progress.attempts, call, detail_.text);
  if (!waited) co_return waited.error();
  co_return true;
}

bool RequestPath::may_pass(const Error& error) const {
  return options_.retries > 0 && is_passing(error);
}

net::Task<Result<void>> RequestPath::wait_to_retry(int number, const Call& call, std::string why) {
  const Nanos backoff = std::min<Nanos>(kFirstWait * (1LL << std::min(number - 1, 10)), kLongestBackoff);
  Nanos wait = retry_after_.value_or(backoff);
  // As long as the registry asks for only where the user said so: it may ask for minutes.
  if (!options_.respect_retry_after) wait = std::min(wait, kLongestBackoff);
  retry_after_.reset();
  note(NoteKind::retried, call,
       fmt::format("attempt {} after {}, {:.1f} s later", number + 1, why, seconds(wait)));
  co_return co_await sleep(wait);
}

net::Task<Result<void>> RequestPath::sleep(Nanos time) {
  constexpr Nanos kClockSlack = std::chrono::milliseconds(1);
  const Instant start = plimsoll::now();
  co_await loop_.sleep_until(start + time);
  const Nanos slept = plimsoll::now() - start;
  if (observer_ != nullptr) observer_->waited(slept);
  // Loop::abort_streams wakes sleepers before their time.
  if (slept + kClockSlack < time) {
    not_before_ = {};  // nothing keeps the clean-up waiting
    co_return Error{ErrorKind::cancelled, 0, "the run ended first"};
  }
  co_return ok();
}

void RequestPath::explain(const Call& call, std::string text) {
  detail_.text = std::move(text);
  detail_.peer = last_client_->peer();
  const std::string target = masked_target(call.url.target);
  detail_.request =
      fmt::format("{} {}{}", name(call.method), at_registry(call.url) ? "" : call.url.origin(), target);
}

Error RequestPath::refused(const Reply& reply, const Call& call) {
  Call asked = call;
  asked.url = reply.url;
  const std::string said = call.sink == nullptr ? "" : parse_spec_error(call.sink->text()).text();
  std::string text =
      said.empty() ? fmt::format("{}", reply.status) : fmt::format("{} {}", reply.status, said);
  if (const auto location = reply.header("Location"); !location.empty()) {
    text += fmt::format(" (Location: {})", masked_target(location));
  }
  explain(asked, std::move(text));
  return error_of_status(reply.status, call.upload);
}

Error RequestPath::failed(ErrorKind kind, int code, const char* text, const Call& call) {
  explain(call, text);
  return {kind, code, text};
}

void RequestPath::note(NoteKind kind, const Call& call, std::string text) {
  if (observer_ == nullptr) return;
  const std::string target = masked_target(call.url.target);
  const Detail detail{.text = std::move(text),
                      .peer = last_client_->peer(),
                      .request = fmt::format("{} {}", name(call.method), target)};
  observer_->note(kind, detail);
}

}  // namespace plimsoll::oci
