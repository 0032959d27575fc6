// What load drives without knowing it: a workload makes one session a worker, and a session runs operations.
//
// A new workload implements these two and nothing else; threads, phases, pacing and figures are the run's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/task.h"
#include "stats/recorder.h"

namespace plimsoll::load {

// What a session stands on. All of it is its own thread's.
struct Worker {
  net::Loop& loop;
  stats::Recorder& recorder;
  int index;  // 0 to workers - 1, over all threads
  int thread;
  std::uint64_t seed;  // of this worker alone
};

// How an operation ended.
struct Outcome {
  std::optional<Error> error;
  int last_status = 0;                // of its last answer; 0 where there was none
  std::optional<stats::PartId> part;  // the part of the test that it belongs to
  Instant done{};                     // its last byte; the zero instant: when the coroutine ended
  // For raw samples, where the workload knows them: of its first request, and bytes received by all.
  Instant first_byte{};
  Nanos connect{};
  std::uint64_t bytes = 0;
};

class Session {
 public:
  virtual ~Session() = default;
  // Before anything is measured: seeds the target, opens the connection. A failure ends the run of this test.
  virtual net::Task<Checked<void>> set_up() { co_return Checked<void>{}; }
  // One operation. Steps, bytes and error samples go to the worker's recorder; the operation itself is recorded by
  // the run. `sequence` counts all operations of the test, over all workers, from 0.
  virtual net::Task<Outcome> operate(std::uint64_t sequence) = 0;
  // After everything; whatever happened before. Removes what this session made.
  virtual net::Task<void> clean_up() { co_return; }
};

class Workload {
 public:
  virtual ~Workload() = default;
  // Names of steps, parts and mixes, registered on each thread's recorder before the run.
  virtual void prepare(stats::Recorder& recorder) = 0;
  // Called on the worker's thread.
  virtual std::unique_ptr<Session> session(const Worker& worker) = 0;
};

}  // namespace plimsoll::load
