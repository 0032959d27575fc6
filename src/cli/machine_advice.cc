#include "cli/machine_advice.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include "base/units.h"
#include "net/loop.h"

namespace plimsoll::cli {
namespace {

constexpr double kBusyShare = 0.25;    // of the cores
constexpr double kStolenShare = 0.01;  // of all time since the machine started
constexpr double kLittleMemory = 1U << 30U;
constexpr std::uint64_t kShortQueue = 1024;

Advice descriptors() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  constexpr rlim_t kEnough = 4096;
  return {"descriptors", fmt::format("{} (at most {})", files.rlim_cur, files.rlim_max),
          files.rlim_max < kEnough ? "too few for a thousand connections and more: raise ulimit -n" : ""};
}

Advice local_ports(const stats::Environment& machine) {
  const auto ports = machine.limits.find("ports");
  return {"local ports", ports == machine.limits.end() ? "unknown" : ports->second,
          "without keep-alive each closed connection holds one for a minute: use --source for more"};
}

Advice accept_queue() {
  std::uint64_t longest = 0;
  std::ifstream("/proc/sys/net/core/somaxconn") >> longest;
  if (longest == 0) return {"accept queue", "unknown", ""};
  return {"accept queue", fmt::format("{}", longest),
          longest < kShortQueue ? "a server here drops what comes at once beyond it: raise net.core.somaxconn"
                                : ""};
}

Advice congestion_control(const stats::Environment& machine) {
  return {
      "congestion control", machine.congestion_control,
      machine.congestion_control == "bbr" ? "paces loopback traffic: name another with --congestion" : ""};
}

Advice uring() {
  const auto loop = net::Loop::create(net::IoKind::uring);
  return {"io_uring", loop ? "available" : "refused",
          loop ? "" : loop.error().message + "; epoll serves in its place"};
}

Advice governor(const stats::Environment& machine) {
  const bool follows_load = machine.governor == "powersave" || machine.governor == "ondemand";
  return {"CPU governor", machine.governor.empty() ? "unknown" : machine.governor,
          follows_load ? "the clock follows the load: set performance for figures that repeat" : ""};
}

// What others take: as the system sees it, and as the hypervisor below it does.
Advice load(const stats::Environment& machine) {
  double average = 0;
  if (getloadavg(&average, 1) != 1) return {"load", "unknown", ""};
  const bool busy = average > kBusyShare * machine.cores;
  return {"load",
          fmt::format("{:.2f} on {} {}", average, machine.cores, machine.cores == 1 ? "core" : "cores"),
          busy ? "others use this machine: figures vary with what they do" : ""};
}

// Of /proc/stat: the share of time that the hypervisor gave to others.
std::optional<double> stolen_share() {
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  double total = 0;
  double steal = 0;
  constexpr int kSteal = 7;
  for (int i = 0; i <= kSteal; ++i) {
    double ticks = 0;
    if (!(stat >> ticks)) return std::nullopt;
    total += ticks;
    if (i == kSteal) steal = ticks;
  }
  return total > 0 ? std::optional(steal / total) : std::nullopt;
}

Advice stolen_time() {
  const auto share = stolen_share();
  return {"stolen time", share ? fmt::format("{:.1f}%", *share * 100) : "unknown",
          share.value_or(0) > kStolenShare
              ? "the hypervisor takes the cores away at times: repeat, and compare medians"
              : ""};
}

Advice cores(const stats::Environment& machine) {
  return {"cores", fmt::format("{}", machine.cores),
          machine.cores < 2 ? "generator and server share one core" : ""};
}

Advice memory(const stats::Environment& machine) {
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::string unit;
  double kibibytes = 0;
  while (info >> key >> kibibytes && key != "MemAvailable:") std::getline(info, unit);
  const double available = key == "MemAvailable:" ? kibibytes * 1024 : 0;
  return {"memory",
          available > 0
              ? fmt::format("{}, {} available", binary_size(static_cast<double>(machine.memory_bytes)),
                            binary_size(available))
              : binary_size(static_cast<double>(machine.memory_bytes)),
          available > 0 && available < kLittleMemory ? "a server here reads from its disks what does not fit"
                                                     : ""};
}

}  // namespace

std::vector<Advice> examine_machine(const stats::Environment& machine) {
  return {descriptors(), local_ports(machine), accept_queue(), congestion_control(machine),
          uring(),       governor(machine),    cores(machine), load(machine),
          stolen_time(), memory(machine)};
}

}  // namespace plimsoll::cli
