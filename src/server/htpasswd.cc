#include "server/htpasswd.h"

#include <crypt.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <memory>

#include "base/random.h"
#include "base/text.h"
#include "server/disk_files.h"

namespace plimsoll::server {
namespace {

constexpr std::size_t kRemembered = 10'000;

bool is_bcrypt(std::string_view hash) {
  return hash.size() == 60 &&
         (hash.starts_with("$2y$") || hash.starts_with("$2a$") || hash.starts_with("$2b$"));
}

std::string joined(const Credentials& credentials) {
  return credentials.user + '\0' + credentials.password;
}

}  // namespace

KeyedHash::KeyedHash() : key_{} {
  if (getrandom(key_.data(), key_.size(), 0) == static_cast<ssize_t>(key_.size())) return;
  Random random(system_seed());
  for (auto& byte : key_) byte = static_cast<std::uint8_t>(random.next());
}

std::string KeyedHash::operator()(std::string_view text) const {
  std::array<std::uint8_t, 32> out{};
  unsigned size = out.size();
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), out.data(), &size);
  return to_hex(out);
}

std::optional<Credentials> parse_basic(std::string_view authorization) {
  if (!istarts_with(authorization, "Basic ")) return std::nullopt;
  const auto decoded = base64_decode(trim(authorization.substr(6)));
  if (!decoded) return std::nullopt;
  const auto colon = decoded->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return Credentials{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

Checked<Htpasswd> Htpasswd::load(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return Refusal{fmt::format("--htpasswd: {} cannot be read", path)};
  return parse(*text);
}

Checked<Htpasswd> Htpasswd::parse(std::string_view text) {
  Htpasswd file;
  std::size_t number = 0;
  for (auto line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || !is_bcrypt(line.substr(colon + 1))) {
      return Refusal{fmt::format("--htpasswd: line {} is not USER:BCRYPT (made by htpasswd -B)", number)};
    }
    file.hashes_.insert_or_assign(std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
  }
  return file;
}

bool Htpasswd::remembers(const Credentials& credentials) const {
  const std::string key = memory_->hash(joined(credentials));
  const std::lock_guard lock(memory_->mutex);
  return memory_->good.contains(key);
}

bool Htpasswd::verify(const Credentials& credentials) const {
  const auto at = hashes_.find(credentials.user);
  // An unknown user takes as long as a wrong password.
  static const std::string kNobody = "$2y$10$abcdefghijklmnopqrstuuW5S2Qw6t1RkXh6bO8n5nHnVt7y1m1m2";
  const std::string& hash = at == hashes_.end() ? kNobody : at->second;
  const auto data = std::make_unique<crypt_data>();
  const char* computed = crypt_r(credentials.password.c_str(), hash.c_str(), data.get());
  const std::string_view result = computed == nullptr ? "" : computed;
  const bool same =
      result.size() == hash.size() && CRYPTO_memcmp(result.data(), hash.data(), hash.size()) == 0;
  if (!same || at == hashes_.end()) return false;
  const std::string key = memory_->hash(joined(credentials));
  const std::lock_guard lock(memory_->mutex);
  if (memory_->good.size() >= kRemembered) memory_->good.clear();
  memory_->good.insert(key);
  return true;
}

}  // namespace plimsoll::server
