// The one way that every request of a registry client takes: authorization, the exchange itself, then a challenge,
// a redirect or a retry, each of which leads back to the start, until there is an answer that is the caller's.
//
// Belongs to one client, runs one call at a time. Every exchange is told to the observer as a step of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "http/url.h"
#include "net/task.h"
#include "oci/authenticator.h"
#include "oci/connectors.h"
#include "oci/registry_options.h"
#include "oci/step.h"
#include "oci/text_sink.h"

namespace plimsoll::oci {

// Which redirects are followed. A HEAD that is sent elsewhere has been answered: what it is sent to may be signed
// for GET alone (trap 26).
enum class Follow : std::uint8_t { none, registry_only, anywhere };

struct Call {
  Step step;
  http::Method method;
  http::Url url;
  Access access = {};
  Follow follow = Follow::anywhere;
  std::string_view accept = {};
  std::string_view content_type = {};
  std::string_view content_range = {};  // of an upload: "0-5"
  std::string_view range = {};          // of a read: "bytes=0-0"
  const http::RequestBody* body = nullptr;
  AnswerSink* sink = nullptr;  // null: the body is discarded without copying it
  bool bulk = false;
  bool upload = false;  // asked at an upload URL: a 404 means that the upload is lost
  // A 401 is answered; else it is only taken note of, and is the reply.
  bool answer_challenge = true;
  // May be sent again after it failed half-way: the second time does what the first one may have done.
  bool repeatable = true;
};

// The last answer. The head is valid until the next call.
struct Reply {
  int status = 0;
  const http::ResponseHead* head = nullptr;
  http::Url url = {};  // that gave it
  std::uint64_t body_received = 0;
  bool redirected = false;  // it comes from another URL than was asked

  std::string_view header(std::string_view name) const { return head->headers.find(name).value_or(""); }
};

class RequestPath {
 public:
  RequestPath(net::Loop& loop, Connectors& connectors, Authenticator& authenticator,
              const RegistryOptions& options, StepObserver* observer, http::ConnectionObserver* connections);

  // Any answer that no challenge, redirect or retry takes care of is a Reply, whatever its status.
  net::Task<Result<Reply>> run(Call call);

  // The error that an answer means, explained in detail().
  Error refused(const Reply& reply, const Call& call);
  // An error of our own about an answer (a wrong digest).
  Error failed(ErrorKind kind, int code, const char* text, const Call& call);
  void note(NoteKind kind, const Call& call, std::string text);

  // GET of it is where every client begins (end-1): "/v2/" below the base's path.
  const http::Url& ping_url() const { return ping_url_; }
  net::Task<Result<void>> connect() { return registry_->connect(); }
  // A retry is allowed and the error or status is one that may pass.
  bool may_pass(const Error& error) const;

  const Detail& detail() const { return detail_; }
  int last_status() const { return last_status_; }
  Instant last_byte() const { return last_byte_; }
  const std::string& server() const { return server_; }
  std::string_view protocol() const { return registry_->protocol(); }
  const RegistryOptions& options() const { return options_; }
  net::Loop& loop() { return loop_; }
  // Waits before attempt `number` (1, 2, ...) of something that failed. An error: the run ended meanwhile.
  net::Task<Result<void>> wait_to_retry(int number, const Call& call, std::string why);

 private:
  struct Progress;
  net::Task<Result<Reply>> exchange(const Call& call, Progress& progress);
  // Each looks whether the answer is its business: true leads to another exchange.
  net::Task<Result<bool>> challenged(const Call& call, Reply& reply, Progress& progress);
  Result<bool> redirected(Call& call, const Reply& reply, Progress& progress);
  bool expired(Call& call, const Reply& reply, Progress& progress);
  net::Task<Result<bool>> throttled(const Call& call, const Reply& reply, Progress& progress);

  // After a failure: true when it may pass, another attempt is allowed, and the wait before it is over.
  net::Task<Result<bool>> may_go_again(const Call& call, const Error& error, Progress& progress);
  net::Task<Result<void>> sleep(Nanos time);

  http::Client& client_of(const http::Url& url);
  bool at_registry(const http::Url& url) const { return url.same_origin(options_.base); }
  void explain(const Call& call, std::string text);
  void remember(const Reply& reply);

  net::Loop& loop_;
  Connectors& connectors_;
  Authenticator& authenticator_;
  RegistryOptions options_;
  StepObserver* observer_;
  http::ConnectionObserver* connections_;
  std::unique_ptr<http::Client> registry_;
  std::map<std::string, std::unique_ptr<http::Client>> elsewhere_;  // by origin
  std::string authority_;                                           // of the registry
  http::Url ping_url_;
  http::Client* last_client_ = nullptr;
  std::vector<http::HeaderView> headers_;
  std::string authorization_;
  Detail detail_;
  int last_status_ = 0;
  Instant last_byte_{};
  std::string server_;
  std::string server_parts_[2];
  std::optional<Nanos> retry_after_;  // what the last answer asked for
  Instant not_before_{};
};

}  // namespace plimsoll::oci
