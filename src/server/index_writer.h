// Rewrites files that follow something that changes often: soon after a change, but never so often that the
// rewriting becomes the work. A thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace plimsoll::server {

class IndexFileWriter {
 public:
  // `write` is called in the writer's thread, or in flush()'s, one call at a time.
  explicit IndexFileWriter(std::function<void(const std::string& what)> write);
  IndexFileWriter(const IndexFileWriter&) = delete;
  IndexFileWriter& operator=(const IndexFileWriter&) = delete;
  // Writes what is still due.
  ~IndexFileWriter();

  // Due a tenth of a second from now, or ten times as long after the last writing as that took.
  void changed(const std::string& what);
  void flush();

 private:
  void run(const std::stop_token& stop);
  // Takes the next that is due by `when`; empty if there is none.
  std::string take_due(Instant when);
  void write_one(const std::string& what);

  std::function<void(const std::string&)> write_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Instant> due_;
  std::set<std::pair<Instant, std::string>> queue_;  // the same, by time
  std::map<std::string, Instant> not_before_;        // of those whose writing took long
  std::mutex writing_;
  std::jthread thread_;
};

}  // namespace plimsoll::server
