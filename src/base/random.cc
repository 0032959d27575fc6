#include "base/random.h"

#include <sys/random.h>

#include "base/clock.h"

namespace plimsoll {

std::uint64_t system_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
    seed = static_cast<std::uint64_t>(now().time_since_epoch().count());
  }
  // Seeds are typed by people who repeat a run: keep them short.
  return seed & 0xffffffffULL;
}

}  // namespace plimsoll
