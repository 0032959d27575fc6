#include "server/upload_sessions.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <utility>

#include "base/random.h"
#include "base/text.h"

namespace plimsoll::server {

std::string random_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    Random random(system_seed());
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0fU) | 0x40U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3fU) | 0x80U);
  std::string text = to_hex(bytes);
  for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, 1, '-');
  return text;
}

std::shared_ptr<UploadSession> UploadSessions::open(std::string repository, std::shared_ptr<Upload> upload) {
  auto session = std::make_shared<UploadSession>();
  session->id = random_uuid();
  session->repository = std::move(repository);
  session->upload = std::move(upload);
  session->last_used = now();
  const std::lock_guard lock(mutex_);
  sessions_.emplace(session->id, session);
  return session;
}

std::shared_ptr<UploadSession> UploadSessions::find(std::string_view repository, std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto at = sessions_.find(std::string(id));
  if (at == sessions_.end() || at->second->repository != repository) return nullptr;
  return at->second;
}

SessionUse UploadSessions::use(std::shared_ptr<UploadSession> session) {
  if (session->busy.exchange(true)) return {};
  SessionUse use(std::move(session));
  use->last_used = now();
  return use;
}

void UploadSessions::close(UploadSession& session) {
  session.closed = true;
  const std::lock_guard lock(mutex_);
  sessions_.erase(session.id);
}

std::size_t UploadSessions::expire(Instant before) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(sessions_, [&](const auto& entry) {
    UploadSession& session = *entry.second;
    if (session.busy || session.last_used.load() > before) return false;
    session.closed = true;
    return true;
  });
}

std::size_t UploadSessions::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace plimsoll::server
