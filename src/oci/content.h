// Generated layers: valid plain tar archives of an exact size, incompressible, each with bytes that were
// never sent before, made without hashing more than their last two KiB.
//
//   Pattern     up to 8 MiB of random bytes in memory that can be sent from (shared by everything, read-only)
//   LayerShape  one size: tar headers, and the SHA-256 state after the bytes that all layers of this size
//   share LayerSource draws layers of any shape; deterministic from a seed Layer       one layer: its digest
//   (which is also its diff_id) and its bytes, piece by piece
//
// A layer of any size is a walk over the same pattern, so memory is the pattern and nothing else:
//
//   | header | pattern, again and again ... | [header | pattern ...] | unique 512 bytes | end of archive |
//   '------------------------- shared prefix, hashed once -----------'------ hashed per layer ----------'
//
// Pattern and LayerShape are immutable after they are made and may be shared by threads; a LayerSource
// belongs to one thread. No call on a source or a layer allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "http/exchange.h"
#include "oci/digest.h"

namespace plimsoll::oci {

// A run of a body's bytes that lie together, and the place in a file where the same bytes can be sent from.
using ContentPiece = http::BodyPiece;

class Pattern {
 public:
  static constexpr std::size_t kLargest = 8U << 20U;  // a layer's shared part repeats after this

  // `size` is rounded up to whole pages and cut to kLargest: enough for the largest layer that will be made.
  static Checked<Pattern> make(std::uint64_t size, std::uint64_t seed);
  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern();

  // From `position` (taken modulo the size) to the end of the pattern.
  ContentPiece from(std::uint64_t position) const;
  // Bytes of memory held, page cache of the memory file included.
  std::size_t memory() const { return size_; }

 private:
  Pattern(const char* bytes, std::size_t size, int file) : bytes_(bytes), size_(size), file_(file) {}

  const char* bytes_;
  std::size_t size_;
  int file_;
};

class LayerShape {
 public:
  static constexpr std::uint64_t kSmallest =
      2048;  // one tar header, the unique block, the end of the archive

  static constexpr std::uint64_t kMember = 4ULL
                                           << 30U;  // a file of the archive, header included; ustar ends at 8

  // Hashes the shared prefix once (some 0.7 s for a GiB). The pattern must outlive the shape, and the shape
  // its layers. Refuses sizes under kSmallest and over 1 TiB. `member` is where the archive is split into
  // files.
  static Checked<LayerShape> make(const Pattern& pattern, std::uint64_t size, std::uint64_t member = kMember);

  std::uint64_t size() const { return size_; }
  std::uint64_t unique_offset() const { return unique_offset_; }
  // The shared bytes from `offset`, which is below unique_offset(), to where they stop lying together.
  ContentPiece shared_piece(std::uint64_t offset) const;
  const Sha256& shared_hash() const { return shared_hash_; }

 private:
  struct Member {
    std::uint64_t start;
    std::array<char, 512> header;
  };

  LayerShape(const Pattern& pattern, std::uint64_t size, std::uint64_t member);

  const Pattern* pattern_;
  std::uint64_t size_;
  std::uint64_t unique_offset_;
  std::vector<Member> members_;
  Sha256 shared_hash_;
};

class Layer {
 public:
  const Digest& digest() const { return digest_; }
  std::uint64_t size() const { return shape_ ? shape_->size() : 0; }
  // The bytes from `offset` on that lie together; empty at the end of the layer. Valid while the layer and
  // its shape stay where they are.
  ContentPiece piece(std::uint64_t offset) const;

 private:
  friend class LayerSource;

  const LayerShape* shape_ = nullptr;
  std::array<char, 2048> tail_{};  // the unique block, then the zeros that end the archive
  Digest digest_;
};

enum class Uniqueness : std::uint8_t {
  unique,  // every layer differs from all others of the run
  same,    // always the same layer, in every source of the same seed (what zb does)
};

class LayerSource {
 public:
  // Sources of one run differ in `stream`. The same seed, stream and order of calls give the same layers
  // again, which a registry that kept them from an earlier run will know.
  LayerSource(std::uint64_t seed, std::uint64_t stream, Uniqueness uniqueness = Uniqueness::unique)
      : seed_(seed), stream_(stream), uniqueness_(uniqueness) {}

  // Overwrites `layer`. A few microseconds.
  void next(const LayerShape& shape, Layer& layer);

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t count_ = 0;
  Uniqueness uniqueness_;
};

}  // namespace plimsoll::oci
