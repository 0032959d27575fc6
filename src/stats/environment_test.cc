#include "stats/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "stats/record_json.h"
#include "stats/thread_usage.h"

namespace plimsoll::stats {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A folder that stands for another machine's root, removed at the end.
class Machine {
 public:
  Machine() {
    std::string name = (fs::temp_directory_path() / "machine-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Machine() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void file(const fs::path& path, std::string_view text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void link(const fs::path& path, const fs::path& target) {
    fs::create_directories((root_ / path).parent_path());
    fs::create_symlink(target, root_ / path);
  }
  Environment describe() const {
    Environment e;
    describe_files(e, root_);
    return e;
  }

 private:
  fs::path root_;
};

TEST(Environment, OfNothingIsEmpty) {
  const Environment e = Machine().describe();
  EXPECT_EQ(to_json(e), to_json(Environment()));
}

TEST(Environment, ReadsAServer) {
  Machine machine;
  machine.file("sys/class/dmi/id/sys_vendor", "HP\n");
  machine.file("sys/class/dmi/id/product_name", "ProLiant DL380 Gen9\n");
  machine.file("etc/os-release", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 14.04.3 LTS\"\n");
  machine.file(
      "proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz\ncpu MHz\t\t: 1200.000\n"
      "physical id\t: 0\n\nprocessor\t: 1\nmodel name\t: Intel\ncpu MHz\t\t: 2500.125\nphysical id\t: 1\n");
  machine.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  machine.file("proc/meminfo", "MemTotal:       263843844 kB\nMemFree: 1 kB\n");
  machine.file("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n");
  machine.file("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
  machine.file("sys/class/net/eth0/device/vendor", "0x8086\n");
  machine.file("sys/class/net/eth0/device/device", "0x1572\n");
  machine.file("sys/class/net/eth0/speed", "10000\n");
  machine.link("sys/class/net/eth0/device/driver", "../../../bus/pci/drivers/i40e");
  machine.file("sys/class/net/eth1/device/vendor", "");
  machine.file("sys/class/net/eth1/speed", "-1\n");
  machine.file("sys/class/net/lo/speed", "");
  const Environment e = machine.describe();
  EXPECT_EQ(e.vendor_model, "HP ProLiant DL380 Gen9");
  EXPECT_EQ(e.operating_system, "Ubuntu 14.04.3 LTS");
  EXPECT_EQ(e.cpu, "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz");
  EXPECT_EQ(e.processors, 2);
  EXPECT_EQ(e.frequency_mhz, 2500.125);
  EXPECT_EQ(e.governor, "powersave");
  EXPECT_EQ(e.memory_bytes, 263'843'844ULL * 1024);
  EXPECT_EQ(e.congestion_control, "cubic");
  EXPECT_EQ(e.limits.at("ports"), "32768-60999");
  ASSERT_EQ(e.network.size(), 2U);
  EXPECT_EQ(e.network[0].vendor_model, "i40e 8086:1572");
  EXPECT_EQ(e.network[0].speed, "10 Gb/s");
  EXPECT_EQ(e.network[1].speed, "");
}

TEST(Environment, TellsDisksApart) {
  Machine machine;
  const auto disk = [&](const char* name, const char* rotational, const char* vendor, const char* model) {
    const fs::path path = fs::path("sys/block") / name;
    machine.file(path / "size", "3750748848\n");
    machine.file(path / "queue/rotational", rotational);
    machine.file(path / "device/vendor", vendor);
    machine.file(path / "device/model", model);
  };
  disk("nvme0n1", "0\n", "", "Acme P5520\n");
  disk("sda", "1\n", "ATA     \n", "WDC WD40EFRX-68W\n");
  disk("sdb", "1\n", "QEMU\n", "QEMU HARDDISK\n");
  disk("vda", "1\n", "0x1af4\n", "");
  machine.file("sys/block/loop0/size", "1000\n");
  machine.file("sys/block/sr0/size", "0\n");
  const Environment e = machine.describe();
  ASSERT_EQ(e.disks.size(), 4U);
  EXPECT_EQ(e.disks[0].kind, "SSD");
  EXPECT_EQ(e.disks[0].bytes, 1'920'383'410'176U);
  EXPECT_EQ(e.disks[1].kind, "HDD");
  EXPECT_EQ(e.disks[1].vendor_model, "WDC WD40EFRX-68W");
  EXPECT_EQ(e.disks[2].kind, "virtual");
  EXPECT_EQ(e.disks[2].vendor_model, "QEMU HARDDISK");
  EXPECT_EQ(e.disks[3].kind, "virtual");
}

TEST(Environment, FindsTheTightestMemoryLimit) {
  Machine second;
  second.file("proc/self/cgroup", "0::/system.slice/run.scope\n");
  second.file("sys/fs/cgroup/system.slice/memory.max", "536870912\n");
  second.file("sys/fs/cgroup/system.slice/run.scope/memory.max", "max\n");
  EXPECT_EQ(second.describe().limits.at("memory"), "512 MiB");
  Machine first;
  first.file("proc/self/cgroup", "9:name=systemd:/\n4:memory:/docker/abc\n0::/\n");
  first.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");  // as a container sees its own
  EXPECT_EQ(first.describe().limits.at("memory"), "1.00 GiB");
  Machine none;
  none.file("proc/self/cgroup", "4:memory:/\n");
  none.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(none.describe().limits.contains("memory"));
}

TEST(Environment, KnowsThisMachine) {
  const Environment e = this_machine();
  EXPECT_FALSE(e.kernel.empty());
  EXPECT_FALSE(e.architecture.empty());
  EXPECT_GT(e.cores, 0);
  EXPECT_GT(e.memory_bytes, 0U);
  EXPECT_TRUE(e.limits.contains("descriptors"));
}

TEST(ThreadUsage, CountsThisThreadsWork) {
  const ThreadUsage before = ThreadUsage::now();
  const Instant begin = now();
  volatile std::uint64_t sum = 0;
  ThreadUsage used;
  while (used.cpu < 20ms && now() - begin < 10s) {
    for (int i = 0; i < 100'000; ++i) sum = sum + static_cast<std::uint64_t>(i);
    used = ThreadUsage::now() - before;
  }
  EXPECT_GE(used.cpu, 20ms);
  EXPECT_GE(used.run_delay, 0ns);
  EXPECT_LE(used.cpu, now() - begin + 10ms);
}

TEST(ThreadUsage, AThreadWithoutTimeLeftIsTheLimit) {
  Checks checks;
  add_usage(checks, {300ms, 100ms}, 1s);
  EXPECT_DOUBLE_EQ(checks.client_cpu, 0.3);
  EXPECT_FALSE(checks.client_bound);
  add_usage(checks, {500ms, 450ms}, 1s);
  EXPECT_DOUBLE_EQ(checks.client_cpu, 0.5);
  EXPECT_DOUBLE_EQ(checks.run_delay_share, 0.45);
  EXPECT_TRUE(checks.client_bound);
  add_usage(checks, {1ms, 1ms}, 1s);
  EXPECT_DOUBLE_EQ(checks.client_cpu, 0.5);
  add_usage(checks, {1ms, 1ms}, 0s);
  Checks short_phase;
  add_usage(short_phase, {49ms, 500ms}, 49ms);
  EXPECT_FALSE(short_phase.client_bound);
  EXPECT_EQ(short_phase.run_delay_share, 0);
}

}  // namespace
}  // namespace plimsoll::stats
