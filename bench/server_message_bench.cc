// What one message costs the server: from the bytes of a request to the bytes of its answer, over the path that every
// connection of `plimsoll serve` takes (parser, routes, static files, head, body), without sockets.
//
// The twelve cases of the published measurement, by its names: GET and OPTIONS of a small, a medium and a large
// resource, plain and by a client that takes deflate. The resources are files of text of 1 KiB, 64 KiB and 512 KiB;
// answers up to 64 KiB lie in memory, larger ones are read from their file each time; what is deflated is kept.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "http/server_connection.h"
#include "server/site.h"
#include "tests/support/memory_stream.h"

namespace plimsoll::server {
namespace {

constexpr std::size_t kSmall = 1024;
constexpr std::size_t kMedium = 64 * 1024;
constexpr std::size_t kLarge = 512 * 1024;

// The server as `serve --static /=DIR` puts it together.
class Bench {
 public:
  Bench() {
    std::string pattern = std::filesystem::temp_directory_path() / "plimsoll-messages-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    for (const std::size_t size : {kSmall, kMedium, kLarge}) {
      std::ofstream file(path_of(size));
      std::string text;
      for (int line = 0; text.size() < size; ++line) text += fmt::format("line {} of a text file\n", line);
      file << text.substr(0, size);
    }
    workers_.attach(*loop_);
    auto files = StaticFiles::open("/", directory_, workers_);
    if (files) site_.add_files(std::move(*files));
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    workers_.detach(*loop_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // Runs `source`'s requests on one connection.
  std::uint64_t serve(test::MemoryStream::Source source) {
    std::uint64_t sent = 0;
    auto stream =
        std::make_unique<test::MemoryStream>(*loop_, std::move(source), [&sent](std::string_view bytes) {
          benchmark::DoNotOptimize(bytes.data());
          sent += bytes.size();
        });
    http::ServerConnection connection(shared_, std::move(stream));
    loop_->run(connection.run());
    return sent;
  }

 private:
  std::string path_of(std::size_t size) const { return fmt::format("{}/{}.txt", directory_, size); }

  std::string directory_;
  std::unique_ptr<net::Loop> loop_ = std::move(*net::Loop::create(net::IoKind::epoll));
  Workers workers_{1};
  std::unique_ptr<Store> store_ = Store::in_memory(1 << 20);
  Registry registry_{*store_, workers_, {}};
  Metrics metrics_;
  Site site_{registry_, metrics_, *store_, registry_.sessions()};
  http::ServerLimits limits_;
  http::ServerLoop shared_{*loop_, site_, limits_, &metrics_};
};

void message(benchmark::State& state, const char* method, std::size_t size, bool deflate) {
  static Bench bench;
  const std::string request =
      fmt::format("{} /{}.txt HTTP/1.1\r\nHost: 127.0.0.1:7070\r\nUser-Agent: bench\r\nAccept: */*\r\n{}\r\n",
                  method, size, deflate ? "Accept-Encoding: deflate\r\n" : "");
  bool first = true;
  // Once before the clock starts: files are read, and packed, when they are first asked for.
  const std::uint64_t one = bench.serve([&]() -> std::string_view {
    return std::exchange(first, false) ? std::string_view(request) : std::string_view{};
  });
  if (one < 50) return state.SkipWithError("no answer");
  const std::uint64_t sent = bench.serve([&]() -> std::string_view {
    return state.KeepRunning() ? std::string_view(request) : std::string_view{};
  });
  const auto iterations = static_cast<std::uint64_t>(state.iterations());
  // The Date of an answer is as long as that of any other.
  if (sent != one * iterations) return state.SkipWithError("answers differ");
  state.counters["answer_bytes"] = static_cast<double>(one);
  state.SetItemsProcessed(state.iterations());
}

// NOLINTBEGIN(readability-identifier-naming): the document's names
void getLargeRequest(benchmark::State& state) {
  message(state, "GET", kLarge, false);
}
void getMediumRequest(benchmark::State& state) {
  message(state, "GET", kMedium, false);
}
void getSmallRequest(benchmark::State& state) {
  message(state, "GET", kSmall, false);
}
void getDeflatedLargeRequest(benchmark::State& state) {
  message(state, "GET", kLarge, true);
}
void getDeflatedMediumRequest(benchmark::State& state) {
  message(state, "GET", kMedium, true);
}
void getDeflatedSmallRequest(benchmark::State& state) {
  message(state, "GET", kSmall, true);
}
void optionsLargeRequest(benchmark::State& state) {
  message(state, "OPTIONS", kLarge, false);
}
void optionsMediumRequest(benchmark::State& state) {
  message(state, "OPTIONS", kMedium, false);
}
void optionsSmallRequest(benchmark::State& state) {
  message(state, "OPTIONS", kSmall, false);
}
void optionsDeflatedLargeRequest(benchmark::State& state) {
  message(state, "OPTIONS", kLarge, true);
}
void optionsDeflatedMediumRequest(benchmark::State& state) {
  message(state, "OPTIONS", kMedium, true);
}
void optionsDeflatedSmallRequest(benchmark::State& state) {
  message(state, "OPTIONS", kSmall, true);
}
// NOLINTEND(readability-identifier-naming)

BENCHMARK(getLargeRequest);
BENCHMARK(getMediumRequest);
BENCHMARK(getSmallRequest);
BENCHMARK(getDeflatedLargeRequest);
BENCHMARK(getDeflatedMediumRequest);
BENCHMARK(getDeflatedSmallRequest);
BENCHMARK(optionsLargeRequest);
BENCHMARK(optionsMediumRequest);
BENCHMARK(optionsSmallRequest);
BENCHMARK(optionsDeflatedLargeRequest);
BENCHMARK(optionsDeflatedMediumRequest);
BENCHMARK(optionsDeflatedSmallRequest);

}  // namespace
}  // namespace plimsoll::server
