// Counters for Prometheus: requests by resource, method and status, bytes, connections, and how long answers took.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "http/server.h"
#include "server/registry.h"
#include "server/sync_upstream.h"

namespace plimsoll::server {

class Metrics final : public http::Observer {
 public:
  void served(const http::Served& served) override;
  void connected() override { opened_.fetch_add(1, std::memory_order_relaxed); }
  void disconnected() override { closed_.fetch_add(1, std::memory_order_relaxed); }
  void malformed(int status) override;

  // Before the first request; outlives this.
  void set_sync(const SyncCounts* counts) { sync_ = counts; }

  // The text exposition format, with figures of the store.
  std::string text(const Store& store, const UploadSessions& sessions) const;

 private:
  static constexpr std::size_t kKinds = kResources + 1;  // and everything else
  static constexpr std::size_t kMethods = 10;            // as http::Method counts
  static constexpr std::size_t kStatuses = 600;
  static constexpr std::array<double, 14> kBounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                  0.025,  0.05,    0.1,    0.25,  0.5,    1,     5};
  using Counter = std::atomic<std::uint64_t>;

  void append_requests(std::string& out) const;
  void append_durations(std::string& out) const;
  void append_sync(std::string& out) const;

  std::array<std::array<std::array<Counter, 5>, kMethods>, kKinds> classes_{};
  std::array<Counter, kStatuses> statuses_{};
  std::array<Counter, kBounds.size() + 1> durations_{};
  Counter duration_nanos_ = 0;
  Counter received_ = 0;
  Counter sent_ = 0;
  Counter opened_ = 0;
  Counter closed_ = 0;
  Counter incomplete_ = 0;
  Counter malformed_ = 0;
  const SyncCounts* sync_ = nullptr;
};

}  // namespace plimsoll::server
