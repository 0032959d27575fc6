// A value, or why there is none. Everything that can fail in the world returns one; exceptions are for what a
// programmer or a command line got wrong.
#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace plimsoll {

// Discarding one is a compile error, also through co_await.
template <class T, class E = Error>
class [[nodiscard]] Result : public std::expected<T, E> {
 public:
  using std::expected<T, E>::expected;
  Result(E error) : std::expected<T, E>(std::unexpect, std::move(error)) {}  // NOLINT: implicit on purpose
};

// For what is found before a run: the error is a line for a person.
template <class T>
using Checked = Result<T, Refusal>;

inline Result<void> ok() {
  return {};
}

}  // namespace plimsoll
