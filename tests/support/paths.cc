#include "tests/support/paths.h"

namespace plimsoll::test {

std::filesystem::path source_dir() {
  return PLIMSOLL_SOURCE_DIR;
}

}  // namespace plimsoll::test
