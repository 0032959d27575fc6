#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <ctime>

#include "cli/command.h"

namespace plimsoll::cli {

InterruptListener::InterruptListener(load::StopSignal& stop) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::jthread([&stop, signals](const std::stop_token& token) {
    while (!token.stop_requested()) {
      const timespec wait{.tv_sec = 0, .tv_nsec = 50'000'000};
      if (sigtimedwait(&signals, nullptr, &wait) < 0) continue;
      if (stop.requested()) _exit(static_cast<int>(Exit::interrupted));
      stop.request();
    }
  });
}

}  // namespace plimsoll::cli
