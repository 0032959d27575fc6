#include "cli/serve_command.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/units.h"
#include "cli/options.h"
#include "server/service.h"

namespace plimsoll::cli {
namespace {

// Connections and open blobs need descriptors: as many as this user may have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// A new directory below the system's one for temporary files, which goes with this object.
class TemporaryRoot {
 public:
  static Checked<TemporaryRoot> make() {
    std::error_code error;
    std::string pattern = std::filesystem::temp_directory_path(error) / "plimsoll-serve-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) return TemporaryRoot(std::move(pattern));
    return Refusal{fmt::format("--temporary: cannot make {}: {}", pattern, std::strerror(errno))};
  }
  TemporaryRoot(TemporaryRoot&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryRoot& operator=(TemporaryRoot&&) = delete;
  TemporaryRoot(const TemporaryRoot&) = delete;
  TemporaryRoot& operator=(const TemporaryRoot&) = delete;
  ~TemporaryRoot() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryRoot(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class ServeCommand final : public Command {
 public:
  void declare(CLI::App& app) override;
  Exit run(const std::string& command_line) override;

 private:
  Checked<void> complete();

  server::ServiceOptions options_;
  std::vector<std::string> listen_;
  std::vector<std::string> files_;
  std::vector<std::string> sync_from_;
  std::string memory_;
  int threads_ = 1;
  Nanos drain_ = std::chrono::seconds(10);
  bool quiet_ = false;
  bool end_with_parent_ = false;
  bool temporary_ = false;
  bool http1_ = false;
};

void ServeCommand::declare(CLI::App& app) {
  auto& limits = options_.server.limits;
  app.add_option("--listen", listen_,
                 "Where to listen: ADDR:PORT, [V6]:PORT or PORT (loopback); 0 picks a port; repeatable")
      ->type_name("ADDR:PORT");
  auto* root =
      app.add_option("--root", options_.root, "Keep everything below this directory")->type_name("DIR");
  auto* memory = app.add_option("--memory", memory_,
                                "Keep everything in memory, at most so much (half of what is available)")
                     ->type_name("LIMIT")
                     ->expected(0, 1);
  memory->excludes(root);
  app.add_flag("--temporary", temporary_, "Keep everything in a directory that is removed at the end")
      ->excludes(root)
      ->excludes(memory);
  app.add_flag("--fsync", options_.fsync, "Acknowledge only what a power loss cannot take (with --root)")
      ->needs(root);
  add_duration(app, "--upload-expiry", options_.upload_expiry,
               "Drop uploads that nobody went on with for so long");
  app.add_flag("--end-with-parent", end_with_parent_, "End when the process that started this one ends");
  app.add_flag("--read-only", options_.registry.read_only, "Refuse whatever would change something");
  app.add_option("--sync-from", sync_from_,
                 "Copy manifests that are asked for, with all they refer to, from this registry; "
                 "URL[,prefix=NAME][,fresh=DURATION][,timeout=DURATION][,cacert=FILE][,insecure]"
                 "[,auth=USER:PASSWORD]; repeatable")
      ->type_name("URL[,...]");
  app.add_option("--static", files_, "Serve the files below DIR under PATH; repeatable")
      ->type_name("PATH=DIR");
  app.add_option("--htpasswd", options_.htpasswd, "Let in who is in this file (bcrypt)")->type_name("FILE");
  app.add_flag("--token-auth", options_.token_auth, "Ask for Bearer tokens, given out at /token");
  add_duration(app, "--token-lifetime", options_.token_lifetime, "How long a token is good");
  auto* cert =
      app.add_option("--tls-cert", options_.server.tls_certificate, "Speak TLS with this certificate chain")
          ->type_name("FILE");
  auto* key = app.add_option("--tls-key", options_.server.tls_key, "Its key")->type_name("FILE");
  cert->needs(key);
  key->needs(cert);
  app.add_flag("--http1", http1_, "Speak HTTP/1.1 and nothing else");
  app.add_option("--congestion", options_.server.congestion, "Congestion control of the connections")
      ->type_name("NAME");
  add_count(app, "--threads", threads_, 1, "Threads, each with its own loop");
  add_io(app, options_.server.io);
  app.add_option("--access-log", options_.access_log, "Write a line a request; - is stdout")
      ->type_name("FILE");
  app.add_flag("--access-log-json", options_.access_log_json, "In JSON instead of the combined format");
  app.add_option("--fault", options_.faults, "Misbehave on cue: 'KEY=VALUE; ...', or @FILE; repeatable")
      ->type_name("SCRIPT");
  app.add_option("--seed", options_.fault_seed, "Decides which requests a share of faults hits");
  app.add_option("--warning", options_.registry.warning, "Send this Warning with every answer")
      ->type_name("TEXT");
  add_size(app, "--max-body", limits.max_body, "The largest body taken");
  add_duration(app, "--idle-timeout", limits.idle, "End connections that are idle for so long");
  add_duration(app, "--timeout", limits.progress, "End requests and answers that stand still for so long");
  add_duration(app, "--drain", drain_, "How long answers in flight may take at the end");
  app.add_flag("--quiet", quiet_, "Print nothing but errors");
}

Checked<void> ServeCommand::complete() {
  if (listen_.empty()) listen_.emplace_back("5000");
  for (const auto& text : listen_) {
    auto address = net::parse_listen(text);
    if (!address) return Refusal{fmt::format("--listen {}: {}", text, address.error().message)};
    options_.server.listen.push_back(*address);
  }
  for (const auto& text : files_) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || !text.starts_with('/')) {
      return Refusal{fmt::format("--static: '{}' is not PATH=DIR, where PATH begins with a slash", text)};
    }
    options_.files.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& text : sync_from_) {
    auto origin = server::parse_sync_origin(text);
    if (!origin) return Refusal{fmt::format("--sync-from: {}", origin.error().message)};
    options_.sync_from.push_back(std::move(*origin));
  }
  options_.sync_report = [](std::string_view problem) {
    fmt::print(stderr, "plimsoll: sync: {}\n", problem);
  };
  if (!memory_.empty()) {
    const auto limit = parse_size(memory_);
    if (!limit) return Refusal{fmt::format("--memory: {}", limit.error().message)};
    options_.memory_limit = *limit;
  }
  options_.server.threads = static_cast<unsigned>(threads_);
  options_.server.limits.http2 = !http1_;
  return {};
}

Exit ServeCommand::run(const std::string& /*command_line*/) {
  if (end_with_parent_) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // It may have died before that.
    if (getppid() == 1) return Exit::good;
  }
  if (auto completed = complete(); !completed) return refuse(completed.error().message);
  raise_descriptor_limit();
  // Blocked here, so that every thread that starts now leaves them to sigwait below.
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  // Outlives the service.
  std::optional<TemporaryRoot> root;
  if (temporary_) {
    auto made = TemporaryRoot::make();
    if (!made) return refuse(made.error().message);
    options_.root = root.emplace(std::move(*made)).path();
  }
  auto service = server::Service::start(options_);
  if (!service) return refuse(service.error().message);
  if (!quiet_) {
    const auto& running = (*service)->server();
    for (const auto& address : running.addresses()) {
      fmt::print("listening on {}://{}\n", running.secure() ? "https" : "http", address.to_string());
    }
    std::fflush(stdout);
  }
  int signal = 0;
  sigwait(&ending, &signal);
  (*service)->drain(drain_);
  return Exit::good;
}

}  // namespace

std::unique_ptr<Command> make_serve_command() {
  return std::make_unique<ServeCommand>();
}

}  // namespace plimsoll::cli
