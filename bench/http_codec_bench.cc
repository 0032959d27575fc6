// What one message costs the HTTP/1.1 codec: nanoseconds a message, no I/O.
#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "http/render.h"
#include "http/request_parser.h"
#include "http/response_parser.h"

namespace plimsoll::http {
namespace {

// nginx's welcome page, as it comes over a kept connection.
std::string nginx_response(std::string_view second = "12") {
  return "HTTP/1.1 200 OK\r\n"
         "Server: nginx/1.22.1\r\n"
         "Date: Tue, 04 Feb 2025 10:11:" +
         std::string(second) +
         " GMT\r\n"
         "Content-Type: text/html\r\n"
         "Content-Length: 612\r\n"
         "Last-Modified: Tue, 04 Feb 2025 09:00:00 GMT\r\n"
         "Connection: keep-alive\r\n"
         "ETag: \"67a1d5b0-264\"\r\n"
         "Accept-Ranges: bytes\r\n\r\n" +
         std::string(612, 'x');
}

void parse_in_turn(benchmark::State& state, const std::array<std::string, 2>& wires) {
  ResponseParser parser;
  std::size_t turn = 0;
  for (auto _ : state) {
    parser.start(Method::get);
    const auto step = parser.feed(wires[++turn % 2]);
    if (!step || !step->done) state.SkipWithError("not parsed");
    benchmark::DoNotOptimize(step->body.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(wires[0].size()));
}

// Every head differs from the one before it.
void parse_response(benchmark::State& state) {
  parse_in_turn(state, {nginx_response("12"), nginx_response("13")});
}
BENCHMARK(parse_response);

// As within one second of a server's Date.
void parse_repeated_response(benchmark::State& state) {
  parse_in_turn(state, {nginx_response(), nginx_response()});
}
BENCHMARK(parse_repeated_response);

// The same in two pieces, cut within the head.
void parse_split_response(benchmark::State& state) {
  const std::string wire = nginx_response();
  const std::string_view first = std::string_view(wire).substr(0, 100);
  const std::string_view second = std::string_view(wire).substr(100);
  ResponseParser parser;
  for (auto _ : state) {
    parser.start(Method::get);
    benchmark::DoNotOptimize(parser.feed(first));
    const auto step = parser.feed(second);
    if (!step || !step->done) state.SkipWithError("not parsed");
  }
}
BENCHMARK(parse_split_response);

// 1 MiB in chunks of 16 KiB.
void parse_chunked_response(benchmark::State& state) {
  std::string wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 64; ++i) wire.append("4000\r\n").append(16'384, 'x').append("\r\n");
  wire += "0\r\n\r\n";
  ResponseParser parser;
  for (auto _ : state) {
    parser.start(Method::get);
    std::string_view rest = wire;
    while (!parser.done()) {
      const auto step = parser.feed(rest);
      if (!step) state.SkipWithError("not parsed");
      rest.remove_prefix(step->consumed);
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(wire.size()));
}
BENCHMARK(parse_chunked_response);

void parse_request(benchmark::State& state) {
  const std::string wire =
      "GET /v2/library/debian/manifests/latest HTTP/1.1\r\nHost: localhost:5000\r\nUser-Agent: "
      "plimsoll/0.1\r\n"
      "Accept: application/vnd.oci.image.manifest.v1+json\r\nAccept-Encoding: identity\r\n\r\n";
  RequestParser parser;
  for (auto _ : state) {
    parser.start();
    const auto step = parser.feed(wire);
    if (!step || !step->done) state.SkipWithError("not parsed");
    benchmark::DoNotOptimize(step->consumed);
  }
}
BENCHMARK(parse_request);

void render_one_request(benchmark::State& state) {
  const std::array<HeaderView, 3> fields = {{{"User-Agent", "plimsoll/0.1"},
                                             {"Accept", "application/vnd.oci.image.manifest.v1+json"},
                                             {"Accept-Encoding", "identity"}}};
  std::string out;
  for (auto _ : state) {
    out.clear();
    const auto rendered = render_request(
        out, {.target = "/v2/library/debian/manifests/latest", .host = "localhost:5000", .headers = fields});
    if (!rendered) state.SkipWithError("not rendered");
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(render_one_request);

void render_one_response(benchmark::State& state) {
  const std::array<HeaderView, 4> fields = {{{"Content-Type", "application/octet-stream"},
                                             {"Docker-Distribution-API-Version", "registry/2.0"},
                                             {"Date", "Tue, 04 Feb 2025 10:11:12 GMT"},
                                             {"Accept-Ranges", "bytes"}}};
  std::string out;
  for (auto _ : state) {
    out.clear();
    const auto rendered = render_response(out, {.headers = fields, .content_length = 612});
    if (!rendered) state.SkipWithError("not rendered");
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(render_one_response);

}  // namespace
}  // namespace plimsoll::http
