// The registry's memory: repositories, and the contents that they share. One object for all loops and threads; every
// call may be made from any thread and returns when its change is safe against kill -9 (on disk) or done (in memory).
//
// Both kinds behave the same by construction: this class decides, `Contents` holds the bytes, and `Layout`, which only
// the kind on disk has, remembers across restarts. Lookups share a lock, changes hold it for the few file operations
// that they need. Only where durable() is true may a change block for long: it then belongs off the loop.
#pragma once

#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/contents.h"
#include "server/layout.h"
#include "server/memory_contents.h"
#include "server/repository.h"

namespace plimsoll::server {

struct StoredManifest {
  oci::Digest digest;
  std::string media_type;
  http::Payload content;
};

// One descriptor of a referrers answer.
struct Referrer {
  oci::Digest digest;
  std::string media_type;
  std::uint64_t size = 0;
  std::string artifact_type;
  std::string annotations;  // JSON object or empty
};

// A page of names in ascending order of their bytes.
struct NamePage {
  std::vector<std::string> names;
  bool more = false;
};

class Store {
 public:
  static std::unique_ptr<Store> in_memory(std::uint64_t limit);
  // Opens or creates; reads what is there.
  static Checked<std::unique_ptr<Store>> on_disk(const std::string& root, bool fsync);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  // --- blobs
  Stored<std::shared_ptr<Upload>> begin_upload(std::optional<std::uint64_t> expected) {
    return contents_->begin(expected);
  }
  // The upload, whose digest was checked to be this one, becomes a blob of the repository. Spends the upload.
  Stored<void> commit(Upload& upload, const std::string& repository, const oci::Digest& digest);
  Stored<http::Payload> blob(std::string_view repository, const oci::Digest& digest) const;
  // Its size, without opening it.
  std::optional<std::uint64_t> blob_size(std::string_view repository, const oci::Digest& digest) const;
  // Makes a blob of `from`, or of any repository where none is named, one of `repository` too. `unknown` if it isn't
  // there.
  Stored<void> mount(const std::string& repository, const oci::Digest& digest,
                     std::optional<std::string_view> from);
  Stored<void> remove_blob(const std::string& repository, const oci::Digest& digest);

  // --- manifests and tags
  // `digest` is that of `bytes`.
  Stored<void> put_manifest(const std::string& repository, const oci::Digest& digest, std::string_view bytes,
                            ManifestFacts facts, std::span<const std::string> tags);
  Stored<StoredManifest> manifest(std::string_view repository, const oci::Digest& digest) const;
  Stored<StoredManifest> manifest(std::string_view repository, std::string_view tag) const;
  Stored<void> remove_manifest(const std::string& repository, const oci::Digest& digest);
  Stored<void> remove_tag(const std::string& repository, const std::string& tag);

  // --- lists. `last`: names after this one; `limit`: at most so many.
  std::optional<NamePage> tags(std::string_view repository, std::string_view last, std::size_t limit) const;
  NamePage repositories(std::string_view last, std::size_t limit) const;
  std::vector<Referrer> referrers(std::string_view repository, const oci::Digest& subject) const;
  bool has_repository(std::string_view repository) const;

  bool durable() const { return durable_; }
  // Brings index.json files up to date now (on disk).
  void flush();
  // Bytes in use and their limit, in memory; nullopt on disk.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> memory() const;
  // Distinct contents, and their bytes together.
  std::pair<std::uint64_t, std::uint64_t> totals() const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Held {
    std::uint64_t size = 0;
    std::uint64_t references = 0;
  };

  explicit Store(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
  const Repository* find(std::string_view repository) const;
  Repository* find(std::string_view repository);
  Repository& find_or_add(const std::string& repository);
  Stored<void> hold(Upload& upload, const std::string& repository, const oci::Digest& digest);
  Stored<void> hold_again(const std::string& repository, const oci::Digest& digest);
  void release(const std::string& repository, const oci::Digest& digest);
  void drop_if_empty(const std::string& repository);
  std::string render_index(const std::string& repository) const;
  void adopt(std::string name, Repository repository);

  mutable std::shared_mutex mutex_;
  std::unique_ptr<Contents> contents_;
  std::unordered_map<std::string, Repository, TextHash, std::equal_to<>> repositories_;
  std::set<std::string_view> names_;  // of repositories_, sorted
  DigestMap<Held> held_;              // how many repositories hold each content
  std::uint64_t held_bytes_ = 0;
  std::shared_ptr<MemoryBudget> budget_;
  bool durable_ = false;
  std::unique_ptr<Layout> layout_;  // last: its writer's thread reads the rest
};

}  // namespace plimsoll::server
