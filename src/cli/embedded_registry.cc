#include "cli/embedded_registry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace plimsoll::cli {
namespace {

constexpr std::string_view kListening = "listening on ";
constexpr Nanos kPatience = std::chrono::seconds(15);

// The first line that says where it listens; empty when the process ended or took too long.
std::string read_url(int fd) {
  const Instant deadline = now() + kPatience;
  std::string text;
  while (now() < deadline) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 200) <= 0) continue;
    char buffer[512];
    const auto got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return {};
    text.append(buffer, static_cast<std::size_t>(got));
    const auto start = text.find(kListening);
    const auto end = text.find('\n', start == std::string::npos ? 0 : start);
    if (start != std::string::npos && end != std::string::npos) {
      return text.substr(start + kListening.size(), end - start - kListening.size());
    }
  }
  return {};
}

}  // namespace

Checked<EmbeddedRegistry> EmbeddedRegistry::start(const std::vector<std::string>& options) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0)
    return Refusal{fmt::format("cannot make a pipe: {}", std::strerror(errno))};
  std::vector<std::string> arguments{"plimsoll", "serve", "--listen", "127.0.0.1:0", "--end-with-parent"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  // Ctrl-C goes to the whole terminal group: the registry must outlive the clean-up.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const int error = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return Refusal{fmt::format("cannot start the embedded registry: {}", std::strerror(error))};
  }
  EmbeddedRegistry registry(process);
  registry.url_ = read_url(pipe_ends[0]);
  close(pipe_ends[0]);
  if (registry.url_.empty())
    return Refusal{"the embedded registry did not start: try plimsoll serve by itself"};
  return registry;
}

EmbeddedRegistry::EmbeddedRegistry(EmbeddedRegistry&& other) noexcept
    : process_(std::exchange(other.process_, 0)), url_(std::move(other.url_)) {}

EmbeddedRegistry::~EmbeddedRegistry() {
  if (process_ <= 0) return;
  kill(process_, SIGTERM);
  for (int i = 0; i < 100; ++i) {
    if (waitpid(process_, nullptr, WNOHANG) != 0) return;
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
  }
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

}  // namespace plimsoll::cli
