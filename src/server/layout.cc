#include "server/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "server/disk_files.h"
#include "server/index_writer.h"

namespace plimsoll::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournal = "/.journal";

bool is_layout_name(std::string_view component) {
  return component == "blobs" || component == "index.json" || component == "oci-layout";
}

template <class Change>
std::string map_components(std::string_view name, Change&& change) {
  std::string out;
  for (const auto component : split(name, '/')) {
    if (!out.empty()) out += '/';
    out += change(component);
  }
  return out;
}

std::string blob_path(const oci::Digest& digest) {
  return fmt::format("/blobs/{}/{}", name(digest.algorithm()), digest.hex());
}

// Applies one line. A line that is torn or strange (after a power loss without fsync) changes nothing.
void replay(std::string_view line, const std::string& directory, Repository& repository) {
  const auto words = split(line, '\t');
  if (words[0] == "tag" && words.size() == 3) {
    const auto digest = oci::Digest::parse(words[2]);
    if (digest && repository.manifests.contains(*digest))
      repository.tags.insert_or_assign(std::string(words[1]), *digest);
  } else if (words[0] == "untag" && words.size() == 2) {
    repository.tags.erase(std::string(words[1]));
  } else if (words[0] == "remove" && words.size() == 2) {
    if (const auto digest = oci::Digest::parse(words[1])) repository.remove_manifest(*digest);
  } else if (words[0] == "manifest" && words.size() == 5) {
    const auto digest = oci::Digest::parse(words[1]);
    const auto size = parse_u64(words[2]);
    if (!digest || !size) return;
    ManifestFacts facts{.media_type = std::string(words[4]), .size = *size, .referrer = {}};
    if (words[3] == "referrer") {
      const auto bytes = read_file(directory + blob_path(*digest));
      if (!bytes) return;
      if (auto read = read_manifest_facts(*bytes, facts.media_type)) facts = std::move(*read);
    }
    repository.add_manifest(*digest, std::move(facts));
  }
}

// Ends a last line that was torn off, so that the next one stands alone.
void mend(const std::string& path, const std::string& bytes) {
  if (!bytes.empty() && bytes.back() != '\n') static_cast<void>(append_file(path, "\n", false));
}

}  // namespace

std::string escape_repository(std::string_view name) {
  return map_components(name, [](std::string_view component) {
    return is_layout_name(component) ? "_" + std::string(component) : std::string(component);
  });
}

std::string unescape_repository(std::string_view path) {
  return map_components(path, [](std::string_view component) {
    return std::string(component.starts_with('_') ? component.substr(1) : component);
  });
}

Layout::Layout(std::string root, const DiskContents& contents, bool fsync, std::unique_ptr<http::File> lock)
    : root_(std::move(root)), contents_(contents), fsync_(fsync), lock_(std::move(lock)) {}

Layout::~Layout() = default;

Checked<std::unique_ptr<Layout>> Layout::open(const std::string& root, const DiskContents& contents,
                                              bool fsync) {
  const std::string path = root + "/.plimsoll/lock";
  auto lock = std::make_unique<http::File>(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock->descriptor() < 0) return Refusal{fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  if (flock(lock->descriptor(), LOCK_EX | LOCK_NB) != 0) {
    return Refusal{fmt::format("{} is in use by another server", root)};
  }
  return std::unique_ptr<Layout>(new Layout(root, contents, fsync, std::move(lock)));
}

std::string Layout::directory_of(const std::string& repository) const {
  return root_ + "/" + escape_repository(repository);
}

Stored<void> Layout::load(const std::function<void(std::string, Repository)>& take) {
  std::error_code error;
  fs::recursive_directory_iterator at(root_, fs::directory_options::none, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (!at->is_directory(error) || at->is_symlink(error)) continue;
    const std::string name = at->path().filename();
    if (name.starts_with('.') || name == "blobs") {
      at.disable_recursion_pending();
      continue;
    }
    const std::string directory = at->path();
    if (!fs::exists(directory + "/blobs", error)) continue;
    take(unescape_repository(std::string_view(directory).substr(root_.size() + 1)),
         load_repository(directory));
  }
  if (error) return store_error(error.value());
  return {};
}

Repository Layout::load_repository(const std::string& directory) const {
  Repository repository;
  const std::string journal = directory + std::string(kJournal);
  if (const auto bytes = read_file(journal)) {
    mend(journal, *bytes);
    for (const auto line : split(*bytes, '\n')) replay(line, directory, repository);
  }
  std::error_code error;
  for (const char* algorithm : {"sha256", "sha512"}) {
    fs::directory_iterator at(directory + "/blobs/" + algorithm, error);
    for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
      const auto digest = oci::Digest::parse(std::string(algorithm) + ":" + at->path().filename().string());
      const auto size = digest ? at->file_size(error) : 0;
      if (!digest || error) {
        error.clear();
        continue;
      }
      if (!repository.manifests.contains(*digest)) repository.blobs[*digest] = size;
    }
    error.clear();
  }
  // A manifest whose bytes are gone (a power loss without fsync) is none.
  std::vector<oci::Digest> lost;
  for (const auto& [digest, facts] : repository.manifests) {
    if (fs::file_size(directory + blob_path(digest), error) != facts.size) lost.push_back(digest);
  }
  for (const auto& digest : lost) repository.remove_manifest(digest);
  return repository;
}

Stored<void> Layout::add_content(const std::string& repository, const oci::Digest& digest) {
  const std::string path = directory_of(repository) + blob_path(digest);
  const std::string content = contents_.path_of(digest);
  const auto slash = path.find_last_of('/');
  if (link(content.c_str(), path.c_str()) == 0 || errno == EEXIST) {
    return fsync_ ? sync_directory(path.substr(0, slash)) : Stored<void>{};
  }
  if (errno == ENOENT) {
    if (auto made = make_directories(path.substr(0, slash)); !made) return made;
    if (link(content.c_str(), path.c_str()) == 0 || errno == EEXIST) {
      return fsync_ ? sync_directory(path.substr(0, slash)) : Stored<void>{};
    }
  }
  if (errno != EMLINK && errno != EPERM) return store_error(errno);
  // No more hard links to that file: a relative link does as well.
  const auto target = fs::path(content).lexically_relative(fs::path(path).parent_path());
  if (symlink(target.c_str(), path.c_str()) != 0 && errno != EEXIST) return store_error(errno);
  return fsync_ ? sync_directory(path.substr(0, slash)) : Stored<void>{};
}

void Layout::remove_content(const std::string& repository, const oci::Digest& digest) {
  unlink((directory_of(repository) + blob_path(digest)).c_str());
}

Stored<void> Layout::append(const std::string& repository, const std::string& lines) {
  auto appended = append_file(directory_of(repository) + std::string(kJournal), lines, fsync_);
  if (appended && writer_) writer_->changed(repository);
  return appended;
}

Stored<void> Layout::put_manifest(const std::string& repository, const oci::Digest& digest,
                                  const ManifestFacts& facts, std::span<const std::string> tags) {
  const std::string text = digest.text();
  std::string lines = fmt::format("manifest\t{}\t{}\t{}\t{}\n", text, facts.size,
                                  facts.referrer ? "referrer" : "plain", facts.media_type);
  for (const auto& tag : tags) lines += fmt::format("tag\t{}\t{}\n", tag, text);
  return append(repository, lines);
}

Stored<void> Layout::remove_manifest(const std::string& repository, const oci::Digest& digest) {
  return append(repository, "remove\t" + digest.text() + "\n");
}

Stored<void> Layout::remove_tag(const std::string& repository, const std::string& tag) {
  return append(repository, "untag\t" + tag + "\n");
}

void Layout::remove_repository(const std::string& repository) {
  const std::string directory = directory_of(repository);
  for (const char* file : {"/.journal", "/index.json", "/oci-layout"}) unlink((directory + file).c_str());
  for (const char* below : {"/blobs/sha256", "/blobs/sha512", "/blobs"}) rmdir((directory + below).c_str());
  // The directory stays where other repositories lie below it; so do parents.
  for (std::string_view left = repository; !left.empty();) {
    if (rmdir(directory_of(std::string(left)).c_str()) != 0) break;
    const auto slash = left.find_last_of('/');
    left = slash == std::string_view::npos ? std::string_view{} : left.substr(0, slash);
  }
}

void Layout::start_index_writer(std::function<std::string(const std::string&)> render) {
  writer_ = std::make_unique<IndexFileWriter>([this,
                                               render = std::move(render)](const std::string& repository) {
    const std::string text = render(repository);
    if (text.empty()) return;
    const std::string directory = directory_of(repository);
    if (access((directory + "/oci-layout").c_str(), F_OK) != 0) {
      static_cast<void>(replace_file(directory + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})", false));
    }
    static_cast<void>(replace_file(directory + "/index.json", text, false));
  });
}

void Layout::flush() {
  if (writer_) writer_->flush();
}

}  // namespace plimsoll::server
