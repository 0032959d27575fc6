// Who was talked to, from where, over how many connections and how far away each is: for the record's `peers`.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "http/transport.h"
#include "stats/record.h"

namespace plimsoll::workload {

// Passes on a connector's connections and asks the kernel of them how long their handshake took (TCP_INFO): of the
// first ones to each address, then of a sample. Belongs to one thread.
class MeasuredConnector final : public http::Connector {
 public:
  explicit MeasuredConnector(std::unique_ptr<http::OriginConnector> connector)
      : connector_(std::move(connector)) {}

  net::Task<Result<http::Opened>> open(net::Loop& loop, net::Patience patience) override;
  std::string failure() const override { return connector_->failure(); }
  http::Http2Pool* http2() override { return connector_->http2(); }
  const net::Endpoints& endpoints() const { return connector_->endpoints(); }

  // What was seen of one address.
  struct Line {
    std::string address;
    std::vector<std::string> from;  // our own addresses, without ports
    stats::RoundTrip round_trip_s;
  };
  const std::vector<Line>& lines() const { return lines_; }

 private:
  void look_at(const net::Stream& stream);

  std::unique_ptr<http::OriginConnector> connector_;
  std::uint64_t opened_ = 0;
  std::vector<Line> lines_;
};

// All of them, over all threads of a run. Threads add theirs when they end.
class PeerTally {
 public:
  void add(std::string_view part, const http::Url& origin, const MeasuredConnector& connector);
  // One for each origin and address, in the order in which they were first added.
  std::vector<stats::Peer> peers() const;
  // Of one origin, for the target's entry in the record.
  std::vector<stats::Address> addresses(const http::Url& origin) const;

 private:
  struct Entry {
    stats::Peer peer;
    std::string problem;
  };
  mutable std::mutex mutex_;  // once a thread, after everything
  std::vector<Entry> entries_;
};

// Adds up peers of the same target, origin and address.
void merge_peers(std::vector<stats::Peer>& into, const std::vector<stats::Peer>& more);

}  // namespace plimsoll::workload
