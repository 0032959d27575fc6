// A TCP server for tests that plays exact bytes on cue: answers cut anywhere, stalls, resets, half-closes, silence.
//
// It runs in threads of its own over plain blocking sockets and shares no code with the rooms that it tests. Each
// connection plays one script; every wait ends when the peer is destroyed or after kStepLimit, so that a broken
// test fails instead of hanging.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::test {

// What the peer does on one connection, step by step. After the last step the connection is closed as close() does.
class Script {
 public:
  // Waits until a blank line (CR LF CR LF) has come since the last expectation was met; bytes after it count for
  // the next one.
  Script& expect_head();
  Script& expect_bytes(std::size_t count);
  // Waits for a whole HTTP/2 frame of this type (RFC 9113, section 6); others before it, and the preface, are skipped.
  Script& expect_frame(std::uint8_t type);
  // Waits until the client has closed its side.
  Script& expect_end();

  Script& send(std::string bytes);
  // The bytes in two segments, cut at `position`.
  Script& send_split(std::string bytes, std::size_t position,
                     std::chrono::milliseconds between = std::chrono::milliseconds(5));
  Script& send_byte_by_byte(std::string bytes,
                            std::chrono::milliseconds between = std::chrono::milliseconds(1));
  // `count` times the byte, without holding them all.
  Script& send_filler(std::uint64_t count, char byte = 'x');

  Script& pause(std::chrono::milliseconds time);
  // Says nothing more but takes what comes, until the client closes.
  Script& silence();
  // Neither reads nor says anything, until the client resets the connection or the peer is destroyed.
  Script& stall();
  Script& half_close();
  // In order: nothing that was sent is lost to a reset, even where the client's bytes were not all read.
  Script& close();
  // With RST.
  Script& reset();
  // From the first step again (a server that answers every request of a connection alike).
  Script& again();

 private:
  friend class ScriptedPeer;
  enum class Act : std::uint8_t {
    expect_head,
    expect_bytes,
    expect_frame,
    expect_end,
    send,
    send_byte_by_byte,
    send_filler,
    pause,
    silence,
    stall,
    half_close,
    close,
    reset,
    again,
  };
  struct Step {
    Act act;
    std::uint64_t count;
    std::string bytes;
    std::chrono::milliseconds time;
  };
  Script& add(Act act, std::uint64_t count = 0, std::string bytes = {}, std::chrono::milliseconds time = {});

  std::vector<Step> steps_;
};

class ScriptedPeer {
 public:
  static constexpr std::chrono::milliseconds kStepLimit{10'000};

  // The n-th connection plays the n-th script; those beyond the last play the last. `ip` is "127.0.0.1" or "::1".
  explicit ScriptedPeer(std::vector<Script> scripts, const std::string& ip = "127.0.0.1");
  explicit ScriptedPeer(Script script) : ScriptedPeer(std::vector{std::move(script)}) {}
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;
  // Ends all connections and joins all threads, in well under a second.
  ~ScriptedPeer();

  std::uint16_t port() const;
  // "127.0.0.1:34567", "[::1]:34567".
  std::string authority() const;

  std::size_t connections() const;
  // All that a connection has received up to now; empty for one that does not exist.
  std::string received(std::size_t connection = 0) const;
  // Waits for up to kStepLimit until a connection has received that much, or played its script to the end.
  bool wait_received(std::size_t connection, std::size_t count) const;
  bool wait_finished(std::size_t connection = 0) const;
  // Expectations that were not met ("connection 0: expected a head, got the end of the stream"); a test asserts
  // that there are none where it matters.
  std::vector<std::string> complaints() const;

 private:
  class Connection;
  void accept_all();

  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace plimsoll::test
