// One line a request: Apache's combined format, or JSON. Lines gather and are written once a second, or when there are
// many.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "http/server.h"

namespace plimsoll::server {

enum class LogFormat : std::uint8_t { combined, json };

class AccessLog final : public http::Observer {
 public:
  // `path`: "-" is stdout; a file is appended to.
  static Checked<std::unique_ptr<AccessLog>> open(const std::string& path, LogFormat format);
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;
  ~AccessLog() override;

  void served(const http::Served& served) override;

 private:
  AccessLog(int descriptor, LogFormat format);
  void flush();

  http::File file_;
  LogFormat format_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string lines_;
  std::jthread thread_;
};

// One line, with its end. Quotes and control characters in what clients sent are escaped.
std::string log_line(const http::Served& served, LogFormat format, std::int64_t unix_seconds);

}  // namespace plimsoll::server
