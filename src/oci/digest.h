// Content digests: `sha256:<64 hex>` and `sha512:<128 hex>` (image-spec, descriptor.md, "Digests").
//
// A Digest is a plain value of 65 bytes that never allocates; its text is made where it is written. The
// hashers are plain structs too: copying one keeps the state after a common prefix, which is what makes
// unique content cheap (oci/content.h). They use the CPU's SHA instructions where it has them.
#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll::oci {

enum class DigestAlgorithm : std::uint8_t { sha256, sha512 };

// "sha256", "sha512".
std::string_view name(DigestAlgorithm algorithm);

// What a text is, seen as a digest. `unsupported` is well-formed by the grammar, with an algorithm that is
// not known here (blake3 and what else may be registered).
enum class DigestSyntax : std::uint8_t { malformed, unsupported, supported };
DigestSyntax digest_syntax(std::string_view text);

class Digest {
 public:
  // All zero bytes: a placeholder, no content's digest.
  Digest() = default;
  Digest(DigestAlgorithm algorithm, std::span<const std::uint8_t> bytes);

  // Strict: lower-case hex of exactly the algorithm's length; nullopt for anything else.
  static std::optional<Digest> parse(std::string_view text);
  static Digest of(std::string_view content, DigestAlgorithm algorithm = DigestAlgorithm::sha256);

  DigestAlgorithm algorithm() const { return algorithm_; }
  std::span<const std::uint8_t> bytes() const;
  std::string hex() const;
  // "sha256:e3b0..."
  std::string text() const;
  // The same without a new string: for request targets and JSON that are built in a kept buffer.
  void append_to(std::string& out) const;

  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  DigestAlgorithm algorithm_ = DigestAlgorithm::sha256;
  std::array<std::uint8_t, 64> bytes_{};  // the rest of a sha256 stays zero, so that comparison is whole
};

// Incremental SHA-256. A copy goes on from the same state.
class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t size);
  void update(std::string_view bytes) { update(bytes.data(), bytes.size()); }
  void update(std::span<const std::byte> bytes) { update(bytes.data(), bytes.size()); }
  // The digest of all that came in; the hasher itself is not changed and can go on.
  Digest digest() const;

 private:
  SHA256_CTX state_;
};

// Incremental SHA-512, with the same habits.
class Sha512 {
 public:
  Sha512();
  void update(const void* data, std::size_t size);
  void update(std::string_view bytes) { update(bytes.data(), bytes.size()); }
  void update(std::span<const std::byte> bytes) { update(bytes.data(), bytes.size()); }
  Digest digest() const;

 private:
  SHA512_CTX state_;
};

// A hasher of the algorithm that a wanted digest names: verifies a body as it streams by.
class DigestVerifier {
 public:
  explicit DigestVerifier(const Digest& wanted);
  void update(const void* data, std::size_t size);
  void update(std::string_view bytes) { update(bytes.data(), bytes.size()); }
  void update(std::span<const std::byte> bytes) { update(bytes.data(), bytes.size()); }
  bool matches() const;
  const Digest& wanted() const { return wanted_; }

 private:
  Digest wanted_;
  union {
    Sha256 sha256_;
    Sha512 sha512_;
  };
};

}  // namespace plimsoll::oci
