#include "net/frame_pool.h"

#include <array>
#include <cstdlib>
#include <new>

namespace plimsoll::net {
namespace {

constexpr std::size_t kClass = 64;
constexpr std::size_t kClasses = 64;  // frames up to 4 KiB are pooled
constexpr std::size_t kKeptPerClass = 4096;

struct FreeFrame {
  FreeFrame* next;
};

// Under a sanitizer every frame is a malloc of its own, so that use after destruction is seen.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kPooled = false;
#else
constexpr bool kPooled = true;
#endif
#endif

class FramePool {
 public:
  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool() {
    for (FreeFrame* frame : free_) {
      while (frame != nullptr) {
        FreeFrame* next = frame->next;
        std::free(frame);
        frame = next;
      }
    }
  }

  void* allocate(std::size_t bytes) {
    ++live_;
    const std::size_t index = (bytes + kClass - 1) / kClass;
    if (kPooled && index < kClasses && free_[index] != nullptr) {
      FreeFrame* frame = free_[index];
      free_[index] = frame->next;
      --kept_[index];
      return frame;
    }
    void* frame = std::malloc(index * kClass);
    if (frame == nullptr) throw std::bad_alloc();
    return frame;
  }

  void release(void* memory, std::size_t bytes) noexcept {
    --live_;
    const std::size_t index = (bytes + kClass - 1) / kClass;
    if (!kPooled || index >= kClasses || kept_[index] >= kKeptPerClass) {
      std::free(memory);
      return;
    }
    auto* frame = static_cast<FreeFrame*>(memory);
    frame->next = free_[index];
    free_[index] = frame;
    ++kept_[index];
  }

  std::size_t live() const { return live_; }

 private:
  std::array<FreeFrame*, kClasses> free_{};
  std::array<std::size_t, kClasses> kept_{};
  std::size_t live_ = 0;
};

FramePool& pool() {
  thread_local FramePool instance;
  return instance;
}

}  // namespace

void* allocate_frame(std::size_t bytes) {
  return pool().allocate(bytes);
}
void release_frame(void* frame, std::size_t bytes) noexcept {
  pool().release(frame, bytes);
}
std::size_t live_frames() {
  return pool().live();
}

}  // namespace plimsoll::net
