#include "server/contents.h"

#include <cerrno>

namespace plimsoll::server {

StoreError store_error(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
      return {StoreFault::full, errno_value};
    case ENOENT:
      return {StoreFault::unknown, errno_value};
    default:
      return {StoreFault::failed, errno_value};
  }
}

Stored<void> Upload::append(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (auto stored = store(bytes); !stored) return stored.error();
  sha256_.update(bytes);
  if (sha512_) sha512_->update(bytes);
  size_.fetch_add(bytes.size(), std::memory_order_relaxed);
  return {};
}

void Upload::expect(oci::DigestAlgorithm algorithm) {
  if (algorithm == oci::DigestAlgorithm::sha512 && size() == 0) sha512_ = std::make_unique<oci::Sha512>();
}

bool Upload::must_read_again(oci::DigestAlgorithm algorithm) const {
  return algorithm == oci::DigestAlgorithm::sha512 && !sha512_;
}

Stored<oci::Digest> Upload::digest(oci::DigestAlgorithm algorithm) {
  if (algorithm == oci::DigestAlgorithm::sha256) return sha256_.digest();
  if (sha512_) return sha512_->digest();
  oci::Sha512 hash;
  for (std::uint64_t offset = 0; offset < size();) {
    const auto piece = read(offset);
    if (!piece) return piece.error();
    if (piece->empty()) return StoreError{StoreFault::failed, EIO};
    hash.update(*piece);
    offset += piece->size();
  }
  return hash.digest();
}

}  // namespace plimsoll::server
