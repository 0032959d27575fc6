// Which content belongs to which repository, on disk: one OCI image layout a repository (image-spec,
// image-layout.md), so that `skopeo copy oci:ROOT/REPOSITORY:TAG` and every other tool reads it.
//
//   ROOT/team/app/oci-layout
//   ROOT/team/app/index.json                 for others: rewritten a moment after the last push
//   ROOT/team/app/blobs/sha256/3f9a...       hard links into the shared content (links where those run out)
//   ROOT/team/app/.journal                   what is true: manifests and tags, one appended line a change
//
// A push of a tag costs one appended line, however many tags there are. `index.json` is rewritten by a thread of its
// own, at most ten times a second, and seldom enough that rewriting takes a tenth of its time. Components of a name
// that the layout uses itself ("blobs", "index.json", "oci-layout") get a "_" in front, which no name can begin with.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/disk_contents.h"
#include "server/repository.h"

namespace plimsoll::server {

class IndexFileWriter;

// "a/blobs/c" -> "a/_blobs/c", and back.
std::string escape_repository(std::string_view name);
std::string unescape_repository(std::string_view path);

class Layout {
 public:
  // Takes the lock of the root, so that two servers never write one.
  static Checked<std::unique_ptr<Layout>> open(const std::string& root, const DiskContents& contents,
                                               bool fsync);
  ~Layout();

  // Reads every repository below the root. `repository` is called once for each.
  Stored<void> load(const std::function<void(std::string name, Repository repository)>& take);

  // The changes, each durable against kill -9 when it returns. Calls for one repository are ordered by the caller.
  Stored<void> add_content(const std::string& repository, const oci::Digest& digest);
  void remove_content(const std::string& repository, const oci::Digest& digest);
  Stored<void> put_manifest(const std::string& repository, const oci::Digest& digest,
                            const ManifestFacts& facts, std::span<const std::string> tags);
  Stored<void> remove_manifest(const std::string& repository, const oci::Digest& digest);
  Stored<void> remove_tag(const std::string& repository, const std::string& tag);
  // Nothing is left in it.
  void remove_repository(const std::string& repository);

  // Starts rewriting index.json files in the background; `render` gives the text for a repository, empty if it is
  // gone. flush() writes what is due now.
  void start_index_writer(std::function<std::string(const std::string& repository)> render);
  void flush();

 private:
  Layout(std::string root, const DiskContents& contents, bool fsync, std::unique_ptr<http::File> lock);

  std::string directory_of(const std::string& repository) const;
  Stored<void> append(const std::string& repository, const std::string& lines);
  Repository load_repository(const std::string& directory) const;

  std::string root_;
  const DiskContents& contents_;
  bool fsync_;
  std::unique_ptr<http::File> lock_;
  std::unique_ptr<IndexFileWriter> writer_;
};

}  // namespace plimsoll::server
