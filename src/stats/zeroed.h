// An allocator of zeroed memory for large arrays of counters.
//
// The pages of a big array that no counter touched cost nothing (calloc maps them on demand), so a histogram
// over nine decades takes as much memory as the few octaves that really occur. Only for types whose zero is
// all bits 0.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll::stats {

template <class T>
struct Zeroed {
  static_assert(std::is_arithmetic_v<T>);
  using value_type = T;

  Zeroed() = default;
  template <class U>
  explicit Zeroed(const Zeroed<U>&) {}

  T* allocate(std::size_t n) {
    void* memory = std::calloc(n, sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }

  // The element is zero already: leaving it alone is what keeps the page untouched.
  template <class U>
  void construct(U*) {}
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (p) U(std::forward<Args>(args)...);
  }

  friend bool operator==(const Zeroed&, const Zeroed&) { return true; }
};

// Only for arrays sized once, at construction: a later resize() would not zero what it adds.
template <class T>
using ZeroedArray = std::vector<T, Zeroed<T>>;

}  // namespace plimsoll::stats
