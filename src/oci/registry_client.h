// A client of one registry, by the steps of the distribution spec. Sections are those of distribution-spec 1.1.
//
// Every request takes one path: a challenge is answered, a redirect followed, a retry made there, and not in the
// flows, which are the caller's: a push is a coroutine of five awaited steps. One client belongs to one worker and
// runs one request at a time. Bodies are read and verified as they stream by; nothing of them is kept but what a
// caller asks for as text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "http/exchange.h"
#include "http/url.h"
#include "net/loop.h"
#include "net/task.h"
#include "oci/authenticator.h"
#include "oci/connectors.h"
#include "oci/digest.h"
#include "oci/manifest.h"
#include "oci/registry_options.h"
#include "oci/step.h"
#include "oci/text_sink.h"

namespace plimsoll::oci {

enum class BlobRole : std::uint8_t { layer, config };

// An upload session (end-4a): its newest Location, absolute. A 404 on it is an `upload_lost`.
struct Upload {
  std::string repository;
  http::Url location;
  std::uint64_t offset = 0;         // bytes that the registry has acknowledged
  std::uint64_t chunk_minimum = 0;  // OCI-Chunk-Min-Length
};

struct Mounted {
  bool mounted = false;
  std::optional<Upload>
      upload;  // of a 202: the blob is to be uploaded there. Absent: in a session of its own
};

struct ManifestAnswer {
  int status = 0;
  std::string media_type;        // without parameters
  std::optional<Digest> digest;  // Docker-Content-Digest, where it was given and is one
  std::optional<std::uint64_t> size;
  std::string body;  // of GET
};

struct Page {
  std::vector<std::string> names;  // tags or repositories
  std::optional<http::Url> next;   // Link rel=next
};

// What refers to a manifest. Without the API the fallback tag was read in its place.
struct Referrers {
  std::vector<Descriptor> manifests;
  bool api = true;
  bool filtered = false;          // the registry applied the filter; else the caller has to
  std::optional<http::Url> next;  // Link rel=next
};

class RegistryClient {
 public:
  // All references outlive the client; the observer may be null.
  RegistryClient(net::Loop& loop, Connectors& connectors, Authenticator& authenticator,
                 const RegistryOptions& options, StepObserver* observer,
                 http::ConnectionObserver* connections);
  ~RegistryClient();
  RegistryClient(const RegistryClient&) = delete;
  RegistryClient& operator=(const RegistryClient&) = delete;

  // GET /v2/ (end-1). The body's start is kept for is-this-a-registry questions.
  net::Task<Result<std::string>> ping();

  // The same as container clients begin with: to learn what the registry asks for. A 401 is the answer, and no error.
  net::Task<Result<void>> greet();

  // --- uploads (end-4a to end-6, end-11, end-13, end-14)
  net::Task<Result<Upload>> start_upload(std::string_view repository);
  // The whole content in the closing PUT.
  net::Task<Result<void>> put_blob(Upload& upload, const http::RequestBody& content, const Digest& digest,
                                   BlobRole role);
  // The whole content in one PATCH without Content-Range, with its length or (no length) chunked.
  net::Task<Result<void>> stream_blob(Upload& upload, const http::RequestBody& content, BlobRole role);
  // Chunks of `chunk_size` or the registry's minimum, with Content-Range; resumes from what the registry has.
  net::Task<Result<void>> send_chunks(Upload& upload, const http::RequestBody& content,
                                      std::uint64_t chunk_size, BlobRole role);
  // The closing PUT without content.
  net::Task<Result<void>> finish_upload(Upload& upload, const Digest& digest, BlobRole role);
  // One POST with the content; falls back to a PUT on 202.
  net::Task<Result<void>> post_blob(std::string_view repository, const http::RequestBody& content,
                                    const Digest& digest, BlobRole role);
  net::Task<Result<std::uint64_t>> upload_status(Upload& upload);
  net::Task<Result<void>> cancel_upload(Upload& upload);
  // `from` empty: anonymous. A registry that does not mount is no error, whatever it answers; it is noted.
  net::Task<Result<Mounted>> mount(std::string_view repository, const Digest& digest, std::string_view from);

  // --- manifests (end-3, end-7). `reference` is a tag or a digest.
  net::Task<Result<void>> put_manifest(std::string_view repository, std::string_view reference,
                                       std::string_view media_type, std::string_view body);
  net::Task<Result<ManifestAnswer>> head_manifest(std::string_view repository, std::string_view reference);
  net::Task<Result<ManifestAnswer>> get_manifest(std::string_view repository, std::string_view reference);

  // --- blobs (end-2). `size`: what the descriptor says; checked, as is the digest, unless verification is off.
  net::Task<Result<void>> head_blob(std::string_view repository, const Digest& digest, BlobRole role);
  net::Task<Result<void>> get_blob(std::string_view repository, const Digest& digest,
                                   std::optional<std::uint64_t> size, BlobRole role);
  // The content goes to `sink`, which is told to begin anew before every attempt, and whose owner verifies it: what
  // comes before the last begin(), and all of it on an error, is none of the blob.
  net::Task<Result<void>> read_blob(std::string_view repository, const Digest& digest, BlobRole role,
                                    AnswerSink& sink);
  net::Task<Result<std::string>> get_blob_text(std::string_view repository, const Digest& digest,
                                               BlobRole role);

  // --- lists (end-8, end-12, catalog). `next` of a page leads to the following one.
  net::Task<Result<Page>> catalog(std::uint64_t page_size = 0);
  net::Task<Result<Page>> tags(std::string_view repository, std::uint64_t page_size = 0);
  net::Task<Result<Page>> next_page(const http::Url& next, Step step);

  // 404 means that the registry has no such API: then the fallback tag is read (absent: nothing refers).
  net::Task<Result<Referrers>> referrers(std::string_view repository, const Digest& subject,
                                         std::string_view artifact_type = {});

  // --- deletes (end-9, end-10). A refusal (400, 405) or an absence (404) is told by the status, and is no error.
  net::Task<Result<int>> delete_manifest(std::string_view repository, const Digest& digest);
  net::Task<Result<int>> delete_tag(std::string_view repository, std::string_view tag);
  net::Task<Result<int>> delete_blob(std::string_view repository, const Digest& digest);

  // Of the last step that failed: what explains it.
  const Detail& detail() const;
  // Status of the last answer; 0 where there was none.
  int last_status() const;
  // When the last answer's last byte came.
  Instant last_byte() const;
  // "nginx/1.22", and Docker-Distribution-Api-Version, of the last answer that had them.
  const std::string& server() const;
  // Spoken on the last connection to the registry: "HTTP/1.1", "HTTP/2".
  std::string_view protocol() const;
  net::Loop& loop();
  // Opens the connection to the registry ahead of the first request.
  net::Task<Result<void>> connect();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::oci
