#include "workload/sync_session.h"

namespace plimsoll::workload {
namespace {

// The upstream's client has the worker's loop and seed, and a recorder that nobody reads.
load::Worker with_recorder(const load::Worker& worker, stats::Recorder& recorder) {
  return {.loop = worker.loop,
          .recorder = recorder,
          .index = worker.index,
          .thread = worker.thread,
          .seed = worker.seed};
}

}  // namespace

void SyncSession::register_parts(stats::Recorder& recorder) {
  recorder.part_id("cold");
  recorder.part_id("warm");
}

SyncSession::SyncSession(const load::Worker& worker, const RegistryTarget& target,
                         const RegistryTarget& upstream, const Contents& contents,
                         std::shared_ptr<ThreadRegistry> shared,
                         std::shared_ptr<ThreadRegistry> upstream_shared, std::size_t size_class,
                         std::uint64_t images)
    : RegistrySession(worker, target, contents, std::move(shared)),
      upstream_(with_recorder(worker, unread_), upstream, contents, std::move(upstream_shared)),
      size_class_(size_class),
      images_(images),
      cold_(worker.recorder.part_id("cold")),
      warm_(worker.recorder.part_id("warm")) {}

net::Task<Checked<void>> SyncSession::set_up() {
  if (auto ready = co_await RegistrySession::set_up(); !ready) co_return ready;
  if (auto ready = co_await upstream_.set_up(); !ready) co_return ready;
  for (std::uint64_t i = 0; i < images_; ++i) {
    auto seeded = co_await upstream_.seed(size_class_);
    if (!seeded) co_return seeded.error();
    pushed_.push_back(std::move(*seeded));
  }
  co_return Checked<void>{};
}

net::Task<load::Outcome> SyncSession::operate(std::uint64_t) {
  // Workers that are faster than others pull images that theirs share: an image is cold once.
  if (pulled_ == pushed_.size()) {
    auto seeded = co_await upstream_.seed(size_class_);
    if (!seeded)
      co_return outcome(Error{ErrorKind::unexpected_status, 0, "no image is left to be pulled cold"});
    pushed_.push_back(std::move(*seeded));
  }
  const auto pulled = co_await pull(pushed_[pulled_++]);
  load::Outcome ended = outcome(pulled);
  ended.part = cold_;
  co_return ended;
}

net::Task<void> SyncSession::clean_up() {
  record_steps(false);
  for (std::size_t i = 0; i < pulled_; ++i) {
    const Instant start = now();
    const auto pulled = co_await pull(pushed_[i]);
    if (!pulled) break;
    recorder().part(warm_, now() - start);
  }
  if (!target().skip_cleanup) {
    for (std::size_t i = 0; i < pulled_; ++i) co_await remove(pushed_[i]);
  }
  co_await upstream_.clean_up();
}

}  // namespace plimsoll::workload
