#include "load/engine.h"

#include <algorithm>
#include <utility>

namespace plimsoll::load {
namespace {

constexpr Nanos kPublishEvery = std::chrono::milliseconds(200);
// After Ctrl-C what is in flight may end by itself for this long.
constexpr Nanos kInterruptGrace = std::chrono::seconds(1);
// A dispatcher that is behind its schedule lets the loop turn after this many operations.
constexpr int kBurst = 64;

std::uint64_t worker_seed(std::uint64_t seed, int index) {
  std::uint64_t state = seed + static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15ULL;
  return splitmix64(state);
}

}  // namespace

struct Engine::Member {
  std::unique_ptr<Session> session;
  // Open loop: what the dispatcher gave, and the worker that waits for it.
  Instant due{};
  std::uint64_t sequence = 0;
  bool has_job = false;
  std::coroutine_handle<> waiting = nullptr;

  auto job() {
    struct Waiter {
      Member& member;
      bool await_ready() const noexcept { return member.has_job; }
      void await_suspend(std::coroutine_handle<> handle) noexcept { member.waiting = handle; }
      void await_resume() const noexcept {}
    };
    return Waiter{*this};
  }
  void wake() {
    if (waiting) std::exchange(waiting, nullptr).resume();
  }
};

class Engine::AbortTimer final : public net::Timer {
 public:
  explicit AbortTimer(Engine& engine) : engine_(engine) {}
  void arm(Instant due) { engine_.loop_->timers().arm(*this, due); }

 private:
  void expired() override { engine_.abort_in_flight(); }
  Engine& engine_;
};

class Engine::PublishTimer final : public net::Timer {
 public:
  explicit PublishTimer(Engine& engine) : engine_(engine) { arm(); }

 private:
  void arm() { engine_.loop_->timers().arm(*this, engine_.loop_->now() + kPublishEvery); }
  void expired() override {
    engine_.gate_.publish(engine_.thread_, engine_.recorder_, now());
    arm();
  }
  Engine& engine_;
};

Engine::Engine(const Plan& plan, Workload& workload, Gate& gate, StopSignal& stop, int thread)
    : plan_(plan), workload_(workload), gate_(gate), stop_(stop), thread_(thread) {
  workload_.prepare(recorder_);
}

Engine::~Engine() = default;

void Engine::run() {
  auto loop = net::Loop::create(plan_.io);
  if (!loop) {
    // The others wait at the barriers: they are passed all the same.
    gate_.fail(loop.error().message);
    if (plan_.ramp + plan_.warmup > Nanos{}) gate_.pass(Phase::warm_up);
    for (const Phase next : {Phase::measure, Phase::drain, Phase::clean_up, Phase::over}) gate_.pass(next);
    return;
  }
  loop_ = std::move(*loop);
  io_ = name(loop_->io());
  const LoopEnrolment enrolment(stop_, *loop_);
  abort_timer_ = std::make_unique<AbortTimer>(*this);
  loop_->set_on_wake([this] { on_wake(); });
  {
    const std::unique_ptr<PublishTimer> publishing =
        gate_.watched() ? std::make_unique<PublishTimer>(*this) : nullptr;
    loop_->run(main());
  }
  members_.clear();
  abort_timer_.reset();
  loop_.reset();
}

net::Task<void> Engine::main() {
  co_await set_up();
  if (plan_.ramp + plan_.warmup > Nanos{}) {
    gate_.pass(Phase::warm_up);
    const Instant start = gate_.phase_start(Phase::warm_up);
    recorder_.reset(start);
    co_await phase(start, gate_.warm_up_admission(), true);
  }
  gate_.pass(Phase::measure);
  const Instant start = gate_.phase_start(Phase::measure);
  recorder_.reset(start);
  if (gate_.admission().end() != kNever) recorder_.end(gate_.admission().end());
  open_loop_ = {};
  measure_start_ = start;
  const stats::ThreadUsage before = stats::ThreadUsage::now();
  co_await phase(start, gate_.admission(), false);
  usage_ = stats::ThreadUsage::now() - before;
  gate_.pass(Phase::drain);
  gate_.pass(Phase::clean_up);
  aborting_ = false;
  co_await clean_up();
  gate_.pass(Phase::over);
}

int Engine::worker_index(std::size_t n) const {
  const int nth = static_cast<int>(n);
  return ((nth / plan_.group) * plan_.threads + thread_) * plan_.group + nth % plan_.group;
}

Engine::Member& Engine::add_member() {
  // Round robin at the start, and so on for those that open loop adds.
  const int index = worker_index(members_.size());
  auto member = std::make_unique<Member>();
  member->session = workload_.session({.loop = *loop_,
                                       .recorder = recorder_,
                                       .index = index,
                                       .thread = thread_,
                                       .seed = worker_seed(plan_.seed, index)});
  members_.push_back(std::move(member));
  return *members_.back();
}

net::Task<void> Engine::set_up() {
  while (worker_index(members_.size()) < plan_.concurrency) add_member();
  net::TaskScope scope;
  for (const auto& member : members_) scope.spawn(set_up_one(*member));
  co_await scope.join();
}

net::Task<void> Engine::set_up_one(Member& member) {
  if (stop_.requested()) co_return;
  if (auto done = co_await member.session->set_up(); !done) gate_.fail(std::move(done.error().message));
}

net::Task<void> Engine::phase(Instant start, Admission& admission, bool ramped) {
  aborting_ = false;
  if (gate_.failed() || stop_.requested()) co_return;
  if (admission.end() != kNever) abort_timer_->arm(admission.end() + plan_.drain_limit);
  if (plan_.rate) {
    co_await dispatch(start, admission);
  } else {
    net::TaskScope workers;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::int64_t index = worker_index(i);
      const Nanos delay =
          ramped ? Nanos(plan_.ramp.count() * index / std::max(1, plan_.concurrency)) : Nanos{};
      workers.spawn(work_closed(*members_[i], admission, delay));
    }
    co_await workers.join();
  }
  abort_timer_->disarm();
  gate_.completed(now());
}

net::Task<void> Engine::work_closed(Member& member, Admission& admission, Nanos delay) {
  if (delay > Nanos{}) co_await loop_->sleep_for(delay);
  std::uint64_t sequence = 0;
  for (Instant due = now(); !stop_.requested() && !aborting_ && admission.take(due, sequence); due = now()) {
    co_await operate(member, due, sequence);
  }
}

net::Task<void> Engine::operate(Member& member, Instant due, std::uint64_t sequence) {
  const Instant sent = plan_.rate ? now() : due;
  recorder_.start(sent);
  const Outcome outcome = co_await member.session->operate(sequence);
  const bool cut_off = aborting_ && outcome.error && outcome.error->kind == ErrorKind::cancelled;
  if (cut_off) {
    recorder_.abort(due, sent, now());
    co_return;
  }
  const Instant done = outcome.done == Instant{} ? now() : outcome.done;
  if (plan_.keep_samples && measure_start_ != Instant{}) {
    samples_.add(
        {.sequence = sequence,
         .due = due - measure_start_,
         .sent = sent - measure_start_,
         .first_byte = outcome.first_byte == Instant{} ? Nanos{} : outcome.first_byte - measure_start_,
         .done = done - measure_start_,
         .connect = outcome.connect,
         .bytes = outcome.bytes,
         .status = outcome.last_status,
         .error = outcome.error ? static_cast<int>(outcome.error->kind) : -1});
  }
  recorder_.finish({.due = due,
                    .sent = sent,
                    .done = done,
                    .error = outcome.error,
                    .last_status = outcome.last_status,
                    .part = outcome.part});
}

// Open loop. An operation that finds no free worker waits in the schedule, not in a queue: the backlog is what is
// due and not yet sent, and costs no memory.
net::Task<void> Engine::dispatch(Instant start, Admission& admission) {
  Pacer pacer(*plan_.rate, plan_.arrivals, thread_, plan_.threads, plan_.seed);
  const double thread_rate = *plan_.rate / plan_.threads;
  net::TaskScope workers;
  no_more_jobs_ = false;
  idle_.clear();
  for (const auto& member : members_) {
    member->has_job = false;
    workers.spawn(work_open(*member));
  }
  std::uint64_t sequence = 0;
  int burst = 0;
  for (;;) {
    const Instant due = start + pacer.next();
    if (stop_.requested() || aborting_ || !admission.take(due, sequence)) break;
    ++open_loop_.offered;
    while (now() < due && !stop_.requested()) {
      burst = 0;
      // A long gap is slept in pieces, so that Ctrl-C is heard.
      co_await loop_->sleep_until(std::min(due, now() + kPublishEvery));
    }
    if (++burst % kBurst == 0) co_await loop_->yield();
    if (idle_.empty() &&
        members_.size() < static_cast<std::size_t>(std::max(1, plan_.max_workers / plan_.threads))) {
      workers.spawn(work_open(add_member()));
    }
    const bool had_worker = !idle_.empty();
    while (idle_.empty() && !aborting_) {
      member_idle_.shut();
      co_await member_idle_.wait();
    }
    if (aborting_ || stop_.requested()) {
      if (aborting_) {
        recorder_.start(due);
        recorder_.abort(due, due, now());
      }
      break;
    }
    const Nanos late = now() - due;
    if (had_worker) {
      recorder_.schedule_lag(late);
    } else {
      open_loop_.backlog_age_max = std::max(open_loop_.backlog_age_max, late);
      const auto waiting = static_cast<std::uint64_t>(seconds(late) * thread_rate) + 1;
      open_loop_.backlog_max = std::max(open_loop_.backlog_max, waiting);
    }
    ++open_loop_.sent;
    Member& member = *idle_.back();
    idle_.pop_back();
    member.due = due;
    member.sequence = sequence;
    member.has_job = true;
    member.wake();
  }
  no_more_jobs_ = true;
  for (Member* member : std::exchange(idle_, {})) member->wake();
  co_await workers.join();
}

net::Task<void> Engine::work_open(Member& member) {
  while (!no_more_jobs_) {
    idle_.push_back(&member);
    member_idle_.open();
    co_await member.job();
    if (!std::exchange(member.has_job, false)) break;
    co_await operate(member, member.due, member.sequence);
  }
}

net::Task<void> Engine::clean_up() {
  net::TaskScope scope;
  for (const auto& member : members_) scope.spawn(member->session->clean_up());
  co_await scope.join();
}

void Engine::on_wake() {
  if (stop_.requested() && gate_.phase() < Phase::clean_up) abort_timer_->arm(now() + kInterruptGrace);
}

void Engine::abort_in_flight() {
  if (gate_.phase() >= Phase::clean_up) return;
  aborting_ = true;
  loop_->abort_streams({ErrorKind::cancelled, 0, "the run ended first"});
  member_idle_.open();
}

}  // namespace plimsoll::load
