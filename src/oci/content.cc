#include "oci/content.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "base/units.h"

namespace plimsoll::oci {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kUnique = kBlock;
constexpr std::uint64_t kEndOfArchive = 2 * kBlock;
constexpr std::uint64_t kLargestLayer = 1ULL << 40U;

void fill(char* out, std::size_t size, Random& random) {
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(out + i, &word, 8);
  }
}

template <std::size_t N>
void put(std::array<char, N>& header, std::size_t at, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<std::ptrdiff_t>(at));
}

// POSIX.1-1988 ustar (pax(1), "ustar Interchange Format").
std::array<char, kBlock> ustar_header(std::size_t index, std::uint64_t data_size) {
  std::array<char, kBlock> header{};
  put(header, 0, fmt::format("plimsoll/{:06}.bin", index));
  put(header, 100, "0000644");
  put(header, 108, "0000000");
  put(header, 116, "0000000");
  put(header, 124, fmt::format("{:011o}", data_size));
  put(header, 136,
      fmt::format("{:011o}", 1'700'000'000));  // one fixed time, so that a seed gives the same bytes
  put(header, 148, "        ");                // the checksum counts itself as spaces
  put(header, 156, "0");
  put(header, 257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(header, 148, fmt::format("{:06o}", sum));
  header[154] = '\0';
  return header;
}

// A bijection of 64 bits that looks random: distinct counters stay distinct.
std::uint64_t scrambled(std::uint64_t value) {
  return splitmix64(value);
}

}  // namespace

Checked<Pattern> Pattern::make(std::uint64_t size, std::uint64_t seed) {
  const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t wanted = std::clamp<std::uint64_t>(size, page, kLargest);
  const std::size_t bytes = (wanted + page - 1) / page * page;
  const int file = memfd_create("plimsoll-content", MFD_CLOEXEC);
  if (file < 0) return Refusal{fmt::format("no memory file for generated content: {}", std::strerror(errno))};
  void* mapped = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  }
  if (mapped == MAP_FAILED) {
    const int error = errno;
    close(file);
    return Refusal{fmt::format("no {} of memory for generated content: {}",
                               binary_size(static_cast<double>(bytes)), std::strerror(error))};
  }
  Random random(seed);
  fill(static_cast<char*>(mapped), bytes, random);
  mprotect(mapped, bytes, PROT_READ);
  return Pattern(static_cast<const char*>(mapped), bytes, file);
}

Pattern::Pattern(Pattern&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      file_(std::exchange(other.file_, -1)) {}

Pattern& Pattern::operator=(Pattern&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  std::swap(file_, other.file_);
  return *this;
}

Pattern::~Pattern() {
  if (bytes_) munmap(const_cast<char*>(bytes_), size_);
  if (file_ >= 0) close(file_);
}

ContentPiece Pattern::from(std::uint64_t position) const {
  const std::uint64_t at = position % size_;
  return {{bytes_ + at, size_ - at}, file_, at};
}

LayerShape::LayerShape(const Pattern& pattern, std::uint64_t size, std::uint64_t member)
    : pattern_(&pattern), size_(size), unique_offset_(size / kBlock * kBlock - kEndOfArchive - kUnique) {
  const std::uint64_t archive = unique_offset_ + kUnique;
  for (std::uint64_t at = 0; at < archive;) {
    std::uint64_t length = std::min(member, archive - at);
    if (archive - at - length == kBlock) length -= kBlock;  // the last member has a header and data
    members_.push_back({at, ustar_header(members_.size(), length - kBlock)});
    at += length;
  }
}

Checked<LayerShape> LayerShape::make(const Pattern& pattern, std::uint64_t size, std::uint64_t member) {
  if (size < kSmallest || size > kLargestLayer) {
    return Refusal{fmt::format("a layer of {} bytes: {} bytes to 1 TiB are possible", size, kSmallest)};
  }
  LayerShape shape(pattern, size, std::max(member / kBlock * kBlock, 3 * kBlock));
  for (std::uint64_t at = 0; at < shape.unique_offset_;) {
    const auto piece = shape.shared_piece(at);
    shape.shared_hash_.update(piece.bytes);
    at += piece.bytes.size();
  }
  return shape;
}

ContentPiece LayerShape::shared_piece(std::uint64_t offset) const {
  const auto next = std::ranges::upper_bound(members_, offset, {}, &Member::start);
  const Member& member = *(next - 1);
  const std::uint64_t end = next == members_.end() ? unique_offset_ : std::min(next->start, unique_offset_);
  if (const auto in_member = offset - member.start; in_member < kBlock) {
    return {std::string_view(member.header.data(), kBlock).substr(in_member), -1, 0};
  }
  auto piece = pattern_->from(offset);
  piece.bytes = piece.bytes.substr(0, end - offset);
  return piece;
}

ContentPiece Layer::piece(std::uint64_t offset) const {
  if (offset < shape_->unique_offset()) return shape_->shared_piece(offset);
  const std::string_view tail(tail_.data(), shape_->size() - shape_->unique_offset());
  return {tail.substr(std::min<std::uint64_t>(offset - shape_->unique_offset(), tail.size())), -1, 0};
}

void LayerSource::next(const LayerShape& shape, Layer& layer) {
  const bool same = uniqueness_ == Uniqueness::same;
  const std::uint64_t identity[] = {scrambled(seed_), scrambled(same ? 0 : stream_),
                                    scrambled(same ? 0 : count_)};
  std::memcpy(layer.tail_.data(), identity, sizeof identity);
  Random random(identity[0] ^ (identity[1] * 3) ^ (identity[2] * 5));
  fill(layer.tail_.data() + sizeof identity, kUnique - sizeof identity, random);
  ++count_;

  layer.shape_ = &shape;
  Sha256 hash = shape.shared_hash();
  hash.update(layer.tail_.data(), shape.size() - shape.unique_offset());
  layer.digest_ = hash.digest();
}

}  // namespace plimsoll::oci
