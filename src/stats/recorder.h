// What one thread measured of one test: the engine writes, nothing is shared, all are merged after.
//
//   Recorder recorder;                                   // per thread and test, before the run
//   const StepId put = recorder.step_id("blob PUT");     // names once, small numbers after
//   recorder.reset(measure_start);                       // after warm-up; the same instant for all threads
//   recorder.start(sent);                                // an operation begins
//   recorder.step(put, {.status = 201, .sent = ..., .first_byte = ..., .done = ..., .bytes = ...});
//   recorder.finish({.due = ..., .sent = ..., .done = ..., .error = {}, .last_status = 201});
//   recorder.end(measure_end);                           // later completions are counted, not rated
//   total.merge(recorder); total.fill(test, seconds(measure_end - measure_start));
//
// Owned by one thread at a time. No locks; after the names are registered no operation allocates (a second may, once:
// series.h). Latency counts from the due time, service time from the actual send. Good operations and failed ones
// have distributions of their own; what the end of the run cut off is aborted, with its age, and is in neither.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "stats/distribution.h"
#include "stats/record.h"
#include "stats/series.h"
#include "stats/status_counts.h"

namespace plimsoll::stats {

enum class StepId : std::uint16_t {};  // a kind of HTTP request, within one recorder
enum class PartId : std::uint16_t {};  // a part of a test that is reported apart ("cold", "warm")
enum class MixId : std::uint16_t {};   // an ingredient of a mix ("1MB", "Pull")

struct OperationOutcome {
  Instant due;  // when it was to start: on the schedule in open loop, when its worker was free in closed loop
  Instant sent;  // when it did start
  Instant done;  // its last byte, or its failure; a timeout is done at its limit
  std::optional<Error> error;
  int last_status = 0;  // of its last answer; 0 where there was none
  std::optional<PartId> part;
};

struct StepOutcome {
  int status = 0;                     // 0 where no answer came
  Instant sent;                       // its first byte
  std::optional<Instant> first_byte;  // of the answer
  Instant done;
  Bytes bytes;
};

// A look at a recorder in use, for live progress, by the thread that owns it.
struct LiveView {
  Operations operations;
  std::uint64_t in_progress = 0;
  Bytes bytes;
  SeriesPoint last_second;  // the last complete one (the last complete point, in a long run)
  double rate_per_s = 0;    // of completed operations in it
  double bytes_per_s = 0;
};

class Recorder {
 public:
  // The id of a name, the same one for the same name; a new name is added. Only before the run.
  StepId step_id(std::string_view name);
  PartId part_id(std::string_view name);
  MixId mix_id(std::string_view name);

  // Forgets everything but the names, the operations in progress and the connections that were opened before (they
  // are in use, and their cost was paid for this test); time 0 of the series is `measure_start`.
  void reset(Instant measure_start);
  // When the measure phase is over; may be said ahead. What completes from here on (the drain) is counted and timed, but is in neither the
  // rate nor the series.
  void end(Instant measure_end);

  // One operation is started, then finished or aborted.
  void start(Instant sent);
  void finish(const OperationOutcome& outcome);
  void abort(Instant due, Instant sent, Instant at);  // cut off by the end of the run

  void step(StepId id, const StepOutcome& outcome);
  void mix(MixId id, std::uint64_t n = 1) { mix_[static_cast<std::size_t>(id)].count += n; }
  // Bytes that belong to no step.
  void bytes(const Bytes& bytes, Instant from, Instant to);

  // finish() counts the error of an operation; the sample that explains it is asked for and given once a kind,
  // before or after:  if (recorder.wants_sample(kind)) recorder.sample(kind, {...});
  bool wants_sample(ErrorKind kind) const { return !errors_[static_cast<std::size_t>(kind)].sampled; }
  bool wants_sample(NoteKind kind) const { return !notes_[static_cast<std::size_t>(kind)].sampled; }
  void sample(ErrorKind kind, Sample sample) {
    errors_[static_cast<std::size_t>(kind)].explain(std::move(sample));
  }
  void sample(NoteKind kind, Sample sample) {
    notes_[static_cast<std::size_t>(kind)].explain(std::move(sample));
  }
  // What strayed and was survived.
  void note(NoteKind kind) { ++notes_[static_cast<std::size_t>(kind)].count; }

  // `reconnected`: in place of one that the peer closed. TLS time where there was a handshake.
  void connection_opened(Nanos connect, std::optional<Nanos> tls, bool reconnected);
  void connection_reused() { ++reused_; }
  // Open loop: from due time to actual start, of an operation that could start (a connection was free).
  void schedule_lag(Nanos lag) { lag_.record(lag); }

  // A time of a part that belongs to no operation (a warm pull after the measure phase).
  void part(PartId id, Nanos latency) { parts_[static_cast<std::size_t>(id)].latency.record(latency); }

  // Adds another thread's recorder of the same test. Steps, parts and mix are matched by name.
  void merge(const Recorder& other);

  // Writes all of it into a record: operations, rate_per_s = completed (ok + failed) operations within the measure
  // phase over its length, bytes, summaries, statuses, errors, notes, steps, mix, parts, connections, histograms
  // ("latency", "service", "failed_latency"), series, and of the checks the concurrency reached, the error of
  // Little's law and the schedule's lag. The rest of `test` is left alone.
  void fill(TestRecord& test, double measure_seconds) const;

  LiveView live(Instant now) const;
  void add_last_second(Instant now, Histogram& latencies) const { series_.add_last_complete(now, latencies); }
  const Distribution& latency() const { return latency_; }
  const StatusCounts& statuses() const { return statuses_; }
  std::uint64_t errors(ErrorKind kind) const { return errors_[static_cast<std::size_t>(kind)].count; }
  std::uint64_t notes(NoteKind kind) const { return notes_[static_cast<std::size_t>(kind)].count; }
  const Operations& operations() const { return operations_; }

 private:
  struct Occurrences {
    std::uint64_t count = 0;
    bool sampled = false;
    Sample sample;
    Error first;  // explains it where nobody gave a sample

    void explain(Sample given);
    void merge(const Occurrences& other);
  };
  struct Step {
    std::string name;
    std::uint64_t count = 0;
    StatusCounts statuses;
    Distribution latency;
    Distribution ttfb;
    Bytes bytes;
  };
  struct Part {
    std::string name;
    Distribution latency;
  };
  struct Ingredient {
    std::string name;
    std::uint64_t count = 0;
  };

  // Of good operations that began when they were due service time is latency: recorded once until one did not.
  const Distribution& service() const { return service_apart_ ? service_ : latency_; }
  void part_service();
  void integrate(Instant until);
  void left(Instant at);
  void add_time_in_progress(Instant from, Instant to);
  void fill_counts(TestRecord& test) const;
  void fill_steps(TestRecord& test) const;
  void fill_checks(Checks& checks, double measure_seconds) const;

  Instant start_{};
  Instant end_ = kNever;
  Operations operations_;
  std::uint64_t in_progress_ = 0;
  std::uint64_t drained_ = 0;    // completed after end_
  double in_progress_area_ = 0;  // operations x nanoseconds of the measure phase
  Instant integrated_{};
  Distribution latency_;
  Distribution service_;  // in use while service_apart_
  bool service_apart_ = false;
  Distribution failed_;
  Distribution aborted_age_;
  Distribution lag_;
  double time_in_progress_ = 0;  // nanoseconds of the measure phase, of all operations that ended
  StatusCounts statuses_;
  std::array<Occurrences, kErrorKinds> errors_;
  std::array<Occurrences, kNoteKinds> notes_;
  std::vector<Step> steps_;
  std::vector<Part> parts_;
  std::vector<Ingredient> mix_;
  std::uint64_t opened_ = 0;
  std::uint64_t reused_ = 0;
  std::uint64_t reconnected_ = 0;
  Distribution connect_;
  Distribution tls_;
  Bytes bytes_;
  Series series_;
};

}  // namespace plimsoll::stats
