#include "server/disk_contents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <list>
#include <mutex>

#include "server/digest_map.h"
#include "server/disk_files.h"

namespace plimsoll::server {
namespace {

constexpr std::uint64_t kSmall = 32 * 1024;  // kept in memory once read
constexpr std::size_t kOpenContents = 512;   // payloads kept at hand
constexpr std::size_t kReadPiece = 1024 * 1024;

class DiskUpload final : public Upload {
 public:
  DiskUpload(int descriptor, std::string path) : file_(descriptor), path_(std::move(path)) {}
  DiskUpload(const DiskUpload&) = delete;
  DiskUpload& operator=(const DiskUpload&) = delete;
  ~DiskUpload() override {
    if (!path_.empty()) unlink(path_.c_str());
  }

  int descriptor() const { return file_.descriptor(); }
  const std::string& path() const { return path_; }
  void published() { path_.clear(); }

 protected:
  Stored<void> store(std::string_view bytes) override {
    std::uint64_t offset = size();
    while (!bytes.empty()) {
      const auto written = pwrite(descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0) {
        if (errno == EINTR) continue;
        const StoreError error = store_error(errno);
        [[maybe_unused]] const int cut = ftruncate(descriptor(), static_cast<off_t>(size()));
        return error;
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
    return {};
  }

  Stored<std::string_view> read(std::uint64_t offset) override {
    buffer_.resize(kReadPiece);
    const auto got = pread(descriptor(), buffer_.data(), buffer_.size(), static_cast<off_t>(offset));
    if (got < 0) return store_error(errno);
    return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
  }

 private:
  http::File file_;
  std::string path_;
  std::string buffer_;
};

}  // namespace

std::string content_path(const oci::Digest& digest) {
  const std::string hex = digest.hex();
  return fmt::format("{}/{}/{}", name(digest.algorithm()), std::string_view(hex).substr(0, 2), hex);
}

// The contents that were asked for last: small ones as bytes, others as open files. Least recently used go first.
class DiskContents::OpenFiles {
 public:
  std::optional<http::Payload> find(const oci::Digest& digest) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(digest);
    if (at == entries_.end()) return std::nullopt;
    order_.splice(order_.begin(), order_, at->second);
    return at->second->second;
  }

  void add(const oci::Digest& digest, const http::Payload& payload) {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(digest)) return;
    order_.emplace_front(digest, payload);
    entries_[digest] = order_.begin();
    if (order_.size() > kOpenContents) {
      entries_.erase(order_.back().first);
      order_.pop_back();
    }
  }

  void forget(const oci::Digest& digest) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(digest);
    if (at == entries_.end()) return;
    order_.erase(at->second);
    entries_.erase(at);
  }

 private:
  using Order = std::list<std::pair<oci::Digest, http::Payload>>;
  std::mutex mutex_;
  Order order_;
  DigestMap<Order::iterator> entries_;
};

DiskContents::DiskContents(const std::string& root, bool fsync)
    : content_directory_(root + "/.plimsoll/content"),
      upload_directory_(root + "/.plimsoll/uploads"),
      fsync_(fsync),
      open_files_(std::make_unique<OpenFiles>()) {}

DiskContents::~DiskContents() = default;

Checked<std::unique_ptr<DiskContents>> DiskContents::open(const std::string& root, bool fsync) {
  std::unique_ptr<DiskContents> contents(new DiskContents(root, fsync));
  std::error_code ignored;
  std::filesystem::remove_all(contents->upload_directory_, ignored);
  for (const auto& directory : {contents->upload_directory_, contents->content_directory_}) {
    if (auto made = make_directories(directory); !made) {
      return Refusal{fmt::format("cannot create {}: {}", directory, std::strerror(made.error().code))};
    }
  }
  return contents;
}

std::string DiskContents::path_of(const oci::Digest& digest) const {
  return content_directory_ + "/" + content_path(digest);
}

Stored<std::shared_ptr<Upload>> DiskContents::begin(std::optional<std::uint64_t> /*expected*/) {
  std::string path = fmt::format("{}/{}.part", upload_directory_, sequence_.fetch_add(1));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return store_error(errno);
  return std::shared_ptr<Upload>(std::make_shared<DiskUpload>(descriptor, std::move(path)));
}

Stored<void> DiskContents::sync(Upload& upload) {
  if (fsync_ && fdatasync(dynamic_cast<DiskUpload&>(upload).descriptor()) != 0) return store_error(errno);
  return {};
}

Stored<void> DiskContents::publish(Upload& upload, const oci::Digest& digest) {
  auto& part = dynamic_cast<DiskUpload&>(upload);
  const std::string path = path_of(digest);
  if (rename(part.path().c_str(), path.c_str()) != 0) {
    if (errno != ENOENT) return store_error(errno);
    if (auto made = make_directories(path.substr(0, path.find_last_of('/'))); !made) return made;
    if (rename(part.path().c_str(), path.c_str()) != 0) return store_error(errno);
  }
  part.published();
  return fsync_ ? sync_directory(path.substr(0, path.find_last_of('/'))) : Stored<void>{};
}

Stored<http::Payload> DiskContents::open(const oci::Digest& digest, std::uint64_t size) {
  if (auto known = open_files_->find(digest)) return *known;
  auto file = std::make_shared<http::File>(::open(path_of(digest).c_str(), O_RDONLY | O_CLOEXEC));
  if (file->descriptor() < 0) return store_error(errno);
  http::Payload payload;
  if (size <= kSmall) {
    std::string bytes(size, '\0');
    if (pread(file->descriptor(), bytes.data(), size, 0) != static_cast<ssize_t>(size)) {
      return StoreError{StoreFault::failed, EIO};
    }
    payload = http::Payload::of_text(std::move(bytes));
  } else {
    payload = http::Payload::of_file(std::move(file), 0, size);
  }
  open_files_->add(digest, payload);
  return payload;
}

void DiskContents::remove(const oci::Digest& digest) {
  open_files_->forget(digest);
  unlink(path_of(digest).c_str());
}

}  // namespace plimsoll::server
