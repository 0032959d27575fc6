// The embedded registry as a process of its own, for as long as this lives: what `bench` measures without a URL.
//
// It is this very program, started with `serve` on a free loopback port. It ends with this object, and by itself when
// this process dies in whatever way.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::cli {

class EmbeddedRegistry {
 public:
  // Waits until it listens. `options` are added to `serve --listen 127.0.0.1:0`.
  static Checked<EmbeddedRegistry> start(const std::vector<std::string>& options);
  EmbeddedRegistry(EmbeddedRegistry&& other) noexcept;
  EmbeddedRegistry& operator=(EmbeddedRegistry&&) = delete;
  EmbeddedRegistry(const EmbeddedRegistry&) = delete;
  EmbeddedRegistry& operator=(const EmbeddedRegistry&) = delete;
  ~EmbeddedRegistry();

  const std::string& url() const { return url_; }

 private:
  explicit EmbeddedRegistry(pid_t process) : process_(process) {}
  pid_t process_;
  std::string url_;
};

}  // namespace plimsoll::cli
