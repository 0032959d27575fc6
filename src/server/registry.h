// The OCI distribution API over a Store: a handler for everything below /v2/ (distribution-spec; Docker's catalog).
//
// One function per method and resource; errors are written in one place. Answers depend on the request and the store
// alone. May be shared by any number of loops.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "http/server.h"
#include "server/registry_error.h"
#include "server/route.h"
#include "server/store.h"
#include "server/upload_sessions.h"
#include "server/workers.h"

namespace plimsoll::server {

struct RegistryOptions {
  bool read_only = false;
  std::uint64_t max_manifest = 4 * 1024 * 1024;
  std::uint64_t chunk_minimum = 0;  // OCI-Chunk-Min-Length
  std::size_t page = 0;             // names a page at most; 0: no limit but the client's
  std::string warning;              // sent with every answer (RFC 7234, section 5.5)
};

// Is asked for a manifest before the store is: on-demand sync.
class ManifestSource {
 public:
  virtual ~ManifestSource() = default;
  // Ends when the reference is as fresh in the store as it can be made. `via`: the servers that the request came
  // through (RFC 9110, section 7.6.3). A refusal where the reference could not be looked up or copied; what the store
  // has is still good.
  virtual net::Task<Checked<void>> refresh(net::Loop& loop, const std::string& repository,
                                           const std::string& reference, const std::string& via) = 0;
};

class Registry final : public http::Handler {
 public:
  Registry(Store& store, Workers& workers, RegistryOptions options)
      : store_(store), workers_(workers), options_(std::move(options)) {}

  net::Task<void> handle(http::Call& call) override;

  void set_source(ManifestSource* source) { source_ = source; }
  UploadSessions& sessions() { return sessions_; }

 private:
  struct Exchange;
  net::Task<Outcome> dispatch(Exchange& exchange);

  // registry_lists.cc
  Outcome get_catalog(Exchange& exchange) const;
  Outcome get_tags(Exchange& exchange) const;
  Outcome get_referrers(Exchange& exchange) const;
  // registry_manifests.cc
  net::Task<Outcome> get_manifest(Exchange& exchange);
  net::Task<Outcome> put_manifest(Exchange& exchange);
  net::Task<Outcome> delete_manifest(Exchange& exchange);
  // registry_blobs.cc
  Outcome head_blob(Exchange& exchange) const;
  Outcome get_blob(Exchange& exchange) const;
  Outcome delete_blob(Exchange& exchange);
  // registry_uploads.cc
  net::Task<Outcome> post_upload(Exchange& exchange);
  net::Task<Outcome> post_whole_blob(Exchange& exchange, std::string_view digest_text);
  Outcome get_upload(Exchange& exchange) const;
  net::Task<Outcome> patch_upload(Exchange& exchange);
  net::Task<Outcome> put_upload(Exchange& exchange);
  Outcome delete_upload(Exchange& exchange);

  // Adds the request's body to the upload; the rest of a large one while a worker hashes and stores what came before.
  net::Task<Outcome> receive(Exchange& exchange, Upload& upload);
  net::Task<Outcome> receive_rest(Exchange& exchange, Upload& upload);
  // Checks the upload's digest and makes it a blob.
  net::Task<Outcome> finish_upload(Exchange& exchange, Upload& upload, const oci::Digest& digest);
  Outcome check_chunk(Exchange& exchange, UploadSession& session);
  void accept_upload(Exchange& exchange, const UploadSession& session, int status) const;

  Store& store_;
  Workers& workers_;
  RegistryOptions options_;
  UploadSessions sessions_;
  ManifestSource* source_ = nullptr;
};

}  // namespace plimsoll::server
