// What all registry workloads of one test stand on: where the registry is, what is pushed, under which names.
//
// Immutable while a test runs, shared by its threads; what a thread needs for itself is made by thread_registry.h.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oci/credentials.h"
#include "oci/image.h"
#include "oci/registry_client.h"

namespace plimsoll::workload {

class PeerTally;

// How a test uploads blobs.
enum class UploadKind : std::uint8_t { put, post, stream, chunk };
std::string_view name(UploadKind kind);

// Where pushes look for their blobs before they upload them: in the repository that was seeded, or, without a name
// (`anonymous`), wherever the registry has them.
enum class MountKind : std::uint8_t { none, cross, anonymous };
std::string_view name(MountKind kind);

// zb's sizes, which are powers of two whatever their names say.
struct SizeClass {
  std::string_view label;  // "1MB"
  std::uint64_t bytes;
};
inline constexpr std::array kSizeClasses = {SizeClass{"1MB", 1ULL << 20}, SizeClass{"10MB", 10ULL << 20},
                                            SizeClass{"100MB", 100ULL << 20}, SizeClass{"1GB", 1ULL << 30}};

// Shapes of the images that the chosen tests push, by size class, one layer each. They share one pattern.
class Contents {
 public:
  // Prepares the classes whose bit is set in `classes` (bit i: kSizeClasses[i]); hashing them once is the time that
  // the record calls `prepare`.
  static Checked<Contents> make(unsigned classes, std::uint64_t seed);

  // Images of any shape, each a list of layer sizes; image i is shape(i).
  static Checked<Contents> of_images(const std::vector<std::vector<std::uint64_t>>& images,
                                     std::uint64_t seed);

  const oci::ImageShape& shape(std::size_t size_class) const { return *shapes_[size_class]; }
  // Memory that the content holds, page cache of files of ours included.
  std::size_t memory() const { return pattern_ == nullptr ? 0 : pattern_->memory(); }

 private:
  std::unique_ptr<oci::Pattern> pattern_;
  std::vector<std::unique_ptr<oci::ImageShape>> shapes_;  // null where a class is not prepared
};

// Layers that were offered although the registry held them, and those of them that it said it had, or mounted.
struct LayerTally {
  std::atomic<std::uint64_t> offered{0};
  std::atomic<std::uint64_t> found{0};
  void reset() { offered = found = 0; }
};

struct RegistryTarget {
  oci::RegistryOptions options;
  oci::Credentials credentials;
  std::string repository_prefix;  // "bench/" or ""
  std::string run_id;             // in every repository name, so that a run touches nothing but its own
  std::uint64_t nonce = 0;        // makes this run's content differ from any other's
  bool same_content = false;
  bool skip_cleanup = false;
  std::uint64_t chunk_size = 0;              // of UploadKind::chunk
  UploadKind seed_upload = UploadKind::put;  // of what is pushed before anything is measured
  MountKind mount = MountKind::none;
  // Images that the registry did not delete: counted by all threads, told to the user.
  std::shared_ptr<std::atomic<std::uint64_t>> left_behind = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<LayerTally> layers = std::make_shared<LayerTally>();  // of measured pushes, by all threads
  // Who was talked to; filled by what `connectors` makes.
  std::shared_ptr<PeerTally> tally;
  // Makes the connectors of one thread.
  std::function<std::unique_ptr<oci::Connectors>(int thread)> connectors;

  // "bench/plimsoll-1f2e3d4c-3-17": the n-th repository of a worker.
  std::string repository(int worker, std::uint64_t n) const;
};

}  // namespace plimsoll::workload
