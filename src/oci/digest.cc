#include "oci/digest.h"

#include <algorithm>
#include <new>

#include "base/text.h"

// The one-shot context API (EVP) allocates for every copy; the low-level one is a plain struct and runs the
// same assembly, but OpenSSL 3 marks it as deprecated.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

namespace plimsoll::oci {
namespace {

std::size_t byte_length(DigestAlgorithm algorithm) {
  return algorithm == DigestAlgorithm::sha256 ? 32 : 64;
}

bool is_algorithm_text(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_algorithm_separator(char c) {
  return c == '+' || c == '.' || c == '_' || c == '-';
}

bool is_algorithm(std::string_view text) {
  bool after_text = false;  // components are joined by exactly one separator
  for (const char c : text) {
    if (!is_algorithm_text(c) && !(is_algorithm_separator(c) && after_text)) return false;
    after_text = is_algorithm_text(c);
  }
  return after_text;
}

bool is_encoded(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '=' ||
           c == '_' || c == '-';
  });
}

std::optional<DigestAlgorithm> known_algorithm(std::string_view text) {
  if (text == "sha256") return DigestAlgorithm::sha256;
  if (text == "sha512") return DigestAlgorithm::sha512;
  return std::nullopt;
}

// Lower case only; -1 for anything else.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string_view name(DigestAlgorithm algorithm) {
  return algorithm == DigestAlgorithm::sha256 ? "sha256" : "sha512";
}

DigestSyntax digest_syntax(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return DigestSyntax::malformed;
  const auto algorithm = text.substr(0, colon);
  if (!is_algorithm(algorithm) || !is_encoded(text.substr(colon + 1))) return DigestSyntax::malformed;
  if (!known_algorithm(algorithm)) return DigestSyntax::unsupported;
  return Digest::parse(text) ? DigestSyntax::supported : DigestSyntax::malformed;
}

Digest::Digest(DigestAlgorithm algorithm, std::span<const std::uint8_t> bytes) : algorithm_(algorithm) {
  std::ranges::copy(bytes.first(std::min(bytes.size(), byte_length(algorithm))), bytes_.begin());
}

std::optional<Digest> Digest::parse(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto algorithm = known_algorithm(text.substr(0, colon));
  if (!algorithm) return std::nullopt;
  const auto hex = text.substr(colon + 1);
  if (hex.size() != 2 * byte_length(*algorithm)) return std::nullopt;
  Digest digest;
  digest.algorithm_ = *algorithm;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_digit(hex[i]);
    const int low = hex_digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes_[i / 2] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

Digest Digest::of(std::string_view content, DigestAlgorithm algorithm) {
  if (algorithm == DigestAlgorithm::sha512) {
    Sha512 hash;
    hash.update(content);
    return hash.digest();
  }
  Sha256 hash;
  hash.update(content);
  return hash.digest();
}

std::span<const std::uint8_t> Digest::bytes() const {
  return std::span(bytes_).first(byte_length(algorithm_));
}

std::string Digest::hex() const {
  return to_hex(bytes());
}

std::string Digest::text() const {
  std::string out;
  append_to(out);
  return out;
}

void Digest::append_to(std::string& out) const {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += name(algorithm_);
  out += ':';
  for (const auto byte : bytes()) {
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
}

Sha256::Sha256() {
  SHA256_Init(&state_);
}

void Sha256::update(const void* data, std::size_t size) {
  SHA256_Update(&state_, data, size);
}

Digest Sha256::digest() const {
  SHA256_CTX copy = state_;
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> bytes;
  SHA256_Final(bytes.data(), &copy);
  return {DigestAlgorithm::sha256, bytes};
}

Sha512::Sha512() {
  SHA512_Init(&state_);
}

void Sha512::update(const void* data, std::size_t size) {
  SHA512_Update(&state_, data, size);
}

Digest Sha512::digest() const {
  SHA512_CTX copy = state_;
  std::array<std::uint8_t, SHA512_DIGEST_LENGTH> bytes;
  SHA512_Final(bytes.data(), &copy);
  return {DigestAlgorithm::sha512, bytes};
}

DigestVerifier::DigestVerifier(const Digest& wanted) : wanted_(wanted) {
  if (wanted.algorithm() == DigestAlgorithm::sha512) {
    new (&sha512_) Sha512();
  } else {
    new (&sha256_) Sha256();
  }
}

void DigestVerifier::update(const void* data, std::size_t size) {
  if (wanted_.algorithm() == DigestAlgorithm::sha512) {
    sha512_.update(data, size);
  } else {
    sha256_.update(data, size);
  }
}

bool DigestVerifier::matches() const {
  return wanted_.algorithm() == DigestAlgorithm::sha512 ? sha512_.digest() == wanted_
                                                        : sha256_.digest() == wanted_;
}

}  // namespace plimsoll::oci
