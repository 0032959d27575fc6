#include "report/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace plimsoll::report {
namespace {

// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* raw() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Reads until the child closes its end. False where the deadline came first.
bool read_messages(int fd, Instant deadline, std::size_t limit, std::string& messages) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now()).count();
    if (left <= 0) return false;
    pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::min<long long>(left, 1'000'000)));
    if (ready <= 0) continue;
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    const auto room = limit - messages.size();
    messages.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
  }
}

}  // namespace

Checked<ProgramEnd> run_program(const std::vector<std::string>& arguments,
                                const std::filesystem::path& folder, Nanos timeout, std::size_t limit) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Refusal{fmt::format("{} can't be started: {}", arguments.front(), std::strerror(errno))};
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.raw(), 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.raw(), writing.fd(), 1);
  posix_spawn_file_actions_adddup2(actions.raw(), writing.fd(), 2);
  posix_spawn_file_actions_addchdir_np(actions.raw(), folder.c_str());

  std::vector<std::string> words = arguments;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, argv[0], actions.raw(), nullptr, argv.data(), environ);
  if (failure == ENOENT) return Refusal{fmt::format("{} is not on the PATH", arguments.front())};
  if (failure != 0)
    return Refusal{fmt::format("{} can't be started: {}", arguments.front(), std::strerror(failure))};
  writing.close();

  ProgramEnd end;
  const bool ended = read_messages(reading.fd(), now() + timeout, limit, end.messages);
  if (!ended) kill(child, SIGKILL);
  end.exit_code = wait_for(child);
  if (!ended)
    return Refusal{fmt::format("{} did not end within {:.3g} s", arguments.front(), seconds(timeout))};
  return end;
}

}  // namespace plimsoll::report
