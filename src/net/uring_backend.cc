#include "net/backend.h"

namespace plimsoll::net {

Checked<std::unique_ptr<Backend>> make_uring_backend() {
  return Refusal{"io_uring is not built in"};
}

}  // namespace plimsoll::net
