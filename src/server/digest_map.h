// Hash tables keyed by digests: a digest is its own hash.
#pragma once

#include <cstring>
#include <unordered_map>

#include "oci/digest.h"

namespace plimsoll::server {

struct DigestHash {
  std::size_t operator()(const oci::Digest& digest) const noexcept {
    std::size_t word = 0;
    std::memcpy(&word, digest.bytes().data(), sizeof word);
    return word;
  }
};

template <class T>
using DigestMap = std::unordered_map<oci::Digest, T, DigestHash>;

}  // namespace plimsoll::server
