// A registry client against scripted peers, for this room's tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/connect.h"
#include "net/loop.h"
#include "oci/registry_client.h"
#include "tests/support/scripted_peer.h"

namespace plimsoll::oci {

// "HTTP/1.1 202 X\r\n<headers>Content-Length: ...\r\n\r\n<body>"; `headers` are whole lines without their ends,
// separated by "|".
inline std::string answer(int status, std::string_view headers = {}, std::string_view body = {}) {
  std::string out = fmt::format("HTTP/1.1 {} X\r\n", status);
  for (std::string_view rest = headers; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('|'));
    out.append(line).append("\r\n");
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  if (status != 204 && status >= 200) out += fmt::format("Content-Length: {}\r\n", body.size());
  return out.append("\r\n").append(body);
}

// One request with a body of `body` bytes, and its answer.
inline void play(test::Script& script, const std::string& reply, std::size_t body = 0) {
  script.expect_head();
  if (body > 0) script.expect_bytes(body);
  script.send(reply);
}

// A script that answers requests without body one after the other.
inline test::Script answers(const std::vector<std::string>& replies) {
  test::Script script;
  for (const auto& reply : replies) play(script, reply);
  return script;
}

class PlainConnectors final : public Connectors {
 public:
  http::Connector& to(const http::Url& origin, Part /*part*/) override {
    auto& connector = by_origin_[origin.origin()];
    if (!connector) connector = std::make_unique<Plain>(origin);
    return *connector;
  }

 private:
  class Plain final : public http::Connector {
   public:
    explicit Plain(const http::Url& origin) : to_(*net::Address::parse_ip(origin.host, origin.port)) {}
    net::Task<Result<http::Opened>> open(net::Loop& loop, net::Patience patience) override {
      auto stream = co_await net::connect(loop, to_, {}, patience);
      if (!stream) co_return stream.error();
      http::Opened opened;
      opened.stream = std::move(*stream);
      co_return std::move(opened);
    }

   private:
    net::Address to_;
  };
  std::map<std::string, std::unique_ptr<http::Connector>> by_origin_;
};

// Keeps what a client tells: "layer PUT 201", and notes by kind.
class Observed final : public StepObserver {
 public:
  void step(Step step, const StepReport& report) override {
    steps.push_back(fmt::format("{} {}", name(step), report.status));
  }
  void note(NoteKind kind, const Detail& detail) override { notes.emplace_back(kind, detail); }
  void waited(Nanos time) override { waits.push_back(time); }
  int count(NoteKind kind) const {
    return static_cast<int>(std::ranges::count(notes, kind, [](const auto& note) { return note.first; }));
  }

  std::vector<std::string> steps;
  std::vector<std::pair<NoteKind, Detail>> notes;
  std::vector<Nanos> waits;
};

class RegistryClientTest : public testing::Test {
  std::unique_ptr<net::Loop> loop_;  // outlives what has connections on it

 protected:
  RegistryClientTest() : loop_(std::move(*net::Loop::create(net::IoKind::epoll))) {
    options.timeout = std::chrono::seconds(5);
  }

  // The client of a peer; made once a test.
  RegistryClient& client(const test::ScriptedPeer& peer, Credentials credentials = {}) {
    options.base = *http::parse_url("http://" + peer.authority() + base_path);
    authenticator = std::make_unique<Authenticator>(*loop_, connectors, options.base, std::move(credentials));
    client_ =
        std::make_unique<RegistryClient>(*loop_, connectors, *authenticator, options, &observed, nullptr);
    return *client_;
  }

  template <class T>
  Result<T> run(net::Task<Result<T>> task) {
    std::optional<Result<T>> out;
    loop_->run(keep(std::move(task), out));
    return std::move(*out);
  }
  net::Loop& loop() { return *loop_; }

  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }
  static std::size_t count(const std::string& text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
  // "POST /v2/a/ HTTP/1.1": the request lines that a peer received on all its connections.
  static std::vector<std::string> requests(const test::ScriptedPeer& peer) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < peer.connections(); ++i) {
      const std::string text = peer.received(i);
      for (std::size_t at = 0; (at = text.find(" HTTP/1.1\r\n", at)) != std::string::npos; ++at) {
        const auto begin = text.rfind('\n', at) + 1;
        std::string line = text.substr(begin, at - begin);
        // A body stands directly before the next head.
        for (const auto* method : {"GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE "}) {
          if (const auto found = line.find(method); found != std::string::npos) line = line.substr(found);
        }
        out.push_back(line);
      }
    }
    return out;
  }

  RegistryOptions options;
  std::string base_path;
  PlainConnectors connectors;
  Observed observed;
  std::unique_ptr<Authenticator> authenticator;

 private:
  template <class T>
  static net::Task<void> keep(net::Task<Result<T>> task, std::optional<Result<T>>& out) {
    out = co_await std::move(task);
  }

  std::unique_ptr<RegistryClient> client_;
};

}  // namespace plimsoll::oci
