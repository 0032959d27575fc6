#include "server/access_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <iterator>

#include "server/disk_files.h"
#include "server/json_text.h"

namespace plimsoll::server {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMany = 64 * 1024;

// As Apache does it: a quote or backslash gets a backslash, bytes outside printable ASCII become \xhh.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string field_or_dash(const http::RequestHead& request, std::string_view name) {
  return in_quotes(request.headers.find(name).value_or("-"));
}

std::string combined_line(const http::Served& served, const tm& time) {
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto& request = served.call.request;
  const std::string line =
      request.major_version == 2
          ? fmt::format("{} {} HTTP/2", request.method_text, request.target)
          : fmt::format("{} {} HTTP/1.{}", request.method_text, request.target, request.minor_version);
  return fmt::format("{} - {} [{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000] {} {} {} {} {}\n",
                     served.call.peer.ip(), served.call.user.empty() ? "-" : served.call.user, time.tm_mday,
                     kMonths[time.tm_mon], time.tm_year + 1900, time.tm_hour, time.tm_min, time.tm_sec,
                     in_quotes(line), served.call.answer.status, served.body_sent,
                     field_or_dash(request, "Referer"), field_or_dash(request, "User-Agent"));
}

std::string json_line(const http::Served& served, const tm& time) {
  const auto& request = served.call.request;
  std::string out = fmt::format(
      "{{\"time\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z\",\"peer\":\"{}\",\"user\":", time.tm_year + 1900,
      time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, served.call.peer.to_string());
  append_json_string(out, served.call.user);
  out += ",\"method\":";
  append_json_string(out, request.method_text);
  out += ",\"target\":";
  append_json_string(out, request.target);
  out += ",\"user_agent\":";
  append_json_string(out, request.headers.find("User-Agent").value_or(""));
  fmt::format_to(std::back_inserter(out),
                 ",\"status\":{},\"received\":{},\"sent\":{},\"duration_s\":{:.6f},\"complete\":{}}}\n",
                 served.call.answer.status, served.body_received, served.body_sent, seconds(served.duration),
                 served.complete);
  return out;
}

}  // namespace

std::string log_line(const http::Served& served, LogFormat format, std::int64_t unix_seconds) {
  const std::time_t seconds_now = unix_seconds;
  tm time{};
  gmtime_r(&seconds_now, &time);
  return format == LogFormat::json ? json_line(served, time) : combined_line(served, time);
}

Checked<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path, LogFormat format) {
  const int descriptor = path == "-" ? dup(STDOUT_FILENO)
                                     : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return Refusal{fmt::format("--access-log: {}: {}", path, std::strerror(errno))};
  return std::unique_ptr<AccessLog>(new AccessLog(descriptor, format));
}

AccessLog::AccessLog(int descriptor, LogFormat format)
    : file_(descriptor), format_(format), thread_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          {
            std::unique_lock lock(mutex_);
            wake_.wait_for(lock, stop, 1s, [&] { return lines_.size() > kMany; });
          }
          flush();
        }
      }) {}

AccessLog::~AccessLog() {
  thread_.request_stop();
  thread_.join();
  flush();
}

void AccessLog::flush() {
  std::string lines;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
  }
  // A log that cannot be written is no reason to stop answering.
  if (!lines.empty()) static_cast<void>(write_all(file_.descriptor(), lines));
}

void AccessLog::served(const http::Served& served) {
  const std::string line = log_line(served, format_, std::time(nullptr));
  bool many = false;
  {
    const std::lock_guard lock(mutex_);
    lines_ += line;
    many = lines_.size() > kMany;
  }
  if (many) wake_.notify_one();
}

}  // namespace plimsoll::server
