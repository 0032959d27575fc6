#include "stats/environment.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <memory>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace plimsoll::stats {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestFile = 4 << 20;
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;  // cgroups write their largest number for "none"

// Empty where there is no such file. Files of /proc have no size: read until the end.
std::string file_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  char piece[4096];
  while (in && text.size() < kLongestFile) {
    in.read(piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

// Its first line without white space (or a NUL, as device trees have it) around.
std::string line_of(const fs::path& path) {
  const std::string text = file_text(path);
  const std::string_view line =
      std::string_view(text).substr(0, text.find_first_of(std::string_view("\n\0", 2)));
  return std::string(trim(line));
}

std::optional<std::uint64_t> number_of(const fs::path& path) {
  return parse_u64(line_of(path));
}

// The value of "key: value" or key="value" in the lines of a text, at its first appearance.
std::string value_of(std::string_view text, std::string_view key, char separator) {
  for (const std::string_view line : split(text, '\n')) {
    const auto at = line.find(separator);
    if (at == std::string_view::npos || trim(line.substr(0, at)) != key) continue;
    std::string_view value = trim(line.substr(at + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string joined(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty() || b.starts_with(a)) return std::string(b.empty() ? a : b);
  return fmt::format("{} {}", a, b);
}

void describe_model(Environment& e, const fs::path& root) {
  const fs::path dmi = root / "sys/class/dmi/id";
  e.vendor_model = joined(line_of(dmi / "sys_vendor"), line_of(dmi / "product_name"));
  if (e.vendor_model.empty()) e.vendor_model = line_of(root / "proc/device-tree/model");
  std::string release = file_text(root / "etc/os-release");
  if (release.empty()) release = file_text(root / "usr/lib/os-release");
  e.operating_system = value_of(release, "PRETTY_NAME", '=');
  e.congestion_control = line_of(root / "proc/sys/net/ipv4/tcp_congestion_control");
}

void describe_cpu(Environment& e, const fs::path& root) {
  const std::string info = file_text(root / "proc/cpuinfo");
  std::set<std::string> sockets;
  for (const std::string_view line : split(info, '\n')) {
    if (line.starts_with("physical id")) sockets.emplace(line);
    if (!line.starts_with("cpu MHz")) continue;
    const auto mhz = parse_double(trim(line.substr(line.find(':') + 1)));
    e.frequency_mhz = std::max(e.frequency_mhz, mhz.value_or(0));
  }
  e.cpu = value_of(info, "model name", ':');
  if (e.cpu.empty()) e.cpu = value_of(info, "Model", ':');
  e.processors = info.empty() ? 0 : std::max(1, static_cast<int>(sockets.size()));
  const fs::path policy = root / "sys/devices/system/cpu/cpu0/cpufreq";
  e.governor = line_of(policy / "scaling_governor");
  if (e.frequency_mhz == 0) {
    e.frequency_mhz =
        static_cast<double>(number_of(policy / "cpuinfo_max_freq").value_or(0)) / 1000;  // from kHz
  }
}

std::string speed_text(const fs::path& interface) {
  const auto megabits = number_of(interface / "speed");  // "-1" or unreadable where there is none
  if (!megabits || *megabits == 0) return {};
  if (*megabits % 1000 == 0) return fmt::format("{} Gb/s", *megabits / 1000);
  return *megabits > 1000 ? fmt::format("{} Gb/s", static_cast<double>(*megabits) / 1000)
                          : fmt::format("{} Mb/s", *megabits);
}

std::string driver_text(const fs::path& device) {
  std::error_code failed;
  const fs::path driver = fs::read_symlink(device / "driver", failed).filename();
  const std::string vendor = line_of(device / "vendor");
  const std::string model = line_of(device / "device");
  const bool pci = vendor.starts_with("0x") && model.starts_with("0x");
  return joined(driver.string(), pci ? fmt::format("{}:{}", vendor.substr(2), model.substr(2)) : "");
}

// Those with hardware (or a hypervisor's) behind them; addresses come from the system.
void describe_network(Environment& e, const fs::path& root) {
  for (const fs::path& path : entries(root / "sys/class/net")) {
    std::error_code failed;
    if (!fs::exists(path / "device", failed)) continue;
    e.network.push_back({path.filename().string(), driver_text(path / "device"), speed_text(path), {}});
  }
}

std::string disk_kind(const std::string& name, const std::string& vendor_model, const fs::path& path) {
  const std::string words = to_lower(vendor_model);
  for (const char* hypervisor : {"virtual", "qemu", "vbox", "vmware", "msft", "google", "elastic block"}) {
    if (words.find(hypervisor) != std::string::npos) return "virtual";
  }
  if (name.starts_with("vd") || name.starts_with("xvd")) return "virtual";
  const std::string rotational = line_of(path / "queue/rotational");
  return rotational == "1" ? "HDD" : rotational == "0" ? "SSD" : "";
}

void describe_disks(Environment& e, const fs::path& root) {
  constexpr std::uint64_t kSector = 512;  // of sysfs, whatever the disk's own
  for (const fs::path& path : entries(root / "sys/block")) {
    const std::uint64_t sectors = number_of(path / "size").value_or(0);
    std::error_code failed;
    if (sectors == 0 || !fs::exists(path / "device", failed)) continue;
    const std::string name = path.filename().string();
    std::string vendor = line_of(path / "device/vendor");
    if (vendor.starts_with("0x") || vendor == "ATA")
      vendor.clear();  // an id, or the bus instead of the maker
    const std::string vendor_model = joined(vendor, line_of(path / "device/model"));
    e.disks.push_back({name, vendor_model, disk_kind(name, vendor_model, path), sectors * kSector});
  }
}

// The tightest limit of a cgroup and those around it.
std::uint64_t tightest(fs::path base, std::string_view group, const char* file) {
  std::uint64_t limit = number_of(base / file).value_or(kNoLimit);
  for (const std::string_view name : split(group, '/')) {
    if (name.empty() || name == "..") continue;
    base /= name;
    limit = std::min(limit, number_of(base / file).value_or(kNoLimit));
  }
  return limit;
}

void describe_limits(Environment& e, const fs::path& root) {
  const std::string memory = value_of(file_text(root / "proc/meminfo"), "MemTotal", ':');
  e.memory_bytes = parse_u64(trim(std::string_view(memory).substr(0, memory.find(' ')))).value_or(0) * 1024;

  const std::string ports = line_of(root / "proc/sys/net/ipv4/ip_local_port_range");
  if (const auto gap = ports.find_first_of(" \t"); gap != std::string::npos) {
    e.limits["ports"] = fmt::format("{}-{}", ports.substr(0, gap), trim(std::string_view(ports).substr(gap)));
  }
  std::uint64_t limit = kNoLimit;
  const std::string cgroups = file_text(root / "proc/self/cgroup");  // "0::/path" or "4:memory:/path" a line
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() != 3) continue;
    const fs::path mount = root / "sys/fs/cgroup";
    if (parts[1].empty()) limit = std::min(limit, tightest(mount, parts[2], "memory.max"));
    if (parts[1] == "memory")
      limit = std::min(limit, tightest(mount / "memory", parts[2], "memory.limit_in_bytes"));
  }
  if (limit < kNoLimit) e.limits["memory"] = binary_size(static_cast<double>(limit));
}

std::string address_text(const ifaddrs& one) {
  char text[INET6_ADDRSTRLEN] = {};
  int prefix = 0;
  if (one.ifa_addr->sa_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(one.ifa_addr);
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    const auto* mask = reinterpret_cast<const sockaddr_in*>(one.ifa_netmask);
    if (mask != nullptr) prefix = std::popcount(mask->sin_addr.s_addr);
  } else {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(one.ifa_addr);
    inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text);
    const auto* mask = reinterpret_cast<const sockaddr_in6*>(one.ifa_netmask);
    for (int i = 0; mask != nullptr && i < 16; ++i) prefix += std::popcount(mask->sin6_addr.s6_addr[i]);
  }
  return fmt::format("{}/{}", text, prefix);
}

// Adds the addresses to the interfaces; one without hardware is listed too if it has an address (a container's).
void add_addresses(Environment& e) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6) continue;
    auto found = std::find_if(e.network.begin(), e.network.end(),
                              [&](const Interface& i) { return i.name == one->ifa_name; });
    if (found == e.network.end()) found = e.network.insert(found, Interface{one->ifa_name, {}, {}, {}});
    found->addresses.push_back(address_text(*one));
  }
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit);
}

}  // namespace

void describe_files(Environment& environment, const fs::path& root) {
  describe_model(environment, root);
  describe_cpu(environment, root);
  describe_network(environment, root);
  describe_disks(environment, root);
  describe_limits(environment, root);
}

Environment this_machine() {
  Environment e;
  describe_files(e, "/");
  utsname system{};
  if (uname(&system) == 0) {
    e.host = system.nodename;
    e.kernel = fmt::format("{} {}", system.sysname, system.release);
    e.architecture = system.machine;
  }
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) e.cores = CPU_COUNT(&cpus);
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    e.limits["descriptors"] =
        fmt::format("{} (hard {})", limit_text(descriptors.rlim_cur), limit_text(descriptors.rlim_max));
  }
  add_addresses(e);
  return e;
}

}  // namespace plimsoll::stats
