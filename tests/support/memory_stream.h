// A stream whose peer is a function: for micro-benchmarks and fuzz targets of what speaks over streams, without sockets.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "net/loop.h"
#include "net/stream.h"

namespace plimsoll::test {

class MemoryStream final : public net::Stream {
 public:
  // What the peer sends next; empty when it has closed. The bytes stay in place until the next call.
  using Source = std::function<std::string_view()>;
  // Takes what the peer receives.
  using Sink = std::function<void(std::string_view)>;

  MemoryStream(net::Loop& loop, Source source, Sink sink)
      : Stream(loop), source_(std::move(source)), sink_(std::move(sink)) {}

  void shutdown_send() override {}
  void reset_on_close() override {}
  bool has_news() override { return false; }
  int descriptor() const override { return -1; }

  bool try_receive(Result<std::string_view>& out) override {
    const auto bytes = left_.empty() ? source_() : std::exchange(left_, {});
    traffic_.received += bytes.size();
    out = bytes;
    return true;
  }
  bool try_discard(std::uint64_t limit, Result<std::uint64_t>& out) override {
    if (left_.empty()) left_ = source_();
    const auto count = std::min<std::uint64_t>(limit, left_.size());
    left_.remove_prefix(count);
    traffic_.received += count;
    out = count;
    return true;
  }
  bool try_send(std::string_view& first, std::string_view& second, bool& moved, Result<void>& out) override {
    for (auto* piece : {&first, &second}) {
      if (!piece->empty()) sink_(*piece);
      traffic_.sent += piece->size();
      *piece = {};
    }
    moved = true;
    out = ok();
    return true;
  }
  bool try_send_file(int file, std::uint64_t& offset, std::uint64_t& length, bool& moved,
                     Result<void>& out) override {
    buffer_.resize(length);
    const auto got = pread(file, buffer_.data(), length, static_cast<off_t>(offset));
    if (got != static_cast<ssize_t>(length)) {
      out = Error{ErrorKind::reset, EIO, "the file became shorter"};
      return true;
    }
    sink_(buffer_);
    traffic_.sent += length;
    offset += length;
    length = 0;
    moved = true;
    out = ok();
    return true;
  }
  bool try_establish(Result<void>& out) override {
    out = ok();
    return true;
  }
  bool try_receive_into(char*, std::size_t, Result<std::size_t>& out) override {
    out = Error{ErrorKind::closed, 0, "nothing is received into a buffer here"};
    return true;
  }

 private:
  Source source_;
  Sink sink_;
  std::string_view left_;
  std::string buffer_;
};

}  // namespace plimsoll::test
