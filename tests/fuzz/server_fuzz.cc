// The server's whole path from request bytes to answer bytes: connection, routes, registry, static files.
//
// An input is a byte that says how large the pieces are in which bytes arrive, and the bytes of a connection. "@@" in
// them stands for the Location that was last answered, so that uploads can be gone on with. A finding is a crash, an
// answer that the client's own parser does not take, an answer too many (a smuggled request) or one too few without a
// word that the connection ends, a failure of the server's own, or a byte of a file that lies outside its directory.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "http/request_parser.h"
#include "http/response_parser.h"
#include "http/server_connection.h"
#include "server/site.h"
#include "tests/fuzz/expect.h"
#include "tests/support/memory_stream.h"

namespace plimsoll::fuzz {
namespace {

constexpr std::string_view kOutside = "what lies outside the directory";

// What inputs share; nothing in it changes with them.
struct World {
  World() {
    std::string pattern = std::filesystem::temp_directory_path() / "plimsoll-fuzz-XXXXXX";
    root = mkdtemp(pattern.data());
    std::filesystem::create_directory(root + "/files");
    std::ofstream(root + "/outside") << kOutside;
    std::ofstream(root + "/files/a.txt") << std::string(600, 'a');
    std::filesystem::create_symlink("../outside", root + "/files/link");
    workers.attach(*loop);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    workers.detach(*loop);
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }

  std::string root;
  std::unique_ptr<net::Loop> loop = std::move(*net::Loop::create(net::IoKind::epoll));
  server::Workers workers{1};
};

// The peer: sends in pieces, puts Locations in, keeps what it gets.
class Peer {
 public:
  Peer(std::string_view wire, std::size_t piece) : wire_(wire), piece_(piece) {}

  std::string_view send() {
    if (replaced_.empty()) {
      const auto mark = wire_.find("@@");
      if (mark == 0) {
        wire_.remove_prefix(2);
        replaced_ = location();
      }
    }
    if (!replaced_.empty()) return sent_.emplace_back(std::exchange(replaced_, {}));
    const auto bytes = wire_.substr(0, std::min(piece_, wire_.find("@@")));
    wire_.remove_prefix(bytes.size());
    return sent_.emplace_back(bytes);
  }
  void receive(std::string_view bytes) { received.append(bytes); }

  std::string sent() const {
    std::string all;
    for (const auto& piece : sent_) all += piece;
    return all;
  }

  std::string received;

 private:
  // Of the last answer; never empty, since that would say that the peer has closed.
  std::string location() const {
    constexpr std::string_view kField = "\r\nLocation: ";
    const auto at = received.rfind(kField);
    if (at == std::string::npos) return "/";
    const auto from = at + kField.size();
    return received.substr(from, received.find('\r', from) - from);
  }

  std::string_view wire_;
  std::size_t piece_;
  std::string replaced_;
  std::vector<std::string> sent_;
};

struct Asked {
  std::vector<http::Method> methods;
  bool faulty = false;      // then come bytes that are no request
  bool unfinished = false;  // or a request that does not end
};

Asked read_requests(std::string_view wire) {
  Asked asked;
  http::RequestParser parser;
  while (!wire.empty()) {
    parser.start();
    bool counted = false;
    while (!parser.done() && !wire.empty()) {
      const auto step = parser.feed(wire);
      if (!step || parser.http2()) {
        asked.faulty = true;
        return asked;
      }
      if (parser.head_done() && !std::exchange(counted, true)) asked.methods.push_back(parser.head().method);
      wire.remove_prefix(step->consumed);
    }
    asked.unfinished = !parser.done();
  }
  return asked;
}

// Each answer is one that a client takes; returns how many.
std::size_t check_answers(std::string_view bytes, const Asked& asked, bool& says_close) {
  http::ResponseParser parser;
  std::size_t count = 0;
  while (!bytes.empty()) {
    expect(!says_close, "nothing comes after an answer that says close");
    const bool known = count < asked.methods.size();
    parser.start(known ? asked.methods[count] : http::Method::get);
    while (!parser.done() && !bytes.empty()) {
      const auto step = parser.feed(bytes);
      expect(step.has_value(), step ? "" : step.error().text);
      bytes.remove_prefix(step->consumed);
    }
    expect(parser.done(), "every answer is whole");
    const int status = parser.head().status;
    expect(status < 500 || status == 501 || status == 505 || status == 507,
           fmt::format("no failure of the server's own, but {}", status));
    says_close = !parser.head().keep_alive;
    ++count;
  }
  return count;
}

void run(std::string_view input) {
  if (input.size() < 2) return;
  static World world;
  Peer peer(input.substr(1), 1 + static_cast<unsigned char>(input[0]) * 8U);
  const auto store = server::Store::in_memory(1 << 20);
  server::Registry registry(*store, world.workers, {});
  server::Metrics metrics;
  server::Site site(registry, metrics, *store, registry.sessions());
  site.add_files(std::move(*server::StaticFiles::open("/files", world.root + "/files", world.workers)));
  const http::ServerLimits limits{.http2 = false};  // what is checked below is HTTP/1.1
  http::ServerLoop shared(*world.loop, site, limits, &metrics);
  {
    http::ServerConnection connection(
        shared, std::make_unique<test::MemoryStream>(
                    *world.loop, [&] { return peer.send(); }, [&](std::string_view b) { peer.receive(b); }));
    world.loop->run(connection.run());
  }
  expect(!peer.received.contains(kOutside), "no path leads out of the directory");
  const std::string sent = peer.sent();
  const Asked asked = read_requests(sent);
  bool says_close = false;
  const std::size_t answers = check_answers(peer.received, asked, says_close);
  expect(answers <= asked.methods.size() + (asked.faulty ? 1 : 0),
         fmt::format("{} answers to {} requests", answers, asked.methods.size()));
  const std::size_t due = asked.methods.size() - (asked.unfinished && !asked.methods.empty() ? 1 : 0);
  expect(answers >= due || says_close, fmt::format("{} answers to {} requests, and no close", answers, due));
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
