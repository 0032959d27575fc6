// On-demand sync: a manifest that is asked for and not here, or by a tag that may have moved, is brought from an
// upstream registry with everything it refers to, before it is answered.
//
// Copies run in a thread of their own, so that no client's leaving ends one and no loop is held up. Requests for the
// same reference share one copy. Where an upstream fails, whatever the store has is the answer.
//
// Loops of servers: every request to an upstream says in Via which servers it came through (RFC 9110, section 7.6.3),
// and a server that finds itself there answers from its own store. A request that came through another server never
// waits for a copy that a direct client started: two servers that copy from each other would wait for ever.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "net/loop.h"
#include "net/scope.h"
#include "server/registry.h"
#include "server/sync_upstream.h"
#include "server/workers.h"

namespace plimsoll::server {

class Sync final : public ManifestSource {
 public:
  // Hears, in the sync thread, of every failure in one line.
  using Report = std::function<void(std::string_view)>;

  // `workers` must know every loop that refresh() is called on; they and the store outlive this.
  static Checked<std::unique_ptr<Sync>> start(const std::vector<SyncOrigin>& origins, Store& store,
                                              Workers& workers, net::IoKind io, Report report);
  Sync(const Sync&) = delete;
  Sync& operator=(const Sync&) = delete;
  // Ends what runs at once. Nobody may be waiting in refresh().
  ~Sync() override;

  net::Task<Checked<void>> refresh(net::Loop& loop, const std::string& repository,
                                   const std::string& reference, const std::string& via) override;

  // Takes no more copies, and ends those that still run after `patience`. Returns at once.
  void request_stop(Nanos patience);

  const SyncCounts& counts() const { return counts_; }
  // What stands for this server in Via.
  const std::string& pseudonym() const { return pseudonym_; }

 private:
  class Asked;  // one request that waits
  struct Key {
    std::string repository;
    std::string reference;
    std::string via;
    auto operator<=>(const Key&) const = default;
  };

  Sync(Store& store, Workers& workers, Report report);
  void run(net::IoKind io, std::function<void(Checked<void>)> started);
  net::Task<void> serve();
  void woken();
  bool ask(Asked& asked);
  net::Task<void> copy(Key key);
  net::Task<Checked<void>> bring(Key key);
  bool still_fresh(const Key& key);
  void remember_fresh(const Key& key, Nanos fresh);

  Store& store_;
  Workers& workers_;
  Report report_;
  std::string pseudonym_;
  SyncCounts counts_;
  std::vector<std::unique_ptr<SyncUpstream>> upstreams_;
  std::unique_ptr<net::Loop> loop_;
  net::TaskScope scope_;
  net::Event stopping_;
  std::map<Key, std::vector<Asked*>> flights_;            // what is being copied, and who waits for it
  std::unordered_map<std::string, Instant> fresh_until_;  // tags by "repository:tag"

  std::mutex mutex_;  // of what follows
  std::vector<Asked*> arrived_;
  bool closed_ = false;
  std::atomic<Instant> cut_at_{};
  std::jthread thread_;
};

}  // namespace plimsoll::server
