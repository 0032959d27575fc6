#include "server/store.h"

#include <fmt/format.h>

#include <iterator>
#include <mutex>

#include "server/json_text.h"

namespace plimsoll::server {
namespace {

constexpr StoreError kUnknown{StoreFault::unknown, 0};

template <class Names>
NamePage page_of(const Names& sorted, typename Names::const_iterator from, std::size_t limit) {
  NamePage page;
  for (; from != sorted.end() && page.names.size() < limit; ++from) {
    if constexpr (requires { from->first; }) {
      page.names.emplace_back(from->first);
    } else {
      page.names.emplace_back(*from);
    }
  }
  page.more = from != sorted.end();
  return page;
}

}  // namespace

std::unique_ptr<Store> Store::in_memory(std::uint64_t limit) {
  auto budget = std::make_shared<MemoryBudget>(limit);
  std::unique_ptr<Store> store(new Store(make_memory_contents(budget)));
  store->budget_ = std::move(budget);
  return store;
}

Checked<std::unique_ptr<Store>> Store::on_disk(const std::string& root, bool fsync) {
  auto contents = DiskContents::open(root, fsync);
  if (!contents) return Refusal{contents.error()};
  auto layout = Layout::open(root, **contents, fsync);
  if (!layout) return Refusal{layout.error()};
  std::unique_ptr<Store> store(new Store(std::move(*contents)));
  store->durable_ = fsync;
  store->layout_ = std::move(*layout);
  Store& self = *store;
  const auto loaded = self.layout_->load([&self](std::string name, Repository repository) {
    self.adopt(std::move(name), std::move(repository));
  });
  if (!loaded) return Refusal{fmt::format("cannot read {} (errno {})", root, loaded.error().code)};
  self.layout_->start_index_writer([&self](const std::string& name) { return self.render_index(name); });
  return store;
}

Store::~Store() = default;

void Store::adopt(std::string name, Repository repository) {
  const auto count = [this](const oci::Digest& digest, std::uint64_t size) {
    Held& held = held_[digest];
    if (held.references++ == 0) held_bytes_ += held.size = size;
  };
  for (const auto& [digest, size] : repository.blobs) count(digest, size);
  for (const auto& [digest, facts] : repository.manifests) {
    if (!repository.blobs.contains(digest)) count(digest, facts.size);
  }
  if (repository.empty()) return;
  const auto [at, added] = repositories_.emplace(std::move(name), std::move(repository));
  if (added) names_.insert(at->first);
}

const Repository* Store::find(std::string_view repository) const {
  const auto at = repositories_.find(repository);
  return at == repositories_.end() ? nullptr : &at->second;
}

Repository* Store::find(std::string_view repository) {
  const auto at = repositories_.find(repository);
  return at == repositories_.end() ? nullptr : &at->second;
}

Repository& Store::find_or_add(const std::string& repository) {
  const auto [at, added] = repositories_.try_emplace(repository);
  if (added) names_.insert(at->first);
  return at->second;
}

void Store::drop_if_empty(const std::string& repository) {
  const auto at = repositories_.find(repository);
  if (at == repositories_.end() || !at->second.empty()) return;
  names_.erase(at->first);
  repositories_.erase(at);
  if (layout_) layout_->remove_repository(repository);
}

// One more repository holds the content, which is there.
Stored<void> Store::hold_again(const std::string& repository, const oci::Digest& digest) {
  if (layout_) {
    if (auto added = layout_->add_content(repository, digest); !added) return added;
  }
  ++held_[digest].references;
  return {};
}

// The same, for what may be new.
Stored<void> Store::hold(Upload& upload, const std::string& repository, const oci::Digest& digest) {
  const auto known = held_.find(digest);
  if (known != held_.end()) return hold_again(repository, digest);
  const std::uint64_t size = upload.size();
  if (auto published = contents_->publish(upload, digest); !published) return published;
  if (layout_) {
    if (auto added = layout_->add_content(repository, digest); !added) {
      contents_->remove(digest);
      return added;
    }
  }
  held_[digest] = {.size = size, .references = 1};
  held_bytes_ += size;
  return {};
}

void Store::release(const std::string& repository, const oci::Digest& digest) {
  if (layout_) layout_->remove_content(repository, digest);
  const auto at = held_.find(digest);
  if (at == held_.end() || --at->second.references > 0) return;
  held_bytes_ -= at->second.size;
  held_.erase(at);
  contents_->remove(digest);
}

Stored<void> Store::commit(Upload& upload, const std::string& repository, const oci::Digest& digest) {
  if (auto synced = contents_->sync(upload); !synced) return synced;
  const std::unique_lock lock(mutex_);
  Repository* known = find(repository);
  if (known != nullptr && known->blobs.contains(digest)) return {};
  const std::uint64_t size = upload.size();
  if (known == nullptr || !known->manifests.contains(digest)) {
    if (auto held = hold(upload, repository, digest); !held) return held;
  }
  find_or_add(repository).blobs.emplace(digest, size);
  return {};
}

std::optional<std::uint64_t> Store::blob_size(std::string_view repository, const oci::Digest& digest) const {
  const std::shared_lock lock(mutex_);
  const Repository* known = find(repository);
  if (known == nullptr) return std::nullopt;
  if (const auto at = known->blobs.find(digest); at != known->blobs.end()) return at->second;
  const auto manifest = known->manifests.find(digest);
  if (manifest == known->manifests.end()) return std::nullopt;
  return manifest->second.size;
}

Stored<http::Payload> Store::blob(std::string_view repository, const oci::Digest& digest) const {
  const auto size = blob_size(repository, digest);
  if (!size) return kUnknown;
  return contents_->open(digest, *size);
}

Stored<void> Store::mount(const std::string& repository, const oci::Digest& digest,
                          std::optional<std::string_view> from) {
  const std::unique_lock lock(mutex_);
  const auto held = held_.find(digest);
  if (held == held_.end()) return kUnknown;
  if (from) {
    const Repository* source = find(*from);
    if (source == nullptr || (!source->blobs.contains(digest) && !source->manifests.contains(digest)))
      return kUnknown;
  }
  Repository* target = find(repository);
  if (target != nullptr && target->blobs.contains(digest)) return {};
  const std::uint64_t size = held->second.size;
  if (target == nullptr || !target->manifests.contains(digest)) {
    if (auto added = hold_again(repository, digest); !added) return added;
  }
  find_or_add(repository).blobs.emplace(digest, size);
  return {};
}

Stored<void> Store::remove_blob(const std::string& repository, const oci::Digest& digest) {
  const std::unique_lock lock(mutex_);
  Repository* known = find(repository);
  if (known == nullptr || known->blobs.erase(digest) == 0) return kUnknown;
  if (!known->manifests.contains(digest)) release(repository, digest);
  drop_if_empty(repository);
  return {};
}

Stored<void> Store::put_manifest(const std::string& repository, const oci::Digest& digest,
                                 std::string_view bytes, ManifestFacts facts,
                                 std::span<const std::string> tags) {
  auto upload = contents_->begin(bytes.size());
  if (!upload) return upload.error();
  if (auto appended = (*upload)->append(bytes); !appended) return appended;
  if (auto synced = contents_->sync(**upload); !synced) return synced;
  const std::unique_lock lock(mutex_);
  const Repository* known = find(repository);
  const bool held = known != nullptr && (known->manifests.contains(digest) || known->blobs.contains(digest));
  if (!held) {
    if (auto added = hold(**upload, repository, digest); !added) return added;
  }
  if (layout_) {
    if (auto put = layout_->put_manifest(repository, digest, facts, tags); !put) {
      if (!held) release(repository, digest);
      return put;
    }
  }
  Repository& target = find_or_add(repository);
  target.add_manifest(digest, std::move(facts));
  for (const auto& tag : tags) target.tags.insert_or_assign(tag, digest);
  return {};
}

Stored<StoredManifest> Store::manifest(std::string_view repository, const oci::Digest& digest) const {
  StoredManifest found{.digest = digest, .media_type = {}, .content = {}};
  std::uint64_t size = 0;
  {
    const std::shared_lock lock(mutex_);
    const Repository* known = find(repository);
    if (known == nullptr) return kUnknown;
    const auto at = known->manifests.find(digest);
    if (at == known->manifests.end()) return kUnknown;
    found.media_type = at->second.media_type;
    size = at->second.size;
  }
  auto content = contents_->open(digest, size);
  if (!content) return content.error();
  found.content = std::move(*content);
  return found;
}

Stored<StoredManifest> Store::manifest(std::string_view repository, std::string_view tag) const {
  oci::Digest digest;
  {
    const std::shared_lock lock(mutex_);
    const Repository* known = find(repository);
    if (known == nullptr) return kUnknown;
    const auto at = known->tags.find(tag);
    if (at == known->tags.end()) return kUnknown;
    digest = at->second;
  }
  return manifest(repository, digest);
}

Stored<void> Store::remove_manifest(const std::string& repository, const oci::Digest& digest) {
  const std::unique_lock lock(mutex_);
  Repository* known = find(repository);
  if (known == nullptr || !known->manifests.contains(digest)) return kUnknown;
  if (layout_) {
    if (auto removed = layout_->remove_manifest(repository, digest); !removed) return removed;
  }
  known->remove_manifest(digest);
  if (!known->blobs.contains(digest)) release(repository, digest);
  drop_if_empty(repository);
  return {};
}

Stored<void> Store::remove_tag(const std::string& repository, const std::string& tag) {
  const std::unique_lock lock(mutex_);
  Repository* known = find(repository);
  if (known == nullptr || !known->tags.contains(tag)) return kUnknown;
  if (layout_) {
    if (auto removed = layout_->remove_tag(repository, tag); !removed) return removed;
  }
  known->tags.erase(tag);
  return {};
}

std::optional<NamePage> Store::tags(std::string_view repository, std::string_view last,
                                    std::size_t limit) const {
  const std::shared_lock lock(mutex_);
  const Repository* known = find(repository);
  if (known == nullptr) return std::nullopt;
  const auto& tags = known->tags;
  return page_of(tags, last.empty() ? tags.begin() : tags.upper_bound(last), limit);
}

NamePage Store::repositories(std::string_view last, std::size_t limit) const {
  const std::shared_lock lock(mutex_);
  return page_of(names_, last.empty() ? names_.begin() : names_.upper_bound(last), limit);
}

std::vector<Referrer> Store::referrers(std::string_view repository, const oci::Digest& subject) const {
  std::vector<Referrer> found;
  const std::shared_lock lock(mutex_);
  const Repository* known = find(repository);
  if (known == nullptr) return found;
  const auto at = known->referrers.find(subject);
  if (at == known->referrers.end()) return found;
  for (const auto& digest : at->second) {
    const auto& facts = known->manifests.at(digest);
    found.push_back(
        {digest, facts.media_type, facts.size, facts.referrer->artifact_type, facts.referrer->annotations});
  }
  return found;
}

bool Store::has_repository(std::string_view repository) const {
  const std::shared_lock lock(mutex_);
  return find(repository) != nullptr;
}

void Store::flush() {
  if (layout_) layout_->flush();
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> Store::memory() const {
  if (!budget_) return std::nullopt;
  return std::pair(budget_->used(), budget_->limit());
}

std::pair<std::uint64_t, std::uint64_t> Store::totals() const {
  const std::shared_lock lock(mutex_);
  return {held_.size(), held_bytes_};
}

// An OCI layout's index.json: every tag, and the manifests that have none.
std::string Store::render_index(const std::string& repository) const {
  const std::shared_lock lock(mutex_);
  const Repository* known = find(repository);
  if (known == nullptr) return {};
  std::string out =
      R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[)";
  bool first = true;
  const auto add = [&](const oci::Digest& digest, const ManifestFacts& facts, std::string_view tag) {
    if (!std::exchange(first, false)) out += ',';
    out += R"({"mediaType":)";
    append_json_string(out, facts.media_type);
    out += R"(,"digest":")";
    digest.append_to(out);
    fmt::format_to(std::back_inserter(out), R"(","size":{})", facts.size);
    if (!tag.empty())
      fmt::format_to(std::back_inserter(out),
                     R"(,"annotations":{{"org.opencontainers.image.ref.name":"{}"}})", tag);
    out += '}';
  };
  std::set<oci::Digest> tagged;
  for (const auto& [tag, digest] : known->tags) {
    tagged.insert(digest);
    add(digest, known->manifests.at(digest), tag);
  }
  for (const auto& [digest, facts] : known->manifests) {
    if (!tagged.contains(digest)) add(digest, facts, {});
  }
  out += "]}";
  return out;
}

}  // namespace plimsoll::server
