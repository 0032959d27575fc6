#include "workload/peers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace plimsoll::workload {
namespace {

constexpr std::uint64_t kAllOfTheFirst = 256;
constexpr std::uint64_t kThenOneOf = 64;
constexpr std::size_t kMostSources = 16;

// The kernel's own measurement, from SYN to SYN-ACK where nothing has been sent yet.
std::optional<double> round_trip_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_rtt == 0)
    return std::nullopt;
  return info.tcpi_rtt * 1e-6;
}

void add_source(std::vector<std::string>& from, const std::string& address) {
  if (from.size() < kMostSources && std::ranges::find(from, address) == from.end()) from.push_back(address);
}

void add_round_trips(stats::RoundTrip& into, const stats::RoundTrip& more) {
  if (more.count == 0) return;
  const auto a = static_cast<double>(into.count);
  const auto b = static_cast<double>(more.count);
  into.mean = (into.mean * a + more.mean * b) / (a + b);
  into.min = into.count == 0 ? more.min : std::min(into.min, more.min);
  into.max = std::max(into.max, more.max);
  into.count += more.count;
}

bool same(const stats::Peer& a, const stats::Peer& b) {
  return a.target == b.target && a.origin == b.origin && a.address == b.address;
}

// "registry+token" where one origin is both.
std::string joined_parts(std::string_view a, std::string_view b) {
  std::string out;
  for (const std::string_view part : {"registry", "token", "storage", "upstream", "server", "redirect"}) {
    const auto names = [part](std::string_view parts) {
      const auto words = split(parts, '+');
      return std::ranges::find(words, part) != words.end();
    };
    if (names(a) || names(b)) out.append(out.empty() ? "" : "+").append(part);
  }
  return out;
}

void add_peer(stats::Peer& into, const stats::Peer& more) {
  into.part = joined_parts(into.part, more.part);
  into.connections += more.connections;
  for (const std::string& address : more.from) add_source(into.from, address);
  add_round_trips(into.round_trip_s, more.round_trip_s);
}

}  // namespace

net::Task<Result<http::Opened>> MeasuredConnector::open(net::Loop& loop, net::Patience patience) {
  auto opened = co_await connector_->open(loop, patience);
  if (opened) look_at(*opened->stream);
  co_return std::move(opened);
}

void MeasuredConnector::look_at(const net::Stream& stream) {
  if (++opened_ > kAllOfTheFirst && opened_ % kThenOneOf != 0) return;
  const std::string address = stream.peer().to_string();
  auto line = std::ranges::find(lines_, address, &Line::address);
  if (line == lines_.end()) line = lines_.insert(lines_.end(), Line{address, {}, {}});
  add_source(line->from, stream.local().ip());
  if (const auto time = round_trip_of(stream.descriptor()))
    add_round_trips(line->round_trip_s, {1, *time, *time, *time});
}

void PeerTally::add(std::string_view part, const http::Url& origin, const MeasuredConnector& connector) {
  const std::lock_guard lock(mutex_);
  for (const auto& endpoint : connector.endpoints().endpoints()) {
    stats::Peer peer;
    peer.part = part;
    peer.origin = origin.origin();
    peer.address = endpoint.address.to_string();
    peer.connections = endpoint.connections;
    const auto line = std::ranges::find(connector.lines(), peer.address, &MeasuredConnector::Line::address);
    if (line != connector.lines().end()) {
      peer.from = line->from;
      peer.round_trip_s = line->round_trip_s;
    }
    auto known = std::ranges::find_if(entries_, [&](const Entry& entry) { return same(entry.peer, peer); });
    if (known == entries_.end()) {
      known = entries_.insert(entries_.end(), Entry{std::move(peer), {}});
    } else {
      add_peer(known->peer, peer);
    }
    if (endpoint.aside) known->problem = describe(endpoint.problem);
  }
}

std::vector<stats::Peer> PeerTally::peers() const {
  const std::lock_guard lock(mutex_);
  std::vector<stats::Peer> out;
  for (const Entry& entry : entries_) {
    if (entry.peer.connections > 0) out.push_back(entry.peer);
  }
  return out;
}

std::vector<stats::Address> PeerTally::addresses(const http::Url& origin) const {
  const std::lock_guard lock(mutex_);
  std::vector<stats::Address> out;
  for (const Entry& entry : entries_) {
    if (entry.peer.origin != origin.origin()) continue;
    auto known = std::ranges::find(out, entry.peer.address, &stats::Address::address);
    if (known == out.end()) known = out.insert(out.end(), stats::Address{entry.peer.address, 0, {}});
    known->connections += entry.peer.connections;
    if (!entry.problem.empty()) known->problem = entry.problem;
  }
  return out;
}

void merge_peers(std::vector<stats::Peer>& into, const std::vector<stats::Peer>& more) {
  for (const stats::Peer& peer : more) {
    const auto known = std::ranges::find_if(into, [&](const stats::Peer& one) { return same(one, peer); });
    if (known == into.end()) {
      into.push_back(peer);
    } else {
      add_peer(*known, peer);
    }
  }
}

}  // namespace plimsoll::workload
