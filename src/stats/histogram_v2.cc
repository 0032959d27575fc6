// HdrHistogram's V2 encoding of a Histogram: a 40-byte big-endian header and the counts as ZigZag LEB128
// numbers, a negative one standing for a run of zeros, deflated behind a header of 8 bytes.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.h"
#include "stats/histogram.h"

namespace plimsoll::stats {
namespace {

constexpr std::uint32_t kCookie = 0x1c849303 | 0x10;
constexpr std::uint32_t kCompressedCookie = 0x1c849304 | 0x10;
constexpr std::uint32_t kWordSizeBits = 0xf0;  // of a cookie; writers differ in them
constexpr std::size_t kHeaderSize = 40;
constexpr std::size_t kCompressedHeaderSize = 8;
constexpr std::size_t kLongestNumber = 9;
constexpr std::size_t kBestCompression = 1040;  // of deflate: nothing inflates to more
constexpr double kUnscaled = 1.0;  // integer to double conversion ratio of a histogram of integers

void put_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(value >> shift & 0xff));
}

std::uint64_t big_endian_at(std::string_view in, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(in[at + i]);
  return value;
}

// 7 bits a byte, but all 8 of the ninth ("LEB128-64b9B").
void put_zigzag(std::string& out, std::int64_t number) {
  std::uint64_t value = (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
  for (std::size_t i = 1; i < kLongestNumber && value > 0x7f; ++i) {
    out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

std::optional<std::int64_t> take_zigzag(std::string_view& in) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLongestNumber; ++i) {
    if (i >= in.size()) return std::nullopt;
    const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(in[i]));
    const bool last = i + 1 == kLongestNumber || byte < 0x80;
    value |= (i + 1 == kLongestNumber ? byte : byte & 0x7f) << (7 * i);
    if (!last) continue;
    in.remove_prefix(i + 1);
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  return std::nullopt;
}

std::string deflated(const std::string& plain) {
  std::string out(compressBound(plain.size()), '\0');
  uLongf size = out.size();
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
            plain.size(), Z_DEFAULT_COMPRESSION);
  out.resize(size);
  return out;
}

// Inflates piece by piece, so that a header can be judged before its payload is believed.
class Inflater {
 public:
  explicit Inflater(std::string_view in) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));  // zlib does not write to it
    stream_.avail_in = static_cast<uInt>(in.size());
    ready_ = inflateInit(&stream_) == Z_OK;
  }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Exactly n bytes, or nothing.
  std::optional<std::string> take(std::size_t n) {
    std::string out(n, '\0');
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(n);
    if (!ready_) return std::nullopt;
    if (n > 0) inflate(&stream_, Z_SYNC_FLUSH);
    if (stream_.avail_out != 0) return std::nullopt;
    return out;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

struct Header {
  std::uint32_t payload = 0;
  std::uint64_t lowest = 0;
  std::uint64_t highest = 0;
  int digits = 0;
};

Refusal refused(const char* why) {
  return Refusal{std::string("not an HdrHistogram V2 encoding: ") + why};
}

Checked<Header> parse_header(std::string_view in) {
  if ((big_endian_at(in, 0, 4) & ~std::uint64_t{kWordSizeBits}) != (kCookie & ~kWordSizeBits)) {
    return refused("wrong cookie (V0 and V1 are not read)");
  }
  Header header;
  header.payload = static_cast<std::uint32_t>(big_endian_at(in, 4, 4));
  const auto digits = big_endian_at(in, 12, 4);
  header.lowest = big_endian_at(in, 16, 8);
  header.highest = big_endian_at(in, 24, 8);
  if (big_endian_at(in, 8, 4) != 0) return refused("shifted buckets");
  if (digits > 5) return refused("more than 5 significant digits");
  if (big_endian_at(in, 32, 8) != std::bit_cast<std::uint64_t>(kUnscaled))
    return refused("counts of fractions");
  header.digits = static_cast<int>(digits);
  if (header.lowest < 1 || header.lowest > INT64_MAX / 2 || header.highest < 2 * header.lowest ||
      header.highest > INT64_MAX || std::bit_width(header.lowest) + 4 * header.digits > 60) {
    return refused("impossible range of values");
  }
  return header;
}

// Nothing where the payload holds more buckets than the layout, or counts that do not fit 64 bits.
std::optional<std::vector<std::uint64_t>> parse_counts(std::string_view in, std::size_t buckets) {
  std::vector<std::uint64_t> counts;
  std::uint64_t total = 0;
  while (!in.empty()) {
    const auto number = take_zigzag(in);
    if (!number) return std::nullopt;
    const bool zeros = *number < 0;
    const std::uint64_t n =
        zeros ? ~static_cast<std::uint64_t>(*number) + 1 : static_cast<std::uint64_t>(*number);
    if (zeros ? n > buckets - counts.size() : counts.size() == buckets) return std::nullopt;
    if (zeros) {
      counts.resize(counts.size() + n);
    } else {
      if (total + n < total) return std::nullopt;
      total += n;
      counts.push_back(n);
    }
  }
  return counts;
}

}  // namespace

std::string Histogram::encode_v2() const {
  std::size_t used = 1;  // the format has at least one
  if (overflowed_ > 0) {
    used = counts_.size();
  } else if (count_ > 0) {
    used = index_of(max_) + 1;
  }
  std::string payload;
  for (std::size_t i = 0; i < used;) {
    const std::uint64_t n = counts_[i] + (i + 1 == counts_.size() ? overflowed_ : 0);
    std::size_t next = i + 1;
    if (n == 0) {
      const std::size_t last = overflowed_ == 0 ? used : used - 1;
      while (next < last && counts_[next] == 0) ++next;
    }
    const std::size_t zeros = n == 0 ? next - i : 0;
    put_zigzag(payload, zeros > 1 ? -static_cast<std::int64_t>(zeros) : static_cast<std::int64_t>(n));
    i = next;
  }
  std::string plain;
  put_big_endian(plain, kCookie, 4);
  put_big_endian(plain, payload.size(), 4);
  put_big_endian(plain, 0, 4);  // index offset
  put_big_endian(plain, static_cast<std::uint64_t>(digits_), 4);
  put_big_endian(plain, lowest_, 8);
  put_big_endian(plain, highest_, 8);
  put_big_endian(plain, std::bit_cast<std::uint64_t>(kUnscaled), 8);
  plain += payload;

  const std::string compressed = deflated(plain);
  std::string out;
  put_big_endian(out, kCompressedCookie, 4);
  put_big_endian(out, compressed.size(), 4);
  return base64_encode(out + compressed);
}

Checked<Histogram> Histogram::decode_v2(std::string_view base64) {
  const auto bytes = base64_decode(base64);
  if (!bytes) return refused("not base64");
  const std::string_view in = *bytes;
  if (in.size() < kCompressedHeaderSize) return refused("too short");
  if ((big_endian_at(in, 0, 4) & ~std::uint64_t{kWordSizeBits}) != (kCompressedCookie & ~kWordSizeBits)) {
    return refused("wrong cookie (V0 and V1 are not read)");
  }
  const std::uint64_t length = big_endian_at(in, 4, 4);
  if (length > in.size() - kCompressedHeaderSize) return refused("too short");

  Inflater inflater(in.substr(kCompressedHeaderSize, length));
  const auto head = inflater.take(kHeaderSize);
  if (!head) return refused("damaged compression");
  const auto header = parse_header(*head);
  if (!header) return header.error();

  Histogram histogram(header->lowest, header->highest, header->digits);
  if (header->payload > histogram.buckets() * kLongestNumber || header->payload > length * kBestCompression) {
    return refused("more counts than it can hold");
  }
  const auto payload = inflater.take(header->payload);
  if (!payload) return refused("damaged compression");
  const auto counts = parse_counts(*payload, histogram.buckets());
  if (!counts) return refused("counts that fit no bucket");
  histogram.set_counts(counts->data(), counts->size());
  return histogram;
}

}  // namespace plimsoll::stats
