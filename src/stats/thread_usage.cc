#include "stats/thread_usage.h"

#include <algorithm>
#include <ctime>
#include <fstream>

namespace plimsoll::stats {
namespace {

constexpr double kBoundShare = 0.9;

// A phase of a few time slices says nothing: the slices before and behind it weigh more than what is inside.
constexpr Nanos kShortest = std::chrono::milliseconds(50);

}  // namespace

ThreadUsage ThreadUsage::now() {
  ThreadUsage usage;
  timespec cpu{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
    usage.cpu = Nanos(cpu.tv_sec * 1'000'000'000LL + cpu.tv_nsec);
  std::ifstream schedstat(
      "/proc/thread-self/schedstat");  // "<ns on a core> <ns waiting for one> <time slices>"
  std::int64_t on_core = 0;
  std::int64_t waiting = 0;
  if (schedstat >> on_core >> waiting) usage.run_delay = Nanos(waiting);
  return usage;
}

void add_usage(Checks& checks, const ThreadUsage& used, Nanos wall) {
  if (wall < kShortest) return;
  const double cpu = seconds(used.cpu) / seconds(wall);
  const double delay = seconds(used.run_delay) / seconds(wall);
  checks.client_cpu = std::max(checks.client_cpu, cpu);
  checks.run_delay_share = std::max(checks.run_delay_share, delay);
  if (cpu + delay >= kBoundShare) checks.client_bound = true;
}

}  // namespace plimsoll::stats
