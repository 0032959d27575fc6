// One engine thread of a run: its loop, its recorder, its workers, through all phases.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/gate.h"
#include "load/pacer.h"
#include "load/plan.h"
#include "load/samples.h"
#include "load/stop.h"
#include "load/workload.h"
#include "net/loop.h"
#include "net/scope.h"
#include "stats/recorder.h"
#include "stats/thread_usage.h"

namespace plimsoll::load {

// What open loop adds to the figures of a thread.
struct OpenLoopCounts {
  std::uint64_t offered = 0;
  std::uint64_t sent = 0;
  std::uint64_t backlog_max = 0;
  Nanos backlog_age_max{};
};

class Engine {
 public:
  Engine(const Plan& plan, Workload& workload, Gate& gate, StopSignal& stop, int thread);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // The whole life of the thread. Returns when the test is over for all threads.
  void run();

  const stats::Recorder& recorder() const { return recorder_; }
  const OpenLoopCounts& open_loop() const { return open_loop_; }
  // Of this thread, over the measure phase.
  const stats::ThreadUsage& usage() const { return usage_; }
  std::string_view io() const { return io_; }
  // The raw rows of the measure phase, where the plan asks for them.
  SampleFile& samples() { return samples_; }

 private:
  struct Member;  // a worker: its session, and its place in the open loop's list of the idle
  class AbortTimer;
  class PublishTimer;

  net::Task<void> main();
  net::Task<void> set_up();
  net::Task<void> set_up_one(Member& member);
  net::Task<void> phase(Instant start, Admission& admission, bool ramped);
  net::Task<void> work_closed(Member& member, Admission& admission, Nanos delay);
  net::Task<void> dispatch(Instant start, Admission& admission);
  net::Task<void> work_open(Member& member);
  net::Task<Member*> available_member(net::TaskScope& workers, Admission& admission);
  net::Task<void> operate(Member& member, Instant due, std::uint64_t sequence);
  net::Task<void> clean_up();
  Member& add_member();
  // The number of this thread's n-th worker, over all threads: groups go round robin.
  int worker_index(std::size_t n) const;
  void on_wake();
  void abort_in_flight();

  const Plan& plan_;
  Workload& workload_;
  Gate& gate_;
  StopSignal& stop_;
  int thread_;
  std::unique_ptr<net::Loop> loop_;
  stats::Recorder recorder_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Member*> idle_;
  net::Event member_idle_;
  std::unique_ptr<AbortTimer> abort_timer_;
  bool aborting_ = false;
  bool no_more_jobs_ = false;
  OpenLoopCounts open_loop_;
  stats::ThreadUsage usage_;
  SampleFile samples_;
  Instant measure_start_{};
  std::string_view io_;
};

}  // namespace plimsoll::load
