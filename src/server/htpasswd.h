// Who may come in: a file of user:bcrypt lines as `htpasswd -B` writes it. Verifying costs tens of milliseconds on
// purpose, so it belongs off the loop; answers that were good are remembered by a keyed hash, never the password.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"

namespace plimsoll::server {

// A process's own key, and SHA-256 keyed by it (HMAC, RFC 2104).
class KeyedHash {
 public:
  KeyedHash();
  std::string operator()(std::string_view text) const;

 private:
  std::array<std::uint8_t, 32> key_;
};

struct Credentials {
  std::string user;
  std::string password;
};
// From "Basic ..." (RFC 7617); nullopt for anything else.
std::optional<Credentials> parse_basic(std::string_view authorization);

class Htpasswd {
 public:
  // Refuses what cannot be read, and hashes that are not bcrypt, with the line's number.
  static Checked<Htpasswd> load(const std::string& path);
  static Checked<Htpasswd> parse(std::string_view text);

  // Known good, by memory: cheap. From any thread.
  bool remembers(const Credentials& credentials) const;
  // Slow. Remembers what is good.
  bool verify(const Credentials& credentials) const;

 private:
  struct Memory {
    KeyedHash hash;
    std::mutex mutex;
    std::unordered_set<std::string> good;
  };
  std::unordered_map<std::string, std::string> hashes_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
};

}  // namespace plimsoll::server
