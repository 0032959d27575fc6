// Loads HTTP URLs: ab's, wrk's and h2load's job. An operation is one request and its whole answer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "http/transport.h"
#include "http/url.h"
#include "load/workload.h"
#include "workload/peers.h"

namespace plimsoll::workload {

// One kind of request. `{seq}` and `{random}` in target, header values and body are replaced for each one.
struct HttpRequestTemplate {
  std::string method = "GET";
  http::Url url;
  std::vector<std::pair<std::string, std::string>> headers;  // Host only where it is to differ from the URL's
  std::string body;
  bool has_body = false;

  bool varies() const;
};

struct HttpLoadOptions {
  std::vector<HttpRequestTemplate> requests;  // taken in turn
  bool keep_alive = true;
  std::uint64_t requests_per_connection = 0;  // 0: as many as the server takes
  Nanos timeout = std::chrono::seconds(30);   // from a request's sending to its last byte
  int follow = 0;                             // redirects
  bool http2 = false;                         // may be spoken
  bool same_length = false;                   // a body of another length than the first is an error
};

// What the first answer said, for the report.
struct HttpFacts {
  std::string server;
  std::string protocol = "HTTP/1.1";
  std::string tls;
  std::optional<std::uint64_t> document_length;
  std::uint64_t kept_alive = 0;  // requests whose connection stayed open after them
};

// Reads a file of requests: a line "METHOD URL", then header lines "Name: value", then, where there is a body, a line
// "@FILE"; blank lines part requests, "#" begins a comment (vegeta's targets). A refusal names the line.
Checked<std::vector<HttpRequestTemplate>> parse_requests(std::string_view text, const std::string& folder);

class HttpLoad final : public load::Workload {
 public:
  // `transport` outlives the workload; connections are counted when threads end.
  HttpLoad(HttpLoadOptions options, const http::Transport& transport, int threads);
  ~HttpLoad() override;

  void prepare(stats::Recorder& recorder) override;
  std::unique_ptr<load::Session> session(const load::Worker& worker) override;

  HttpFacts facts() const;
  // Who was talked to, once the run has ended: "server" and "redirect".
  std::vector<stats::Peer> peers() const { return peers_.peers(); }

 private:
  friend class HttpSession;
  struct Thread;  // connectors, shared by the sessions of a thread

  HttpLoadOptions options_;
  const http::Transport& transport_;
  std::vector<std::weak_ptr<Thread>> threads_;
  mutable std::mutex mutex_;  // first answers and ends of threads: never an operation
  HttpFacts facts_;
  bool facts_known_ = false;
  PeerTally peers_;
};

}  // namespace plimsoll::workload
