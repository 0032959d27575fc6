// What the source files of RegistryClient share. For this room's sources only.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "oci/registry_client.h"
#include "oci/request_path.h"
#include "oci/text_sink.h"

namespace plimsoll::oci {

struct RegistryClient::State {
  State(net::Loop& loop, Connectors& connectors, Authenticator& authenticator, const RegistryOptions& options,
        StepObserver* observer, http::ConnectionObserver* connections);

  // {base}/v2/<repository>/<tail>; without a repository {base}/v2/<tail>.
  http::Url url(std::string_view repository, std::string_view tail) const;
  // The same for reads of manifests and blobs, which a mirror is told the origin of (`ns`).
  http::Url read_url(std::string_view repository, std::string_view tail) const;

  // A 2xx is taken for what was asked, and noted where it is not the status of the specification.
  bool accepts(const Reply& reply, const Call& call, int specified);
  // The newest Location of an upload; the one before it stays where none is given. False if it is no URL, or leads
  // from https to http.
  Result<void> follow_location(Upload& upload, const Reply& reply, const Call& call);
  // Content codings are not asked for and not undone.
  void note_coding(const Reply& reply, const Call& call);
  // What stands in Docker-Content-Digest, where it is a digest.
  static std::optional<Digest> digest_of(const Reply& reply);

  net::Task<Result<Upload>> open_upload(std::string_view repository, Call call);
  Call upload_call(Step step, http::Method method, const Upload& upload, const http::RequestBody& body);
  net::Task<Result<void>> close_upload(Upload& upload, const http::RequestBody& body, const Digest& digest,
                                       Step step);
  net::Task<Result<void>> send_patch(Upload& upload, const http::RequestBody& body,
                                     std::string_view content_range, Step step, std::uint64_t expected_next);
  net::Task<Result<std::uint64_t>> status(Upload& upload);
  // After a failure that may pass: where the upload is to go on, as the registry tells.
  net::Task<Result<void>> resume(Upload& upload, int attempt, const Call& call);
  net::Task<bool> has_blob(std::string_view repository, const Digest& digest);

  net::Task<Result<Page>> page(Call call, const char* key);
  net::Task<Result<int>> remove(Step step, std::string_view repository, std::string tail);
  net::Task<Result<Reply>> manifest(http::Method method, std::string_view repository,
                                    std::string_view reference);
  Result<ManifestAnswer> manifest_answer(const Reply& reply, const Call& call, std::string_view reference);

  RequestPath path;
  TextSink text;
  std::set<std::string, std::less<>> pages;  // of the listing under way: one that comes again would never end
};

}  // namespace plimsoll::oci
