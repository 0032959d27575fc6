// Contents in memory, up to a limit that uploads in progress count towards.
#pragma once

#include <cstdint>
#include <memory>

#include "server/contents.h"

namespace plimsoll::server {

// Half of the memory that the system calls available, container limits included.
std::uint64_t default_memory_limit();

// Bytes held are announced and taken back here by contents and their readers, from any thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit) : limit_(limit) {}
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> used_ = 0;
};

std::unique_ptr<Contents> make_memory_contents(std::shared_ptr<MemoryBudget> budget);

}  // namespace plimsoll::server
