// Bytes that a server has at hand to answer with: in memory or in a file, kept alive by whoever holds the payload.
//
// Copying one shares its bytes. They never change while they are shared.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll::http {

// An open file that is closed with its last owner.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Payload {
  std::uint64_t size = 0;
  std::string_view bytes;    // all of them, where `file` is -1
  int file = -1;             // else they are this file's
  std::uint64_t offset = 0;  // from here on
  std::shared_ptr<const void> owner;

  // Bytes that outlive every use, literals for example.
  static Payload of_static(std::string_view bytes) {
    return {.size = bytes.size(), .bytes = bytes, .owner = {}};
  }
  static Payload of_text(std::string text) {
    auto kept = std::make_shared<const std::string>(std::move(text));
    const std::string_view bytes = *kept;
    return {.size = bytes.size(), .bytes = bytes, .owner = std::move(kept)};
  }
  static Payload of_file(std::shared_ptr<const File> file, std::uint64_t offset, std::uint64_t size) {
    const int descriptor = file->descriptor();
    return {.size = size, .bytes = {}, .file = descriptor, .offset = offset, .owner = std::move(file)};
  }

  // `length` of its bytes from `from` on; both lie within it.
  Payload part(std::uint64_t from, std::uint64_t length) const {
    Payload cut = *this;
    cut.size = length;
    if (file >= 0) {
      cut.offset += from;
    } else {
      cut.bytes = bytes.substr(from, length);
    }
    return cut;
  }
};

}  // namespace plimsoll::http
