// Where the bytes of blobs and manifests lie, by digest alone: in memory or on disk. What belongs to which repository
// is the Store's business.
//
// All calls may be made from any thread. Those that change something for one digest are ordered by the Store.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/payload.h"
#include "oci/digest.h"

namespace plimsoll::server {

enum class StoreFault : std::uint8_t {
  unknown,  // what was asked for is not there
  full,     // the memory limit, or ENOSPC, EDQUOT, EFBIG
  failed,   // the system refused otherwise; `code` is its errno
};
struct StoreError {
  StoreFault fault = StoreFault::failed;
  int code = 0;
};
// From a failed call's errno.
StoreError store_error(int errno_value);

template <class T>
using Stored = Result<T, StoreError>;

// Bytes on their way in, not visible to anybody yet. Hashed as they arrive. One user at a time; only size() may be
// asked for by others meanwhile. Destroying it drops what was not published.
class Upload {
 public:
  virtual ~Upload() = default;

  // All of `bytes` or, on an error, none of them.
  Stored<void> append(std::string_view bytes);
  std::uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  // Hashes with sha512 too from now on, which spares reading all again; call before the first byte.
  void expect(oci::DigestAlgorithm algorithm);
  // Of everything so far. Reads the bytes again where it was not told of the algorithm beforehand.
  Stored<oci::Digest> digest(oci::DigestAlgorithm algorithm);
  // Whether digest() will have to read.
  bool must_read_again(oci::DigestAlgorithm algorithm) const;

 protected:
  virtual Stored<void> store(std::string_view bytes) = 0;
  // Up to `size` bytes from `offset`; an empty view at the end. Valid until the next call.
  virtual Stored<std::string_view> read(std::uint64_t offset) = 0;

 private:
  std::atomic<std::uint64_t> size_ = 0;
  oci::Sha256 sha256_;
  std::unique_ptr<oci::Sha512> sha512_;
};

class Contents {
 public:
  virtual ~Contents() = default;

  // `expected`: how many bytes will come, if that is known, so that a lack of room shows at once.
  virtual Stored<std::shared_ptr<Upload>> begin(std::optional<std::uint64_t> expected) = 0;
  // Makes what would be lost with the power durable, before publish(). May block for long; does nothing unless asked
  // for (--fsync).
  virtual Stored<void> sync(Upload& upload) = 0;
  // The upload's bytes, which have this digest, become visible, all at once. The upload is spent.
  virtual Stored<void> publish(Upload& upload, const oci::Digest& digest) = 0;
  virtual Stored<http::Payload> open(const oci::Digest& digest, std::uint64_t size) = 0;
  // Nobody refers to it any more. Whoever still sends it goes on.
  virtual void remove(const oci::Digest& digest) = 0;
};

}  // namespace plimsoll::server
