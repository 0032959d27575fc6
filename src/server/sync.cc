#include "server/sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "base/random.h"

namespace plimsoll::server {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMostFreshTags = 65'536;

}  // namespace

// Lives in the frame of refresh(), on the asking loop; the sync thread fills in the outcome before it hands the
// coroutine back.
class Sync::Asked {
 public:
  Asked(Sync& sync, net::Loop& asking, Key wanted) : loop(asking), key(std::move(wanted)), sync_(sync) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    waiting = handle;
    return sync_.ask(*this);
  }
  Checked<void> await_resume() { return std::move(outcome); }

  net::Loop& loop;
  Key key;
  std::coroutine_handle<> waiting = nullptr;
  Checked<void> outcome = {};

 private:
  Sync& sync_;
};

Sync::Sync(Store& store, Workers& workers, Report report)
    : store_(store),
      workers_(workers),
      report_(std::move(report)),
      pseudonym_(fmt::format("plimsoll-{:016x}", system_seed())) {}

Sync::~Sync() {
  request_stop(Nanos(0));
}

Checked<std::unique_ptr<Sync>> Sync::start(const std::vector<SyncOrigin>& origins, Store& store,
                                           Workers& workers, net::IoKind io, Report report) {
  std::unique_ptr<Sync> sync(new Sync(store, workers, std::move(report)));
  for (const auto& origin : origins) {
    auto upstream = SyncUpstream::make(origin, store, sync->counts_);
    if (!upstream) return upstream.error();
    sync->upstreams_.push_back(std::move(*upstream));
  }
  std::promise<Checked<void>> started;
  auto outcome = started.get_future();
  sync->thread_ = std::jthread([self = sync.get(), io, &started] {
    self->run(io, [&started](Checked<void> how) { started.set_value(std::move(how)); });
  });
  if (auto ready = outcome.get(); !ready) return ready.error();
  return sync;
}

void Sync::run(net::IoKind io, std::function<void(Checked<void>)> started) {
  auto loop = net::Loop::create(io);
  if (!loop) return started(loop.error());
  loop_ = std::move(*loop);
  loop_->set_on_wake([this] { woken(); });
  started({});
  loop_->run(serve());
  loop_->set_on_wake({});
  for (auto& upstream : upstreams_) upstream->close();
  const std::lock_guard lock(mutex_);
  loop_.reset();
}

net::Task<void> Sync::serve() {
  co_await stopping_.wait();
  constexpr Error kEnding{ErrorKind::cancelled, 0, "the server ends"};
  // A copy that is cut goes on to its next request, which is cut in turn.
  while (scope_.running() > 0) {
    if (now() >= cut_at_.load()) loop_->abort_streams(kEnding);
    co_await loop_->sleep_for(2ms);
  }
}

void Sync::request_stop(Nanos patience) {
  const std::lock_guard lock(mutex_);
  const Instant cut_at = now() + patience;
  cut_at_ = closed_ ? std::min(cut_at_.load(), cut_at) : cut_at;
  closed_ = true;
  if (loop_) loop_->wake_up();
}

bool Sync::ask(Asked& asked) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  arrived_.push_back(&asked);
  loop_->wake_up();
  return true;
}

void Sync::woken() {
  std::vector<Asked*> arrived;
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
    closed = closed_;
  }
  for (Asked* asked : arrived) {
    const auto [flight, first] = flights_.try_emplace(asked->key);
    flight->second.push_back(asked);
    if (first) scope_.spawn(copy(asked->key));
  }
  if (closed) stopping_.open();
}

net::Task<Checked<void>> Sync::refresh(net::Loop& loop, const std::string& repository,
                                       const std::string& reference, const std::string& via) {
  if (via.contains(pseudonym_)) co_return Checked<void>{};
  const auto digest = oci::Digest::parse(reference);
  // What a digest names never changes.
  if (digest && store_.manifest(repository, *digest)) co_return Checked<void>{};
  co_return co_await Asked(*this, loop, {repository, reference, via});
}

net::Task<void> Sync::copy(Key key) {
  const auto outcome = co_await bring(key);
  const auto flight = flights_.extract(key);
  for (Asked* asked : flight.mapped()) {
    asked->outcome = outcome;
    workers_.hand_back(asked->loop, asked->waiting);
  }
}

net::Task<Checked<void>> Sync::bring(Key key) {
  if (still_fresh(key)) co_return Checked<void>{};
  const std::string via = fmt::format("{}{}1.1 {}", key.via, key.via.empty() ? "" : ", ", pseudonym_);
  std::string problem;
  for (auto& upstream : upstreams_) {
    if (!upstream->origin().covers(key.repository)) continue;
    const auto brought = co_await upstream->bring(*loop_, key.repository, key.reference, via);
    if (!brought) {
      if (report_) report_(brought.error().message);
      problem.append(problem.empty() ? "" : "; ").append(brought.error().message);
    } else if (*brought != Brought::absent) {
      remember_fresh(key, upstream->origin().fresh);
      co_return Checked<void>{};
    }
  }
  if (problem.empty()) co_return Checked<void>{};
  co_return Refusal{std::move(problem)};
}

bool Sync::still_fresh(const Key& key) {
  const auto at = fresh_until_.find(fmt::format("{}:{}", key.repository, key.reference));
  return at != fresh_until_.end() && now() < at->second &&
         store_.manifest(key.repository, std::string_view(key.reference)).has_value();
}

void Sync::remember_fresh(const Key& key, Nanos fresh) {
  if (fresh == Nanos{} || key.reference.contains(':')) return;
  if (fresh_until_.size() >= kMostFreshTags) fresh_until_.clear();
  fresh_until_[fmt::format("{}:{}", key.repository, key.reference)] = now() + fresh;
}

}  // namespace plimsoll::server
