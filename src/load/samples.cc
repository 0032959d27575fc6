#include "load/samples.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace plimsoll::load {
namespace {

constexpr std::size_t kBlock = 1024;

int open_temporary() {
  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder == nullptr ? "/tmp" : folder) + "/plimsoll-samples-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) unlink(name.c_str());
  return fd;
}

}  // namespace

SampleFile::SampleFile(SampleFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      rows_(other.rows_),
      lost_(other.lost_),
      block_(std::move(other.block_)) {}

SampleFile& SampleFile::operator=(SampleFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(rows_, other.rows_);
  std::swap(lost_, other.lost_);
  std::swap(block_, other.block_);
  return *this;
}

SampleFile::~SampleFile() {
  if (fd_ >= 0) close(fd_);
}

void SampleFile::add(const SampleRow& row) {
  if (block_.capacity() == 0) block_.reserve(kBlock);
  block_.push_back(row);
  ++rows_;
  if (block_.size() == kBlock) flush();
}

void SampleFile::flush() {
  if (fd_ < 0) fd_ = open_temporary();
  const auto bytes = block_.size() * sizeof(SampleRow);
  const auto* at = reinterpret_cast<const char*>(block_.data());
  std::size_t written = 0;
  while (fd_ >= 0 && written < bytes) {
    const auto count = write(fd_, at + written, bytes - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  if (written < bytes) {
    // A torn row would shift all that follow.
    const auto whole = written / sizeof(SampleRow);
    lost_ += block_.size() - whole;
    rows_ -= block_.size() - whole;
    if (fd_ >= 0 && written % sizeof(SampleRow) != 0) {
      lseek(fd_, -static_cast<off_t>(written % sizeof(SampleRow)), SEEK_CUR);
    }
  }
  block_.clear();
}

void SampleFile::for_each(const std::function<void(const SampleRow&)>& visit) {
  const std::uint64_t in_file = rows_ - block_.size();
  std::vector<SampleRow> rows(kBlock);
  for (std::uint64_t done = 0; done < in_file;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, in_file - done));
    const auto got =
        pread(fd_, rows.data(), wanted * sizeof(SampleRow), static_cast<off_t>(done * sizeof(SampleRow)));
    if (got < static_cast<ssize_t>(sizeof(SampleRow))) return;
    const auto count = static_cast<std::size_t>(got) / sizeof(SampleRow);
    for (std::size_t i = 0; i < count; ++i) visit(rows[i]);
    done += count;
  }
  for (const SampleRow& row : block_) visit(row);
}

std::vector<SampleRow> by_sequence(std::vector<SampleFile>& files) {
  std::vector<SampleRow> rows;
  for (SampleFile& file : files) {
    file.for_each([&rows](const SampleRow& row) { rows.push_back(row); });
  }
  std::ranges::sort(rows, {}, &SampleRow::sequence);
  return rows;
}

}  // namespace plimsoll::load
