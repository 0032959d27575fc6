// What the tests of this room share: requests to a handler without a socket, and raw bytes over TCP.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "http/request_parser.h"
#include "http/server.h"
#include "net/loop.h"
#include "server/workers.h"

namespace plimsoll::server {

class TextBodyReader final : public http::BodyReader {
 public:
  explicit TextBodyReader(std::string_view bytes) : bytes_(bytes) {}
  net::Task<Result<std::string_view>> read() override { co_return std::exchange(bytes_, {}); }
  std::optional<std::uint64_t> length() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

struct Reply {
  int status = 0;
  std::string fields;
  std::string body;

  std::string field(std::string_view name) const {
    for (const auto line : split(fields, '\n')) {
      const auto colon = line.find(':');
      if (colon != std::string_view::npos && iequals(line.substr(0, colon), name)) {
        return std::string(trim(line.substr(colon + 1, line.size() - colon - 2)));
      }
    }
    return {};
  }
};

// Calls a handler on a loop of its own.
class Caller {
 public:
  Caller() : loop_(std::move(*net::Loop::create(net::IoKind::epoll))) { workers.attach(*loop_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() { workers.detach(*loop_); }

  // `fields`: field lines, each with its CRLF.
  Reply call(http::Handler& handler, std::string_view method, std::string_view target,
             std::string_view fields = {}, std::string_view body = {}) {
    http::RequestParser parser;
    parser.start();
    std::string text;
    text.append(method)
        .append(" ")
        .append(target)
        .append(" HTTP/1.1\r\nHost: registry.test\r\n")
        .append(fields);
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    const auto step = parser.feed(text);
    EXPECT_TRUE(step && parser.head_done()) << text;
    TextBodyReader reader(body);
    http::ServerAnswer answer;
    const net::Address peer = *net::Address::parse_ip("127.0.0.1", 1);
    const bool draining = false;
    http::Call call{.request = parser.head(),
                    .body = reader,
                    .answer = answer,
                    .loop = *loop_,
                    .peer = peer,
                    .draining = draining};
    loop_->run(handler.handle(call));
    Reply reply{.status = answer.status, .fields = answer.fields(), .body = std::string(answer.body.bytes)};
    if (answer.body.file >= 0) {
      reply.body.resize(answer.body.size);
      EXPECT_EQ(pread(answer.body.file, reply.body.data(), answer.body.size,
                      static_cast<off_t>(answer.body.offset)),
                static_cast<ssize_t>(answer.body.size));
    }
    return reply;
  }

  Workers workers{1};

 private:
  std::unique_ptr<net::Loop> loop_;
};

// A directory that goes with its test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "plimsoll-test-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Sends bytes, ends its side if asked to, and gives all that comes until the peer closes or 5 s are over.
inline std::string converse(const net::Address& address, std::string_view bytes, bool half_close = true) {
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, address.data(), address.size()) != 0) {
    // A server that resets what it accepts may do so before connect() has returned.
    EXPECT_EQ(errno, ECONNRESET);
    close(fd);
    return {};
  }
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  while (!bytes.empty()) {
    const auto sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  if (half_close) shutdown(fd, SHUT_WR);
  std::string got;
  std::string piece(65536, '\0');
  for (;;) {
    const auto count = recv(fd, piece.data(), piece.size(), 0);
    if (count <= 0) break;
    got.append(piece, 0, static_cast<std::size_t>(count));
  }
  close(fd);
  return got;
}

}  // namespace plimsoll::server
