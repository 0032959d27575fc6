#include "server/disk_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace plimsoll::server {

Stored<void> make_directories(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return store_error(errno);
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return store_error(ENOENT);
  if (auto parent = make_directories(path.substr(0, slash)); !parent) return parent;
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return store_error(errno);
}

Stored<void> write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return store_error(errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Stored<void> sync_directory(const std::string& path) {
  const http::File directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.descriptor() < 0 || fsync(directory.descriptor()) != 0) return store_error(errno);
  return {};
}

Stored<void> replace_file(const std::string& path, std::string_view bytes, bool durable) {
  const auto slash = path.find_last_of('/');
  const std::string directory = path.substr(0, slash);
  const std::string beside = directory + "/.new-" + path.substr(slash + 1);
  {
    const http::File file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.descriptor() < 0) return store_error(errno);
    auto written = write_all(file.descriptor(), bytes);
    if (written && durable && fdatasync(file.descriptor()) != 0) written = store_error(errno);
    if (!written) {
      unlink(beside.c_str());
      return written;
    }
  }
  if (rename(beside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(beside.c_str());
    return store_error(error);
  }
  return durable ? sync_directory(directory) : Stored<void>{};
}

Stored<void> append_file(const std::string& path, std::string_view bytes, bool durable) {
  const http::File file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.descriptor() < 0) return store_error(errno);
  const off_t before = durable || !bytes.empty() ? lseek(file.descriptor(), 0, SEEK_END) : 0;
  auto written = write_all(file.descriptor(), bytes);
  if (written && durable && fdatasync(file.descriptor()) != 0) written = store_error(errno);
  if (!written) [[maybe_unused]]
    const int cut = ftruncate(file.descriptor(), before);
  return written;
}

Stored<std::string> read_file(const std::string& path) {
  const http::File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor() < 0) return store_error(errno);
  struct stat status{};
  if (fstat(file.descriptor(), &status) != 0) return store_error(errno);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = read(file.descriptor(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return store_error(errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace plimsoll::server
