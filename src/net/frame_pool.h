// Memory for coroutine frames: size classes of 64 bytes with a free list per thread, so that an exchange costs no
// allocation after warm-up. Frames never leave the thread that made them (a loop and its tasks are one thread's).
#pragma once

#include <cstddef>

namespace plimsoll::net {

void* allocate_frame(std::size_t bytes);
void release_frame(void* frame, std::size_t bytes) noexcept;

// Frames that are alive on this thread, for tests of lifetime.
std::size_t live_frames();

}  // namespace plimsoll::net
