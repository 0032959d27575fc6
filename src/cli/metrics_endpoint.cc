#include "cli/metrics_endpoint.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

#include "http/server.h"
#include "net/address.h"
#include "server/server.h"
#include "server/workers.h"

namespace plimsoll::cli {
namespace {

using Tests = std::vector<std::pair<std::string, load::Progress>>;

// Of a long campaign the first ones make room for the last.
constexpr std::size_t kMostTests = 32;

// Upper bounds of the latency buckets, in seconds: those of `-o openmetrics`.
constexpr std::array kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,  0.1,  0.25,
                                0.5,    1.0,     2.5,    5.0,   10.0,   25.0,  60.0, 150.0, 300.0, 600.0};

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

// Writes families of samples, one after another, each with all tests.
class Writer {
 public:
  explicit Writer(const Tests& tests) : tests_(tests) {}

  void family(std::string_view name, std::string_view type, std::string_view help,
              const std::function<void(const load::Progress&)>& each) {
    name_ = name;
    fmt::format_to(std::back_inserter(out_), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
    for (const auto& [test, progress] : tests_) {
      test_ = label_value(test);
      each(progress);
    }
  }

  // `labels`: more of them, `name="value"`.
  void sample(double value, std::string_view labels = {}, std::string_view suffix = {}) {
    fmt::format_to(std::back_inserter(out_), "{}{}{{test=\"{}\"{}{}}} {:.15g}\n", name_, suffix, test_,
                   labels.empty() ? "" : ",", labels, value);
  }

  std::string finish() { return std::move(out_); }

 private:
  const Tests& tests_;
  std::string name_;
  std::string test_;
  std::string out_;
};

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

void write_counts(Writer& out) {
  out.family("plimsoll_operations_total", "counter", "Operations that ended.", [&](const auto& progress) {
    out.sample(number(progress.ok), R"(result="ok")");
    out.sample(number(progress.failed), R"(result="failed")");
  });
  out.family("plimsoll_errors_total", "counter", "Failed operations by kind.", [&](const auto& progress) {
    for (std::size_t i = 0; i < progress.errors.size(); ++i) {
      if (progress.errors[i] == 0) continue;
      out.sample(number(progress.errors[i]), fmt::format(R"(kind="{}")", name(static_cast<ErrorKind>(i))));
    }
  });
  out.family("plimsoll_responses_total", "counter", "Operations by the class of their last status.",
             [&](const auto& progress) {
               for (std::size_t i = 1; i < progress.statuses.size(); ++i) {
                 out.sample(number(progress.statuses[i]), fmt::format(R"(class="{}xx")", i));
               }
             });
  out.family("plimsoll_bytes_total", "counter", "Bytes on the wire, both ways.",
             [&](const auto& progress) { out.sample(number(progress.bytes)); });
}

void write_gauges(Writer& out) {
  out.family("plimsoll_in_flight", "gauge", "Operations in progress.",
             [&](const auto& progress) { out.sample(number(progress.in_progress)); });
  out.family("plimsoll_operations_per_second", "gauge", "Operations a second, of the last second.",
             [&](const auto& progress) { out.sample(progress.rate_per_s); });
  out.family("plimsoll_bytes_per_second", "gauge", "Bytes a second, of the last second.",
             [&](const auto& progress) { out.sample(progress.bytes_per_s); });
  out.family("plimsoll_phase", "gauge", "1 for the phase that the test is in.",
             [&](const auto& progress) { out.sample(1, fmt::format(R"(phase="{}")", progress.phase)); });
  out.family("plimsoll_phase_seconds", "gauge", "How long it has been in that phase.",
             [&](const auto& progress) { out.sample(progress.elapsed_s); });
  out.family("plimsoll_requested_operations", "gauge", "Operations asked for; 0 where there is no limit.",
             [&](const auto& progress) { out.sample(number(progress.requests)); });
  out.family("plimsoll_requested_seconds", "gauge", "Duration asked for; 0 where there is no limit.",
             [&](const auto& progress) { out.sample(progress.duration_s); });
}

void write_latencies(Writer& out) {
  out.family("plimsoll_last_second_latency_seconds", "gauge",
             "Percentiles of good operations of the last second.", [&](const auto& progress) {
               if (progress.last_second.count() == 0) return;
               for (const double p : {0.5, 0.9, 0.99, 0.999}) {
                 out.sample(number(progress.last_second.percentile(p)) * 1e-9,
                            fmt::format(R"(quantile="{}")", p));
               }
             });
  out.family("plimsoll_latency_seconds", "histogram", "Latency of good operations, from their due time.",
             [&](const auto& progress) {
               const stats::Histogram& latencies = progress.whole_run;
               for (const double bound : kBounds) {
                 out.sample(number(latencies.count_up_to(static_cast<std::uint64_t>(bound * 1e9))),
                            fmt::format(R"(le="{}")", bound), "_bucket");
               }
               out.sample(number(latencies.count()), R"(le="+Inf")", "_bucket");
               out.sample(latencies.mean() * number(latencies.count()) * 1e-9, {}, "_sum");
               out.sample(number(latencies.count()), {}, "_count");
             });
}

}  // namespace

std::string metrics_text(const Tests& tests) {
  Writer out(tests);
  write_counts(out);
  write_gauges(out);
  write_latencies(out);
  return out.finish();
}

struct MetricsEndpoint::Parts final : http::Handler {
  net::Task<void> handle(http::Call& call) override;
  void update(const std::string& test, const load::Progress& progress);

  std::mutex mutex;  // between the watching thread and the server's: never an engine's
  Tests tests;
  server::Workers workers{1};
  std::unique_ptr<server::Server> server;  // last: its thread ends before the rest goes
};

MetricsEndpoint::MetricsEndpoint(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
MetricsEndpoint::~MetricsEndpoint() = default;

Checked<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::start(const std::string& listen) {
  if (listen.empty()) return std::unique_ptr<MetricsEndpoint>();
  const auto address = net::parse_listen(listen);
  if (!address) return Refusal{fmt::format("--metrics {}: {}", listen, address.error().message)};
  auto parts = std::make_unique<Parts>();
  server::ServerOptions options;
  options.listen.push_back(*address);
  options.io = net::IoKind::epoll;
  auto server = server::Server::start(options, *parts, parts->workers);
  if (!server) return Refusal{fmt::format("--metrics {}: {}", listen, server.error().message)};
  parts->server = std::move(*server);
  fmt::print(stderr, "plimsoll: metrics on http://{}/metrics\n",
             parts->server->addresses().front().to_string());
  return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(std::move(parts)));
}

void MetricsEndpoint::update(const std::string& test, const load::Progress& progress) {
  parts_->update(test, progress);
}

void MetricsEndpoint::Parts::update(const std::string& test, const load::Progress& progress) {
  const std::lock_guard lock(mutex);
  if (!tests.empty() && tests.back().first == test) {
    tests.back().second = progress;
    return;
  }
  // A test that runs again takes its own place.
  std::erase_if(tests, [&test](const auto& known) { return known.first == test; });
  if (tests.size() == kMostTests) tests.erase(tests.begin());
  tests.emplace_back(test, progress);
}

net::Task<void> MetricsEndpoint::Parts::handle(http::Call& call) {
  const http::Method method = call.request.method;
  if (call.request.path != "/metrics") {
    call.answer.status = 404;
    call.answer.body = http::Payload::of_static("the metrics are at /metrics\n");
  } else if (method != http::Method::get && method != http::Method::head) {
    call.answer.status = 405;
    call.answer.add("Allow", "GET, HEAD");
  } else {
    const std::lock_guard lock(mutex);
    call.answer.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    call.answer.body = http::Payload::of_text(metrics_text(tests));
  }
  co_return;
}

}  // namespace plimsoll::cli
