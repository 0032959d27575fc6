// Copies single images from one upstream registry into the store: what on-demand sync does once it has decided to.
//
// Belongs to the sync thread (sync.h). Connections and what is known of the upstream are kept between copies and made
// anew after a failure to connect, since addresses change. A blob that several copies need is fetched once. Everything
// is verified: a manifest against its digest by the client, a blob as it streams into the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/transport.h"
#include "net/loop.h"
#include "net/scope.h"
#include "oci/credentials.h"
#include "oci/manifest.h"
#include "oci/registry_client.h"
#include "server/store.h"
#include "server/sync_origin.h"

namespace plimsoll::server {

// Counted in the sync thread, read by /metrics.
struct SyncCounts {
  std::atomic<std::uint64_t> lookups = 0;   // tags and digests asked for upstream
  std::atomic<std::uint64_t> images = 0;    // manifests and indexes asked for that were copied
  std::atomic<std::uint64_t> blobs = 0;     // fetched, without those that were there
  std::atomic<std::uint64_t> bytes = 0;     // of these
  std::atomic<std::uint64_t> failures = 0;  // of lookups or copies, absence aside
};

enum class Brought : std::uint8_t { fresh, copied, absent };

class SyncUpstream {
 public:
  // Looks up credentials (which may run a helper program) and reads the CA's file: before any loop exists.
  static Checked<std::unique_ptr<SyncUpstream>> make(SyncOrigin origin, Store& store, SyncCounts& counts);
  SyncUpstream(const SyncUpstream&) = delete;
  SyncUpstream& operator=(const SyncUpstream&) = delete;
  ~SyncUpstream();

  const SyncOrigin& origin() const { return origin_; }

  // Makes the store's manifest of that name as fresh as the upstream's, with everything that it refers to. `via` is
  // sent with every request. A refusal is one line that says what failed.
  net::Task<Checked<Brought>> bring(net::Loop& loop, std::string repository, std::string reference,
                                    std::string via);
  // Forgets all connections, which go before their loop does.
  void close() { session_.reset(); }

 private:
  struct Session;
  class Lease;
  struct Copy;
  struct BlobRun;
  class BlobSink;
  struct Wanted {
    oci::Digest digest;
    std::uint64_t size = 0;
    oci::BlobRole role = oci::BlobRole::layer;
  };

  SyncUpstream(SyncOrigin origin, oci::Credentials credentials, http::Transport transport, Store& store,
               SyncCounts& counts);

  net::Task<Checked<Brought>> bring_with(Copy& copy, const std::string& reference);
  net::Task<Checked<void>> copy_document(Copy& copy, oci::Digest digest, oci::ManifestAnswer manifest,
                                         std::vector<std::string> tags, int depth);
  net::Task<Checked<void>> copy_member(Copy& copy, const oci::Descriptor& member, int depth);
  net::Task<Checked<void>> copy_blobs(Copy& copy, std::vector<Wanted> blobs);
  net::Task<void> copy_next(Copy& copy, BlobRun& run);
  net::Task<Checked<void>> copy_blob(Copy& copy, Wanted wanted);
  net::Task<Checked<void>> fetch_blob(Copy& copy, Wanted wanted);
  Refusal failure(Lease& client, const Error& error);

  SyncOrigin origin_;
  oci::Credentials credentials_;
  http::Transport transport_;
  Store& store_;
  SyncCounts& counts_;
  std::shared_ptr<Session> session_;
  std::map<oci::Digest, std::shared_ptr<net::Event>> fetching_;  // opens when a fetch has ended
};

}  // namespace plimsoll::server
