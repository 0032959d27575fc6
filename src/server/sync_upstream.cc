#include "server/sync_upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "oci/authenticator.h"
#include "oci/origin_connectors.h"
#include "oci/text_sink.h"

namespace plimsoll::server {
namespace {

constexpr std::size_t kAtOnce = 4;     // blobs of one copy
constexpr std::size_t kMostIdle = 16;  // clients kept
constexpr std::size_t kErrorText = 1024;

bool failed_to_connect(ErrorKind kind) {
  return kind == ErrorKind::resolve || kind == ErrorKind::connect_refused ||
         kind == ErrorKind::connect_timeout || kind == ErrorKind::tls;
}

bool is_absent(const Error& error) {
  return error.kind == ErrorKind::unexpected_status && error.code == 404;
}

std::string store_problem(const StoreError& error) {
  return error.fault == StoreFault::full ? "the store is full"
                                         : fmt::format("the store failed (errno {})", error.code);
}

}  // namespace

// What copies share for as long as connecting goes well.
struct SyncUpstream::Session {
  Session(net::Loop& its_loop, const http::Transport& transport, const SyncOrigin& origin,
          const oci::Credentials& credentials)
      : loop(its_loop),
        connectors(transport, 0, origin.url, nullptr),
        authenticator(loop, connectors, origin.url, credentials, origin.timeout) {}

  net::Loop& loop;
  oci::OriginConnectors connectors;
  oci::Authenticator authenticator;
  std::vector<std::unique_ptr<oci::RegistryClient>> idle;
};

struct SyncUpstream::Copy {
  std::shared_ptr<Session> session;
  std::string repository;
  std::string via;
  bool direct = false;  // no other server asked for it: clients may be kept
};

// A client for as long as one request needs it.
class SyncUpstream::Lease {
 public:
  Lease(SyncUpstream& upstream, Copy& copy) : copy_(copy) {
    auto& idle = copy.session->idle;
    if (copy.direct && !idle.empty()) {
      client_ = std::move(idle.back());
      idle.pop_back();
      return;
    }
    oci::RegistryOptions options;
    options.base = upstream.origin_.url;
    options.timeout = upstream.origin_.timeout;
    options.headers.emplace_back("Via", copy.via);
    client_ = std::make_unique<oci::RegistryClient>(copy.session->loop, copy.session->connectors,
                                                    copy.session->authenticator, options, nullptr, nullptr);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    auto& idle = copy_.session->idle;
    if (copy_.direct && idle.size() < kMostIdle) idle.push_back(std::move(client_));
  }
  oci::RegistryClient* operator->() { return client_.get(); }

 private:
  Copy& copy_;
  std::unique_ptr<oci::RegistryClient> client_;
};

// A blob on its way into the store. What the store refuses is remembered and the rest dropped.
class SyncUpstream::BlobSink final : public oci::AnswerSink {
 public:
  BlobSink(Store& store, const Wanted& wanted) : store_(store), wanted_(wanted) {}

  void begin() override {
    text_.clear();
    problem_.clear();
    auto upload = store_.begin_upload(wanted_.size);
    if (!upload) {
      problem_ = store_problem(upload.error());
      upload_.reset();
      return;
    }
    upload_ = std::move(*upload);
    upload_->expect(wanted_.digest.algorithm());
  }
  void data(std::string_view bytes) override {
    if (text_.size() < kErrorText) text_.append(bytes.substr(0, kErrorText - text_.size()));
    if (!problem_.empty() || !upload_) return;
    if (upload_->size() + bytes.size() > wanted_.size) {
      problem_ = "more bytes came than the descriptor says";
    } else if (const auto appended = upload_->append(bytes); !appended) {
      problem_ = store_problem(appended.error());
    }
  }
  std::string_view text() const override { return text_; }

  // After the last byte: makes it a blob of the repository, if it is what was wanted.
  Checked<void> commit(const std::string& repository) {
    if (!problem_.empty()) return Refusal{problem_};
    const auto digest = upload_->digest(wanted_.digest.algorithm());
    if (!digest) return Refusal{store_problem(digest.error())};
    if (*digest != wanted_.digest) return Refusal{"the content is not what its digest says"};
    const auto stored = store_.commit(*upload_, repository, wanted_.digest);
    if (!stored) return Refusal{store_problem(stored.error())};
    return {};
  }

 private:
  Store& store_;
  Wanted wanted_;
  std::shared_ptr<Upload> upload_;
  std::string text_;
  std::string problem_;
};

struct SyncUpstream::BlobRun {
  std::vector<Wanted> blobs;
  std::size_t next = 0;
  Checked<void> outcome = {};
};

SyncUpstream::SyncUpstream(SyncOrigin origin, oci::Credentials credentials, http::Transport transport,
                           Store& store, SyncCounts& counts)
    : origin_(std::move(origin)),
      credentials_(std::move(credentials)),
      transport_(std::move(transport)),
      store_(store),
      counts_(counts) {}

SyncUpstream::~SyncUpstream() = default;

Checked<std::unique_ptr<SyncUpstream>> SyncUpstream::make(SyncOrigin origin, Store& store,
                                                          SyncCounts& counts) {
  std::optional<std::string_view> auth;
  if (origin.auth) auth = *origin.auth;
  auto credentials = oci::find_credentials(auth, origin.url.authority());
  if (!credentials) return credentials.error();
  http::TransportSettings settings;
  settings.cacert = origin.cacert;
  settings.insecure = origin.insecure;
  auto transport = http::Transport::make(std::move(settings));
  if (!transport) return transport.error();
  return std::unique_ptr<SyncUpstream>(
      new SyncUpstream(std::move(origin), std::move(*credentials), std::move(*transport), store, counts));
}

Refusal SyncUpstream::failure(Lease& client, const Error& error) {
  if (failed_to_connect(error.kind)) session_.reset();
  const auto& detail = client->detail();
  return Refusal{fmt::format("{}: {}: {}", origin_.url.origin(), detail.request,
                             detail.text.empty() ? describe(error) : detail.text)};
}

net::Task<Checked<Brought>> SyncUpstream::bring(net::Loop& loop, std::string repository,
                                                std::string reference, std::string via) {
  if (!session_) session_ = std::make_shared<Session>(loop, transport_, origin_, credentials_);
  const bool direct = !via.contains(',');
  Copy copy{
      .session = session_, .repository = std::move(repository), .via = std::move(via), .direct = direct};
  auto brought = co_await bring_with(copy, reference);
  if (!brought) counts_.failures.fetch_add(1, std::memory_order_relaxed);
  if (brought && *brought == Brought::copied) counts_.images.fetch_add(1, std::memory_order_relaxed);
  co_return brought;
}

net::Task<Checked<Brought>> SyncUpstream::bring_with(Copy& copy, const std::string& reference) {
  counts_.lookups.fetch_add(1, std::memory_order_relaxed);
  const bool by_tag = !reference.contains(':');
  oci::ManifestAnswer manifest;
  {
    Lease client(*this, copy);
    if (const auto known = by_tag ? store_.manifest(copy.repository, std::string_view(reference))
                                  : Stored<StoredManifest>(StoreError{})) {
      const auto head = co_await client->head_manifest(copy.repository, reference);
      if (!head && is_absent(head.error())) co_return Brought::absent;
      if (!head) co_return failure(client, head.error());
      if (head->digest && *head->digest == known->digest) co_return Brought::fresh;
    }
    auto got = co_await client->get_manifest(copy.repository, reference);
    if (!got && is_absent(got.error())) co_return Brought::absent;
    if (!got) co_return failure(client, got.error());
    manifest = std::move(*got);
  }
  // By digest the client has checked the bytes against it; by tag the upstream's own digest, or else made one.
  const oci::Digest digest = by_tag ? *manifest.digest : *oci::Digest::parse(reference);
  std::vector<std::string> tags;
  if (by_tag) tags.push_back(reference);
  const auto copied = co_await copy_document(copy, digest, std::move(manifest), std::move(tags), 0);
  if (!copied) co_return copied.error();
  co_return Brought::copied;
}

// The manifest itself comes last, so that it is never there without what it refers to.
net::Task<Checked<void>> SyncUpstream::copy_document(Copy& copy, oci::Digest digest,
                                                     oci::ManifestAnswer manifest,
                                                     std::vector<std::string> tags, int depth) {
  const auto refuse = [&](std::string_view why) {
    return Refusal{fmt::format("{}: {}@{}: {}", origin_.url.origin(), copy.repository, digest.text(), why)};
  };
  if (depth > oci::kMaxIndexDepth) co_return refuse("indexes are nested too deeply");
  if (!store_.manifest(copy.repository, digest)) {
    const auto document = oci::parse_manifest(manifest.body, manifest.media_type);
    if (!document) co_return refuse(document.error().text);
    std::vector<Wanted> blobs;
    if (document->config) {
      blobs.push_back({document->config->digest, document->config->size, oci::BlobRole::config});
    }
    for (const auto& layer : document->layers) {
      if (!layer.foreign()) blobs.push_back({layer.digest, layer.size, oci::BlobRole::layer});
    }
    if (auto copied = co_await copy_blobs(copy, std::move(blobs)); !copied) co_return copied;
    for (const auto& member : document->manifests) {
      if (auto copied = co_await copy_member(copy, member, depth + 1); !copied) co_return copied;
    }
  }
  std::string media_type = manifest.media_type;
  if (media_type.empty()) media_type = media_type_field(manifest.body);
  auto facts = read_manifest_facts(manifest.body, media_type);
  if (!facts) co_return refuse(facts.error().message);
  const auto stored = store_.put_manifest(copy.repository, digest, manifest.body, std::move(*facts), tags);
  if (!stored) co_return refuse(store_problem(stored.error()));
  co_return Checked<void>{};
}

// An entry of an index. One that the upstream doesn't have either is left out: indexes may be sparse.
net::Task<Checked<void>> SyncUpstream::copy_member(Copy& copy, const oci::Descriptor& member, int depth) {
  if (store_.manifest(copy.repository, member.digest)) co_return Checked<void>{};
  oci::ManifestAnswer manifest;
  bool absent = false;
  {
    Lease client(*this, copy);
    auto got = co_await client->get_manifest(copy.repository, member.digest.text());
    absent = !got && is_absent(got.error());
    if (!got && !absent) co_return failure(client, got.error());
    if (got) manifest = std::move(*got);
  }
  if (!absent) co_return co_await copy_document(copy, member.digest, std::move(manifest), {}, depth);
  // Build caches are indexes of blobs.
  if (oci::kind_of_media_type(member.media_type) == oci::DocumentKind::unknown) {
    co_return co_await copy_blob(copy, {member.digest, member.size, oci::BlobRole::layer});
  }
  co_return Checked<void>{};
}

net::Task<Checked<void>> SyncUpstream::copy_blobs(Copy& copy, std::vector<Wanted> blobs) {
  BlobRun run{.blobs = std::move(blobs)};
  net::TaskScope scope;
  for (std::size_t i = 0; i < std::min(kAtOnce, run.blobs.size()); ++i) scope.spawn(copy_next(copy, run));
  co_await scope.join();
  co_return run.outcome;
}

net::Task<void> SyncUpstream::copy_next(Copy& copy, BlobRun& run) {
  while (run.outcome && run.next < run.blobs.size()) {
    auto copied = co_await copy_blob(copy, run.blobs[run.next++]);
    if (!copied && run.outcome) run.outcome = copied.error();
  }
}

net::Task<Checked<void>> SyncUpstream::copy_blob(Copy& copy, Wanted wanted) {
  for (;;) {
    if (store_.blob_size(copy.repository, wanted.digest)) co_return Checked<void>{};
    // Another repository has it.
    if (store_.mount(copy.repository, wanted.digest, std::nullopt)) co_return Checked<void>{};
    const auto known = fetching_.find(wanted.digest);
    if (known == fetching_.end()) break;
    const auto ended = known->second;
    co_await ended->wait();
  }
  const auto ended = std::make_shared<net::Event>();
  fetching_.emplace(wanted.digest, ended);
  auto fetched = co_await fetch_blob(copy, wanted);
  fetching_.erase(wanted.digest);
  ended->open();
  co_return fetched;
}

net::Task<Checked<void>> SyncUpstream::fetch_blob(Copy& copy, Wanted wanted) {
  BlobSink sink(store_, wanted);
  {
    Lease client(*this, copy);
    const auto read = co_await client->read_blob(copy.repository, wanted.digest, wanted.role, sink);
    if (!read) co_return failure(client, read.error());
  }
  if (auto committed = sink.commit(copy.repository); !committed) {
    co_return Refusal{fmt::format("{}: {}@{}: {}", origin_.url.origin(), copy.repository,
                                  wanted.digest.text(), committed.error().message)};
  }
  counts_.blobs.fetch_add(1, std::memory_order_relaxed);
  counts_.bytes.fetch_add(wanted.size, std::memory_order_relaxed);
  co_return Checked<void>{};
}

}  // namespace plimsoll::server
