#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "oci/credentials.h"
#include "oci/json.h"

namespace plimsoll::oci {
namespace {

constexpr std::size_t kMaxReply = 1U << 20U;

// A name as it stands behind "docker-credential-": nothing that could name another folder.
bool is_helper_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (value_ >= 0) ::close(value_);
    value_ = -1;
  }
  int value() const { return value_; }

 private:
  int value_ = -1;
};

// The child's end of both channels is one socket: writing to a helper that doesn't read must not raise SIGPIPE.
struct Spawned {
  pid_t process = -1;
  int error = 0;
};

Spawned spawn_helper(const std::string& program, int channel) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channel, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  std::string name = program;
  std::string verb = "get";
  std::array<char*, 3> arguments = {name.data(), verb.data(), nullptr};
  Spawned spawned;
  spawned.error =
      posix_spawnp(&spawned.process, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return spawned;
}

// Milliseconds until `end`, at least 0, for poll().
int milliseconds_until(Instant end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// Everything the helper says until it closes its output; false when time or size runs out.
bool read_reply(int channel, Instant end, std::string& out) {
  std::array<char, 4096> buffer;
  for (;;) {
    pollfd ready{channel, POLLIN, 0};
    const int events = poll(&ready, 1, milliseconds_until(end));
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0 && now() >= end) return false;
    if (events <= 0) continue;
    const auto size = recv(channel, buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    out.append(buffer.data(), static_cast<std::size_t>(size));
    if (out.size() > kMaxReply) return false;
  }
}

// The exit status, or -1 after the helper had to be killed.
int wait_for(pid_t process, Instant end) {
  int status = 0;
  for (;;) {
    const pid_t done = waitpid(process, &status, WNOHANG);
    if (done == process) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if ((done < 0 && errno != EINTR) || now() >= end) break;
    poll(nullptr, 0, 2);
  }
  kill(process, SIGKILL);
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

Checked<std::optional<Credentials>> read_credentials(const std::string& program, std::string_view reply) {
  const auto parsed = parse_json(reply);
  const std::string user = parsed ? text_member(*parsed, "Username") : std::string();
  const std::string secret = parsed ? text_member(*parsed, "Secret") : std::string();
  if (!parsed || !parsed->is_object())
    return Refusal{fmt::format("{} answered with no JSON object", program)};
  if (user.empty() && secret.empty()) return std::optional<Credentials>();
  // docker/docker-credential-helpers: the user name <token> marks an identity token.
  if (user == "<token>") return std::optional(Credentials{{}, {}, secret});
  return std::optional(Credentials{user, secret, {}});
}

}  // namespace

Checked<std::optional<Credentials>> ask_credential_helper(std::string_view helper, std::string_view host,
                                                          Nanos timeout) {
  if (!is_helper_name(helper)) return Refusal{fmt::format("'{}' is no name of a credential helper", helper)};
  const std::string program = fmt::format("docker-credential-{}", helper);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Refusal{fmt::format("{} cannot be started: {}", program, std::strerror(errno))};
  }
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const Spawned spawned = spawn_helper(program, theirs.value());
  theirs.close();
  if (spawned.error != 0)
    return Refusal{fmt::format("{} cannot be started: {}", program, std::strerror(spawned.error))};

  const Instant end = now() + timeout;
  const std::string question = std::string(host) + "\n";
  // A helper may answer without reading: that this cannot be sent any more is no failure of its own.
  static_cast<void>(send(ours.value(), question.data(), question.size(), MSG_NOSIGNAL));
  shutdown(ours.value(), SHUT_WR);
  std::string reply;
  const bool complete = read_reply(ours.value(), end, reply);
  const int status = wait_for(spawned.process, complete ? end : now());
  if (!complete || status < 0) return Refusal{fmt::format("{} did not answer in time", program)};
  if (status != 0) {
    // The helpers' protocol says so in words, on their standard output.
    if (reply.find("not found") != std::string::npos) return std::optional<Credentials>();
    return Refusal{fmt::format("{} failed with exit code {}", program, status)};
  }
  return read_credentials(program, reply);
}

}  // namespace plimsoll::oci
