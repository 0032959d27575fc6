#include "server/index_writer.h"

#include <algorithm>
#include <chrono>

namespace plimsoll::server {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kDelay = 100ms;
constexpr int kRest = 10;  // times what the writing took

}  // namespace

IndexFileWriter::IndexFileWriter(std::function<void(const std::string&)> write)
    : write_(std::move(write)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

IndexFileWriter::~IndexFileWriter() {
  thread_.request_stop();
  thread_.join();
  flush();
}

void IndexFileWriter::changed(const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    const auto rested = not_before_.find(what);
    Instant due = now() + kDelay;
    if (rested != not_before_.end()) due = std::max(due, rested->second);
    if (!due_.emplace(what, due).second) return;
    queue_.emplace(due, what);
    if (queue_.size() > 1) return;
  }
  wake_.notify_one();
}

std::string IndexFileWriter::take_due(Instant when) {
  const std::lock_guard lock(mutex_);
  if (queue_.empty() || queue_.begin()->first > when) return {};
  std::string what = queue_.begin()->second;
  queue_.erase(queue_.begin());
  due_.erase(what);
  return what;
}

void IndexFileWriter::write_one(const std::string& what) {
  const std::lock_guard lock(writing_);
  const Instant start = now();
  write_(what);
  const Nanos took = now() - start;
  const std::lock_guard state(mutex_);
  if (took * kRest > kDelay) {
    not_before_[what] = now() + took * kRest;
  } else {
    not_before_.erase(what);
  }
}

void IndexFileWriter::flush() {
  for (std::string what = take_due(kNever); !what.empty(); what = take_due(kNever)) write_one(what);
}

void IndexFileWriter::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, stop, [&] { return !due_.empty(); });
    }
    if (stop.stop_requested()) return;
    // Changes gather meanwhile; what is due later waits for a later round.
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, kDelay / 2, [] { return false; });
    }
    const Instant when = now();
    for (std::string what = take_due(when); !what.empty() && !stop.stop_requested(); what = take_due(when)) {
      write_one(what);
    }
  }
}

}  // namespace plimsoll::server
