#include "workload/http_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/text.h"
#include "http/client.h"

namespace plimsoll::workload {
namespace {

constexpr std::string_view kSequence = "{seq}";
constexpr std::string_view kRandom = "{random}";

bool has_placeholder(std::string_view text) {
  return text.find(kSequence) != std::string_view::npos || text.find(kRandom) != std::string_view::npos;
}

void append_filled(std::string& out, std::string_view text, std::uint64_t sequence, Random& random) {
  while (!text.empty()) {
    const auto open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return;
    text.remove_prefix(open);
    if (text.starts_with(kSequence)) {
      fmt::format_to(std::back_inserter(out), "{}", sequence);
      text.remove_prefix(kSequence.size());
    } else if (text.starts_with(kRandom)) {
      fmt::format_to(std::back_inserter(out), "{:016x}", random.next());
      text.remove_prefix(kRandom.size());
    } else {
      out += '{';
      text.remove_prefix(1);
    }
  }
}

// To a proxy goes the whole URL (RFC 9112, section 3.2.2).
std::string render_head(const HttpRequestTemplate& request, bool keep_alive, const http::Proxy* proxy) {
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\n", request.method,
                                 proxy == nullptr ? "" : request.url.origin(), request.url.target);
  const auto named = [&request](std::string_view name) {
    return std::ranges::any_of(request.headers,
                               [name](const auto& field) { return iequals(field.first, name); });
  };
  if (!named("host")) head += fmt::format("Host: {}\r\n", request.url.authority());
  for (const auto& [name, value] : request.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (proxy != nullptr && !proxy->authorization.empty() && !named("proxy-authorization"))
    head += fmt::format("Proxy-Authorization: {}\r\n", proxy->authorization);
  if (!named("user-agent")) head += "User-Agent: plimsoll\r\n";
  if (!named("accept")) head += "Accept: */*\r\n";
  if (!keep_alive) head += "Connection: close\r\n";
  if (request.has_body) head += fmt::format("Content-Length: {}\r\n", request.body.size());
  return head + "\r\n";
}

// A head's parts, as views into it: HTTP/2 sends these, HTTP/1.1 the head as it is.
struct HeadParts {
  std::string_view target;
  std::string_view authority;
  std::vector<http::HeaderView> fields;

  void read(std::string_view head) {
    fields.clear();
    const auto line = head.substr(0, head.find("\r\n"));
    const auto begin = line.find(' ') + 1;
    target = line.substr(begin, line.rfind(' ') - begin);
    for (head.remove_prefix(line.size() + 2); !head.starts_with("\r\n");) {
      const auto end = head.find("\r\n");
      const auto colon = head.find(": ");
      const http::HeaderView field{head.substr(0, colon), head.substr(colon + 2, end - colon - 2)};
      if (iequals(field.name, "host")) {
        authority = field.value;
      } else {
        fields.push_back(field);
      }
      head.remove_prefix(end + 2);
    }
  }
};

// A template made ready: what does not vary is rendered once.
struct Prepared {
  const HttpRequestTemplate* source;
  http::Method method;
  std::string head;
  bool varies;
  HeadParts parts;
};

}  // namespace

bool HttpRequestTemplate::varies() const {
  return has_placeholder(url.target) || has_placeholder(body) ||
         std::ranges::any_of(headers, [](const auto& field) { return has_placeholder(field.second); });
}

struct HttpLoad::Thread {
  HttpLoad& load;
  struct Known {
    http::Url origin;
    std::unique_ptr<MeasuredConnector> connector;
  };
  std::map<std::string, Known> connectors;

  explicit Thread(HttpLoad& of) : load(of) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() {
    for (const auto& [key, known] : connectors) {
      const bool asked = std::ranges::any_of(load.options_.requests, [&known](const auto& request) {
        return request.url.same_origin(known.origin);
      });
      load.peers_.add(asked ? "server" : "redirect", known.origin, *known.connector);
    }
  }

  MeasuredConnector* to(const http::Url& url, int thread) {
    const std::string origin = url.origin();
    const auto known = connectors.find(origin);
    if (known != connectors.end()) return known->second.connector.get();
    auto made = load.transport_.connector(url, thread);
    if (!made) return nullptr;
    auto measured = std::make_unique<MeasuredConnector>(std::move(*made));
    return connectors.emplace(origin, Known{url, std::move(measured)}).first->second.connector.get();
  }
};

class HttpSession final : public load::Session, public http::ConnectionObserver {
 public:
  HttpSession(HttpLoad& load, const load::Worker& worker, std::shared_ptr<HttpLoad::Thread> thread)
      : load_(load),
        options_(load.options_),
        recorder_(worker.recorder),
        loop_(worker.loop),
        thread_(std::move(thread)),
        thread_index_(worker.thread),
        random_(worker.seed),
        request_step_(recorder_.step_id("request")),
        redirect_step_(recorder_.step_id("redirect")),
        connect_part_(recorder_.part_id("connect")),
        processing_part_(recorder_.part_id("processing")),
        waiting_part_(recorder_.part_id("waiting")) {
    // In place from the beginning: parts are views into heads.
    prepared_.reserve(options_.requests.size());
    for (const HttpRequestTemplate& request : options_.requests) {
      prepared_.push_back(
          {&request,
           http::parse_method(request.method),
           render_head(request, options_.keep_alive, load_.transport_.plain_proxy(request.url)),
           request.varies(),
           {}});
      prepared_.back().parts.read(prepared_.back().head);
    }
  }
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;
  ~HttpSession() override {
    const std::lock_guard lock(load_.mutex_);
    load_.facts_.kept_alive += kept_alive_;
  }

  net::Task<load::Outcome> operate(std::uint64_t sequence) override {
    const Prepared& prepared = prepared_[prepared_.size() == 1 ? 0 : sequence % prepared_.size()];
    http::Client* client = client_for(prepared.source->url);
    if (client == nullptr) co_return failed({ErrorKind::resolve, 0, "the name has no address"}, prepared);
    connect_time_ = {};
    const Instant start = now();
    http::Request request{.method = prepared.method,
                          .method_text = prepared.source->method,
                          .target = prepared.parts.target,
                          .authority = prepared.parts.authority,
                          .headers = prepared.parts.fields,
                          .rendered_head = prepared.head};
    std::string_view body = prepared.source->body;
    if (prepared.varies) {
      head_.clear();
      append_filled(head_, prepared.head, sequence, random_);
      body_.clear();
      append_filled(body_, body, sequence, random_);
      fix_length(prepared, body.size());
      request.rendered_head = head_;
      if (options_.http2) {
        parts_.read(head_);
        request.target = parts_.target;
        request.authority = parts_.authority;
        request.headers = parts_.fields;
      }
      body = body_;
    }
    const http::TextBody content(body);
    if (prepared.source->has_body) request.body = &content;
    const net::Patience patience{
        .idle = Nanos::max(), .deadline = start + options_.timeout, .deadline_kind = ErrorKind::timeout};
    auto answer = co_await client->exchange(request, nullptr, patience);
    if (!answer) co_return failed(answer.error(), prepared);
    record(request_step_, *answer, start);
    if (options_.follow > 0 && is_redirect(answer->status())) {
      co_return co_await follow(prepared, *answer, start, patience);
    }
    co_return ended(prepared, *answer);
  }

 private:
  static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

  http::Client* client_for(const http::Url& url) {
    // One origin is the usual case, and its URL's parts stay where they are.
    if (last_url_ == &url) return last_client_;
    const std::string origin = url.origin();
    auto at = clients_.find(origin);
    if (at == clients_.end()) {
      MeasuredConnector* connector = thread_->to(url, thread_index_);
      if (connector == nullptr) return nullptr;
      http::ClientOptions options{.connect_patience = {.idle = options_.timeout},
                                  .keep_alive = options_.keep_alive,
                                  .requests_per_connection = options_.requests_per_connection};
      at = clients_.emplace(origin, std::make_unique<http::Client>(loop_, *connector, options, this)).first;
    }
    last_url_ = &url;
    last_client_ = at->second.get();
    return last_client_;
  }

  // The body of a template that varies may have grown with its placeholders.
  void fix_length(const Prepared& prepared, std::size_t planned) {
    if (!prepared.source->has_body || body_.size() == planned) return;
    const std::string old_line = fmt::format("Content-Length: {}\r\n", planned);
    const auto at = head_.rfind(old_line);
    head_.replace(at, old_line.size(), fmt::format("Content-Length: {}\r\n", body_.size()));
  }

  void record(stats::StepId step, const http::Answer& answer, Instant start) {
    recorder_.step(step, {.status = answer.status(),
                          .sent = answer.sent_first,
                          .first_byte = answer.first_byte,
                          .done = answer.last_byte,
                          .bytes = {.sent = answer.wire_sent,
                                    .received = answer.wire_received,
                                    .body_sent = answer.body_sent,
                                    .body_received = answer.body_received}});
    recorder_.part(connect_part_, connect_time_);
    recorder_.part(processing_part_, answer.last_byte - start - connect_time_);
    recorder_.part(waiting_part_, answer.first_byte - answer.sent_first);
    if (answer.head->keep_alive) ++kept_alive_;
    if (!facts_told_) tell_facts(answer);
  }

  void tell_facts(const http::Answer& answer) {
    facts_told_ = true;
    const std::lock_guard lock(load_.mutex_);
    if (load_.facts_known_) return;
    load_.facts_known_ = true;
    load_.facts_.server = answer.head->headers.find("server").value_or("");
    load_.facts_.protocol = answer.head->major_version == 2   ? "HTTP/2"
                            : answer.head->minor_version == 0 ? "HTTP/1.0"
                                                              : "HTTP/1.1";
    load_.facts_.tls = last_client_->tls_description();
    load_.facts_.document_length = answer.body_received;
  }

  load::Outcome ended(const Prepared& prepared, const http::Answer& answer) {
    load::Outcome outcome{.error = {},
                          .last_status = answer.status(),
                          .part = {},
                          .done = answer.last_byte,
                          .first_byte = answer.first_byte,
                          .connect = connect_time_,
                          .bytes = answer.wire_received};
    if (answer.status() >= 400) {
      const ErrorKind kind = answer.status() == 429 ? ErrorKind::throttled : ErrorKind::unexpected_status;
      outcome.error = {kind, answer.status(), ""};
    } else if (options_.same_length && !same_length(answer.body_received)) {
      outcome.error = {ErrorKind::short_body, 0, "the body's length differs from the first one's"};
    }
    if (outcome.error) sample(*outcome.error, prepared);
    return outcome;
  }

  bool same_length(std::uint64_t length) {
    if (!expected_length_) {
      const std::lock_guard lock(load_.mutex_);
      expected_length_ = load_.facts_.document_length.value_or(length);
    }
    return length == *expected_length_;
  }

  load::Outcome failed(const Error& error, const Prepared& prepared) {
    sample(error, prepared);
    const int status = last_client_ == nullptr ? 0 : last_client_->progress().status;
    return {.error = error, .last_status = status, .part = {}, .done = {}};
  }

  void sample(const Error& error, const Prepared& prepared) {
    if (!recorder_.wants_sample(error.kind)) return;
    std::string text = describe(error);
    if (error.kind == ErrorKind::tls && last_client_ != nullptr) text = "tls: " + last_client_->failure();
    recorder_.sample(error.kind, {.text = text,
                                  .peer = last_client_ == nullptr ? "" : last_client_->peer(),
                                  .request = prepared.source->method + " " + prepared.source->url.target});
  }

  // The hops of a redirect. Credentials of ours do not go to another origin.
  net::Task<load::Outcome> follow(const Prepared& prepared, http::Answer answer, Instant start,
                                  net::Patience patience) {
    http::Url url = prepared.source->url;
    for (int hop = 0; is_redirect(answer.status()); ++hop) {
      if (hop == options_.follow) co_return failed({ErrorKind::redirect_loop, answer.status(), ""}, prepared);
      const auto location = answer.head->headers.find("location");
      auto next = location ? http::resolve(url, *location)
                           : Result<http::Url>(Error{ErrorKind::protocol, 0, "a redirect without Location"});
      if (!next) co_return failed(next.error(), prepared);
      const bool becomes_get = answer.status() == 303 || prepared.source->method == "POST";
      HttpRequestTemplate hop_request{.method = becomes_get ? "GET" : prepared.source->method,
                                      .url = *next,
                                      .headers = prepared.source->headers,
                                      .body = {},
                                      .has_body = false};
      if (!next->same_origin(prepared.source->url)) {
        std::erase_if(hop_request.headers, [](const auto& field) {
          return iequals(field.first, "authorization") || iequals(field.first, "cookie") ||
                 iequals(field.first, "proxy-authorization") || iequals(field.first, "host");
        });
      }
      url = *next;
      last_url_ = nullptr;
      http::Client* client = client_for(url);
      last_url_ = nullptr;
      if (client == nullptr) co_return failed({ErrorKind::resolve, 0, "the name has no address"}, prepared);
      const std::string head =
          render_head(hop_request, options_.keep_alive, load_.transport_.plain_proxy(url));
      parts_.read(head);
      const http::Request request{.method = http::parse_method(hop_request.method),
                                  .method_text = hop_request.method,
                                  .target = parts_.target,
                                  .authority = parts_.authority,
                                  .headers = parts_.fields,
                                  .rendered_head = head};
      auto next_answer = co_await client->exchange(request, nullptr, patience);
      if (!next_answer) co_return failed(next_answer.error(), prepared);
      answer = *next_answer;
      record(redirect_step_, answer, start);
    }
    co_return ended(prepared, answer);
  }

  void opened(Nanos connect, Nanos tls, bool replaces_closed) override {
    connect_time_ = connect + tls;
    recorder_.connection_opened(connect, tls > Nanos{} ? std::optional(tls) : std::nullopt, replaces_closed);
  }
  void reused() override { recorder_.connection_reused(); }

  HttpLoad& load_;
  const HttpLoadOptions& options_;
  stats::Recorder& recorder_;
  net::Loop& loop_;
  std::shared_ptr<HttpLoad::Thread> thread_;
  int thread_index_;
  Random random_;
  stats::StepId request_step_;
  stats::StepId redirect_step_;
  stats::PartId connect_part_;
  stats::PartId processing_part_;
  stats::PartId waiting_part_;
  std::vector<Prepared> prepared_;
  std::map<std::string, std::unique_ptr<http::Client>> clients_;
  const http::Url* last_url_ = nullptr;
  http::Client* last_client_ = nullptr;
  Nanos connect_time_{};
  std::uint64_t kept_alive_ = 0;
  bool facts_told_ = false;
  std::optional<std::uint64_t> expected_length_;
  std::string head_;
  std::string body_;
  HeadParts parts_;  // of head_
};

HttpLoad::HttpLoad(HttpLoadOptions options, const http::Transport& transport, int threads)
    : options_(std::move(options)), transport_(transport), threads_(static_cast<std::size_t>(threads)) {}

HttpLoad::~HttpLoad() = default;

void HttpLoad::prepare(stats::Recorder& recorder) {
  for (const char* step : {"request", "redirect"}) recorder.step_id(step);
  for (const char* part : {"connect", "processing", "waiting"}) recorder.part_id(part);
}

std::unique_ptr<load::Session> HttpLoad::session(const load::Worker& worker) {
  std::weak_ptr<Thread>& mine = threads_[static_cast<std::size_t>(worker.thread)];
  std::shared_ptr<Thread> thread = mine.lock();
  if (thread == nullptr) {
    thread = std::make_shared<Thread>(*this);
    mine = thread;
  }
  return std::make_unique<HttpSession>(*this, worker, std::move(thread));
}

HttpFacts HttpLoad::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace plimsoll::workload
