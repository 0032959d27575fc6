// Contents as files:
//
//   ROOT/.plimsoll/content/sha256/3f/3f9a...   whole, read-only, named by their digest
//   ROOT/.plimsoll/uploads/17.part             on their way in; whatever lies here at start is removed
//
// A content appears by rename(2), so that at every moment, also of a kill -9, it is either whole or not there. With
// `fsync` its bytes and its name are on the disk before it is acknowledged.
#pragma once

#include <memory>
#include <string>

#include "server/contents.h"

namespace plimsoll::server {

// The path of a content below the directory that holds contents: "sha256/3f/3f9a...".
std::string content_path(const oci::Digest& digest);

class DiskContents final : public Contents {
 public:
  // Creates what is missing under `root`/.plimsoll and removes what broken uploads left there.
  static Checked<std::unique_ptr<DiskContents>> open(const std::string& root, bool fsync);
  ~DiskContents() override;

  Stored<std::shared_ptr<Upload>> begin(std::optional<std::uint64_t> expected) override;
  Stored<void> sync(Upload& upload) override;
  Stored<void> publish(Upload& upload, const oci::Digest& digest) override;
  Stored<http::Payload> open(const oci::Digest& digest, std::uint64_t size) override;
  void remove(const oci::Digest& digest) override;

  // Absolute or as `root` was given.
  std::string path_of(const oci::Digest& digest) const;

 private:
  DiskContents(const std::string& root, bool fsync);
  class OpenFiles;

  std::string content_directory_;
  std::string upload_directory_;
  bool fsync_;
  std::atomic<std::uint64_t> sequence_ = 0;
  std::unique_ptr<OpenFiles> open_files_;
};

}  // namespace plimsoll::server
