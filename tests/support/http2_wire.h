// HTTP/2 frames as exact bytes, for scripts of a peer (RFC 9113, section 4; RFC 7541). Shares no code with nghttp2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::test::http2 {

enum : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPush = 5,
  kPing = 6,
  kGoaway = 7,
  kWindow = 8,
  kContinuation = 9
};
enum : std::uint8_t { kEndStream = 1, kAck = 1, kEndHeaders = 4 };

using Fields = std::vector<std::pair<std::string, std::string>>;

inline std::string number(std::uint32_t value, int bytes = 4) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

inline std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                         std::string_view payload = {}) {
  std::string out = number(static_cast<std::uint32_t>(payload.size()), 3);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  return out + number(stream) + std::string(payload);
}

// Literals without indexing and without Huffman coding; texts of up to 126 bytes.
inline std::string block(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out += '\0';
    for (const std::string* text : {&name, &value}) {
      out += static_cast<char>(text->size());
      out += *text;
    }
  }
  return out;
}

inline std::string settings(const std::vector<std::pair<std::uint16_t, std::uint32_t>>& entries = {}) {
  std::string payload;
  for (const auto& [key, value] : entries) payload += number(key, 2) + number(value);
  return frame(kSettings, 0, 0, payload);
}
inline constexpr std::uint16_t kMaxConcurrentStreams = 3;
inline constexpr std::uint16_t kInitialWindow = 4;

inline std::string headers(std::uint32_t stream, const Fields& fields, bool last) {
  return frame(kHeaders, static_cast<std::uint8_t>(kEndHeaders | (last ? kEndStream : 0)), stream,
               block(fields));
}
inline std::string data(std::uint32_t stream, std::string_view bytes, bool last) {
  return frame(kData, last ? kEndStream : 0, stream, bytes);
}
// A whole answer.
inline std::string answer(std::uint32_t stream, std::string_view body = "ok",
                          const std::string& status = "200") {
  if (body.empty()) return headers(stream, {{":status", status}}, true);
  return headers(stream, {{":status", status}}, false) + data(stream, body, true);
}
inline std::string reset(std::uint32_t stream, std::uint32_t code) {
  return frame(kReset, 0, stream, number(code));
}
inline std::string goaway(std::uint32_t last_stream, std::uint32_t code) {
  return frame(kGoaway, 0, 0, number(last_stream) + number(code));
}
inline std::string window(std::uint32_t stream, std::uint32_t more) {
  return frame(kWindow, 0, stream, number(more));
}

inline constexpr std::uint32_t kNoError = 0;
inline constexpr std::uint32_t kInternalError = 2;
inline constexpr std::uint32_t kRefusedStream = 7;
inline constexpr std::uint32_t kCancel = 8;
inline constexpr std::uint32_t kCalm = 11;

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct Frame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload;
};

// The whole frames in what one side sent; `preface`: it begins with a client's.
inline std::vector<Frame> frames(std::string_view bytes, bool preface) {
  std::vector<Frame> out;
  if (preface) bytes.remove_prefix(bytes.size() < kPreface.size() ? bytes.size() : kPreface.size());
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  while (bytes.size() >= 9) {
    const std::size_t size = at(0) << 16U | at(1) << 8U | at(2);
    if (bytes.size() < 9 + size) break;
    out.push_back({static_cast<std::uint8_t>(at(3)), static_cast<std::uint8_t>(at(4)),
                   (at(5) << 24U | at(6) << 16U | at(7) << 8U | at(8)) & 0x7fffffffU,
                   std::string(bytes.substr(9, size))});
    bytes.remove_prefix(9 + size);
  }
  return out;
}

}  // namespace plimsoll::test::http2
