// Upload sessions: what a POST to .../blobs/uploads/ opens and a PUT closes (distribution-spec, "Pushing a blob in
// chunks"). Shared by all loops, since clients may come back on another connection.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "server/contents.h"

namespace plimsoll::server {

struct UploadSession {
  std::string id;
  std::string repository;
  std::shared_ptr<Upload> upload;
  std::atomic<bool> busy = false;  // a request is adding to it
  std::atomic<Instant> last_used;
  std::atomic<bool> closed = false;
  bool short_chunk = false;  // a chunk below the minimum came: it must have been the last
};

// The right to change a session, held by one request.
class SessionUse {
 public:
  SessionUse() = default;
  explicit SessionUse(std::shared_ptr<UploadSession> session) : session_(std::move(session)) {}
  SessionUse(SessionUse&&) = default;
  SessionUse& operator=(SessionUse&&) = delete;
  ~SessionUse() {
    if (!session_) return;
    session_->last_used = now();
    session_->busy = false;
  }
  explicit operator bool() const { return session_ != nullptr; }
  UploadSession* operator->() const { return session_.get(); }
  UploadSession& operator*() const { return *session_; }

 private:
  std::shared_ptr<UploadSession> session_;
};

class UploadSessions {
 public:
  std::shared_ptr<UploadSession> open(std::string repository, std::shared_ptr<Upload> upload);
  // nullptr where there is none of that id in that repository.
  std::shared_ptr<UploadSession> find(std::string_view repository, std::string_view id) const;
  // An empty use where another request has it.
  static SessionUse use(std::shared_ptr<UploadSession> session);
  void close(UploadSession& session);
  // Drops those that nobody has used since `before`; how many.
  std::size_t expire(Instant before);
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<UploadSession>> sessions_;
};

// 128 random bits as a UUID (RFC 9562, version 4).
std::string random_uuid();

}  // namespace plimsoll::server
