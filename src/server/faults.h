// Misbehaviour on cue, to test clients with: what real registries do wrong, and what networks do to right ones.
//
// A script is one rule: conditions and actions, "KEY=VALUE" or "KEY", separated by ";". Rules are looked at in order;
// the actions of all that match are taken together, later ones winning. docs/serve.md lists every key.
//
//   route=blob; method=GET; share=0.1; status=503; retry_after=2
//   route=upload; method=PATCH; location=query
//   latency=5ms,200ms@0.01
//
// Which requests a share hits is decided by the seed and the order of requests alone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "http/server.h"
#include "server/server.h"

namespace plimsoll::server {

struct Latency {
  Nanos low{};
  Nanos high{};   // equal to low: fixed; else uniform between them
  Nanos other{};  // of a share: bimodal
  double other_share = 0;
};

struct FaultRule {
  // Conditions: all must hold.
  std::string route;  // a resource's name, "token", "files"; empty: any
  std::vector<std::string> methods;
  std::string path;  // part of the path
  std::string host;  // the Host field: tells the addresses of one server apart
  double share = 1;
  std::uint64_t every = 1;
  std::uint64_t skip = 0;
  std::uint64_t count = UINT64_MAX;  // matches after `skip` that are hit

  // Actions before the request is answered.
  std::optional<Latency> latency;
  Nanos freeze{};  // nothing is answered during the first `freeze` of every `freeze_period`
  Nanos freeze_period{};
  bool refuse = false;  // connections, not requests
  bool mount_miss = false;
  std::optional<std::uint64_t> page;
  std::string redirect;  // origin that a GET of the path is sent to
  bool reject_authorization = false;

  // The answer in place of the real one ...
  std::optional<int> status;
  std::string body;
  // ... or what is changed about it.
  std::optional<int> as_status;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> without;
  std::string retry_after;
  std::string location;
  std::string range;
  std::string challenge;
  std::string digest;
  std::string link;
  std::string token;

  // How it goes out.
  bool chunked = false;
  std::uint64_t chunk = 16 * 1024;
  std::string trailers;
  bool no_length = false;
  bool http10 = false;
  std::optional<std::uint64_t> stop_after;
  bool reset = false;
  std::uint64_t close_after = 0;  // requests a connection
  std::uint64_t rate = 0;         // bytes a second

  std::optional<std::uint64_t> chunk_minimum;
};

class FaultScript {
 public:
  // Each text is one rule, or "@FILE" with one a line ("#" begins a comment). Refusals name key and accepted form.
  static Checked<FaultScript> parse(const std::vector<std::string>& texts, std::uint64_t seed);
  bool empty() const { return rules_.empty(); }
  const std::vector<FaultRule>& rules() const { return rules_; }
  std::uint64_t seed() const { return seed_; }
  std::optional<std::uint64_t> chunk_minimum() const;

 private:
  std::vector<FaultRule> rules_;
  std::uint64_t seed_ = 1;
};

// Stands before all handlers and keeps the script.
class Faults final : public http::Handler, public Doorkeeper {
 public:
  Faults(http::Handler& next, const FaultScript& script);

  net::Task<void> handle(http::Call& call) override;
  bool admit() override;

 private:
  struct Seen {
    std::uint64_t matched = 0;
  };
  // Whether the rule's share, count and order choose this match.
  bool chooses(std::size_t rule);
  FaultRule gather(const http::Call& call, std::string_view route);
  net::Task<void> wait(http::Call& call, const FaultRule& fault);
  net::Task<bool> answer_instead(http::Call& call, const FaultRule& fault, std::string_view route);
  net::Task<void> answer_through(http::Call& call, const FaultRule& fault, std::string_view route);
  bool state_is_right(const http::Call& call, const FaultRule& fault);
  void bend_location(http::Call& call, const FaultRule& fault);

  http::Handler& next_;
  const FaultScript& script_;
  Instant start_ = now();
  std::mutex mutex_;  // of what follows
  Random random_;
  std::vector<Seen> seen_;
  std::unordered_map<std::string, std::uint64_t> turns_;  // of rotating locations, by path
};

}  // namespace plimsoll::server
