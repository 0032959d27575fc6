#include "server/memory_contents.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "base/text.h"
#include "server/digest_map.h"

namespace plimsoll::server {
namespace {

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  return parse_u64(word);  // "max" is no number
}

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> key >> kib) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kib * 1024;
  }
  return std::uint64_t{1} << 30;
}

// Bytes that grow by realloc(3), which moves the pages of large blocks instead of copying them.
class GrowingBytes {
 public:
  explicit GrowingBytes(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  ~GrowingBytes() { budget_->give_back(capacity_); }

  bool reserve(std::uint64_t capacity) {
    if (capacity <= capacity_) return true;
    if (!budget_->take(capacity - capacity_)) return false;
    auto* grown = static_cast<char*>(std::realloc(bytes_.get(), capacity));
    if (grown == nullptr) {
      budget_->give_back(capacity - capacity_);
      return false;
    }
    static_cast<void>(bytes_.release());
    bytes_.reset(grown);
    capacity_ = capacity;
    return true;
  }

  bool append(std::string_view more) {
    if (size_ + more.size() > capacity_) {
      const std::uint64_t least = size_ + more.size();
      // Half as much again; where the limit forbids that, no more than is needed.
      if (!reserve(std::max(least, capacity_ + capacity_ / 2)) && !reserve(least)) return false;
    }
    std::memcpy(bytes_.get() + size_, more.data(), more.size());
    size_ += more.size();
    return true;
  }

  void shrink() {
    if (size_ == capacity_ || size_ == 0) return;
    auto* smaller = static_cast<char*>(std::realloc(bytes_.get(), size_));
    if (smaller == nullptr) return;
    static_cast<void>(bytes_.release());
    bytes_.reset(smaller);
    budget_->give_back(capacity_ - size_);
    capacity_ = size_;
  }

  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  std::shared_ptr<MemoryBudget> budget_;
  std::unique_ptr<char, Free> bytes_;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

class MemoryUpload final : public Upload {
 public:
  explicit MemoryUpload(std::shared_ptr<MemoryBudget> budget)
      : bytes_(std::make_shared<GrowingBytes>(std::move(budget))) {}

  bool reserve(std::uint64_t size) { return bytes_->reserve(size); }
  std::shared_ptr<GrowingBytes> take() {
    bytes_->shrink();
    return std::move(bytes_);
  }

 protected:
  Stored<void> store(std::string_view bytes) override {
    if (!bytes_->append(bytes)) return StoreError{StoreFault::full, ENOMEM};
    return {};
  }
  Stored<std::string_view> read(std::uint64_t offset) override { return bytes_->view().substr(offset); }

 private:
  std::shared_ptr<GrowingBytes> bytes_;
};

class MemoryContents final : public Contents {
 public:
  explicit MemoryContents(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}

  Stored<std::shared_ptr<Upload>> begin(std::optional<std::uint64_t> expected) override {
    auto upload = std::make_shared<MemoryUpload>(budget_);
    // What a client announces is taken in one piece, but memory is not set aside for what may never come: pages
    // that are not written cost nothing, the budget does, so that the refusal comes before the bytes.
    if (expected && !upload->reserve(*expected)) return StoreError{StoreFault::full, ENOMEM};
    return std::shared_ptr<Upload>(std::move(upload));
  }

  Stored<void> sync(Upload& /*upload*/) override { return {}; }

  Stored<void> publish(Upload& upload, const oci::Digest& digest) override {
    auto bytes = dynamic_cast<MemoryUpload&>(upload).take();
    const std::unique_lock lock(mutex_);
    contents_.insert_or_assign(digest, std::move(bytes));
    return {};
  }

  Stored<http::Payload> open(const oci::Digest& digest, std::uint64_t /*size*/) override {
    const std::shared_lock lock(mutex_);
    const auto at = contents_.find(digest);
    if (at == contents_.end()) return StoreError{StoreFault::unknown, 0};
    const std::string_view bytes = at->second->view();
    return http::Payload{.size = bytes.size(), .bytes = bytes, .owner = at->second};
  }

  void remove(const oci::Digest& digest) override {
    const std::unique_lock lock(mutex_);
    contents_.erase(digest);
  }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::shared_mutex mutex_;
  DigestMap<std::shared_ptr<GrowingBytes>> contents_;
};

}  // namespace

std::uint64_t default_memory_limit() {
  std::uint64_t available = available_memory();
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto current = number_in("/sys/fs/cgroup/memory.current");
  if (limit && current) available = std::min(available, *limit > *current ? *limit - *current : 0);
  return available / 2;
}

bool MemoryBudget::take(std::uint64_t bytes) {
  if (bytes > limit_) return false;
  if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
  give_back(bytes);
  return false;
}

std::unique_ptr<Contents> make_memory_contents(std::shared_ptr<MemoryBudget> budget) {
  return std::make_unique<MemoryContents>(std::move(budget));
}

}  // namespace plimsoll::server
