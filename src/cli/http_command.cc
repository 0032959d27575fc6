#include "cli/http_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/http_options.h"
#include "cli/interrupt.h"
#include "cli/live_view.h"
#include "cli/metrics_endpoint.h"
#include "cli/outputs.h"
#include "cli/run_common.h"
#include "cli/sample_files.h"
#include "report/ab_text.h"
#include "report/closing.h"
#include "report/findings.h"
#include "workload/http_load.h"

namespace plimsoll::cli {
namespace {

Checked<std::string> read_file(const std::string& path, std::string_view option) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    return Refusal{fmt::format("{} '{}' cannot be read", option, path)};
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Checked<std::pair<std::string, std::string>> parse_header(const std::string& line) {
  const auto colon = line.find(':');
  const std::string name = line.substr(0, colon);
  if (colon == std::string::npos || !http::is_token(name) || !http::is_field_value(line.substr(colon + 1))) {
    return Refusal{fmt::format("--header '{}': expected 'Name: value'", line)};
  }
  return std::pair(name, std::string(trim(std::string_view(line).substr(colon + 1))));
}

// From -X, else from the environment.
Checked<http::ProxyRules> proxies_of(const HttpOptions& options) {
  const bool asked = !options.proxy.empty();
  auto rules = asked ? http::ProxyRules::always(options.proxy)
                     : http::ProxyRules::of_environment([](const char* name) { return std::getenv(name); });
  if (!rules) return Refusal{(asked ? "--proxy: " : "") + rules.error().message};
  if (!options.proxy_auth.empty()) rules->authorize(options.proxy_auth);
  return rules;
}

class HttpCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    declare_http_options(app, options_);
  }

  Exit run(const std::string& command_line) override {
    called_as_ab_ = app_->get_name() == "ab";
    if (options_.urls.empty() && options_.request_file.empty()) {
      return refuse("http: give a URL, such as http://127.0.0.1:8080/ (see plimsoll http --help)");
    }
    if (auto ready = prepare(); !ready) return refuse(ready.error().message);
    auto outputs = OutputFiles::open(record_outputs_, options_.result_file, options_.quiet || options_.html);
    if (!outputs) return refuse(outputs.error().message);
    auto rows = SampleOutputs::open(sample_outputs_);
    if (!rows) return outputs->refuse_before_run(rows.error().message);
    return measure(command_line, *outputs, *rows);
  }

 private:
  Checked<void> prepare() {
    auto rules = parse_rules(options_.fail_if);
    if (!rules) return rules.error();
    rules_ = std::move(*rules);
    if (auto good = prepare_requests(); !good) return good;
    if (auto good = prepare_transport(); !good) return good;
    plan();
    if (auto enough = reserve_descriptors((plan_.rate ? plan_.max_workers : plan_.concurrency) / plan_.group);
        !enough)
      return enough;
    for (const Output& output : options_.outputs) {
      const bool is_rows = output.format == "csv" || output.format == "hgrm" || output.format == "hlog";
      (is_rows ? sample_outputs_ : record_outputs_).push_back(output);
    }
    if (!options_.percentile_file.empty())
      sample_outputs_.push_back({"ab-percentiles", options_.percentile_file});
    if (!options_.gnuplot_file.empty()) sample_outputs_.push_back({"ab-gnuplot", options_.gnuplot_file});
    plan_.keep_samples = std::ranges::any_of(sample_outputs_, [](const Output& output) {
      return output.format == "csv" || output.format == "ab-gnuplot";
    });
    return {};
  }

  Checked<void> prepare_requests() {
    if (!options_.request_file.empty()) {
      auto text = read_file(options_.request_file, "--requests-file");
      if (!text) return text.error();
      auto parsed = workload::parse_requests(
          *text, std::filesystem::path(options_.request_file).parent_path().string());
      if (!parsed) return parsed.error();
      requests_ = std::move(*parsed);
    }
    for (const std::string& text : options_.urls) {
      auto url = http::parse_url(text);
      if (!url) {
        return Refusal{fmt::format("'{}' is not a URL: {} (expected a form like http://127.0.0.1:8080/path)",
                                   masked_url(text), url.error().text)};
      }
      requests_.push_back({.method = "GET", .url = std::move(*url), .headers = {}, .body = {}});
    }
    return apply_request_options();
  }

  Checked<void> apply_request_options() {
    std::string method = options_.head ? "HEAD" : options_.method;
    std::string body_file = options_.post_file.empty() ? options_.put_file : options_.post_file;
    if (!options_.post_file.empty() && !options_.put_file.empty())
      return Refusal{"-p and -u exclude each other"};
    if (options_.head && !body_file.empty()) return Refusal{"-i sends no body: -p and -u do not go with it"};
    std::string body;
    if (!body_file.empty()) {
      auto read = read_file(body_file, options_.post_file.empty() ? "--put" : "--post");
      if (!read) return read.error();
      body = std::move(*read);
      if (method.empty()) method = options_.post_file.empty() ? "PUT" : "POST";
    }
    if (!method.empty() && !http::is_token(method))
      return Refusal{fmt::format("--method '{}' is no method", method)};
    std::vector<std::pair<std::string, std::string>> headers;
    for (const std::string& line : options_.connection.headers) {
      auto header = parse_header(line);
      if (!header) return header.error();
      headers.push_back(std::move(*header));
    }
    if (!options_.auth.empty())
      headers.emplace_back("Authorization", "Basic " + base64_encode(options_.auth));
    // One field, however many there are (RFC 6265, section 5.4).
    if (!options_.cookies.empty())
      headers.emplace_back("Cookie", fmt::format("{}", fmt::join(options_.cookies, "; ")));
    if (!body_file.empty()) {
      headers.emplace_back("Content-Type",
                           options_.content_type.empty() ? "text/plain" : options_.content_type);
    }
    for (const auto& [name, value] : headers) {
      if (!http::is_field_value(value))
        return Refusal{fmt::format("the value of {} holds a control character", name)};
    }
    for (auto& request : requests_) {
      if (!method.empty()) request.method = method;
      request.headers.insert(request.headers.end(), headers.begin(), headers.end());
      if (!body_file.empty()) {
        request.body = body;
        request.has_body = true;
      }
    }
    return {};
  }

  Checked<void> prepare_transport() {
    net::SourcePool sources;
    if (!options_.sources.empty()) {
      auto pool = options_.sources.find('/') == std::string::npos
                      ? net::SourcePool::from_list(options_.sources)
                      : net::SourcePool::from_cidr(options_.sources);
      if (!pool) return Refusal{"--source: " + pool.error().message};
      sources = std::move(*pool);
    }
    auto proxies = proxies_of(options_);
    if (!proxies) return proxies.error();
    const auto protocols = protocols_of(options_.connection, http::Protocols::http1);
    if (!protocols) return protocols.error();
    auto transport = http::Transport::make({.cacert = options_.connection.cacert,
                                            .cert = options_.connection.cert,
                                            .key = options_.connection.key,
                                            .insecure = options_.connection.insecure,
                                            .connect_to = options_.connection.connect_to,
                                            .sources = std::move(sources),
                                            .congestion = options_.connection.congestion,
                                            .unix_socket = options_.unix_socket,
                                            .proxies = std::move(*proxies),
                                            .protocols = *protocols,
                                            .streams = options_.connection.streams});
    if (!transport) return transport.error();
    transport_.emplace(std::move(*transport));
    // A name without an address is found before the run.
    for (const auto& request : requests_) {
      if (auto connector = transport_->connector(request.url, 0); !connector) return connector.error();
    }
    return {};
  }

  void plan() {
    const int streams = options_.connection.streams;
    plan_.concurrency = options_.concurrency * streams;
    plan_.group = streams;
    plan_.requests = options_.duration > Nanos{} && !options_.requests_given ? 0 : options_.requests;
    // ab's -t "implies -n 50000".
    if (called_as_ab_ && plan_.requests == 0) plan_.requests = 50'000;
    plan_.duration = options_.duration;
    plan_.warmup = options_.warmup;
    plan_.ramp = options_.ramp;
    plan_.rate = options_.rate;
    plan_.arrivals = options_.arrivals == "poisson" ? load::Arrivals::poisson : load::Arrivals::even;
    plan_.max_workers =
        streams * (options_.max_connections > 0
                       ? options_.max_connections
                       : std::max(options_.concurrency, std::min(options_.concurrency * 10, 1024)));
    plan_.threads = std::min(options_.threads, options_.concurrency);
    plan_.seed = options_.seed.value_or(system_seed());
    plan_.io = options_.connection.io;
    plan_.drain_limit = std::max<Nanos>(std::chrono::seconds(10), options_.timeout);
  }

  Exit measure(const std::string& command_line, OutputFiles& outputs, SampleOutputs& rows) {
    stats::Record record = begin_record(command_line, plan_.seed);
    const bool keep_alive = !options_.no_keepalive && (!called_as_ab_ || options_.keep_alive_asked);
    workload::HttpLoad load({.requests = requests_,
                             .keep_alive = keep_alive,
                             .requests_per_connection = options_.connections_reuse,
                             .timeout = options_.timeout,
                             .follow = options_.follow,
                             .http2 = options_.connection.http2,
                             .same_length = options_.same_length},
                            *transport_, plan_.threads);
    const http::Url& first = requests_.front().url;
    if (!options_.html) outputs.print(report::ab_banner(record.tool_version, first.host));
    load::StopSignal stop;
    const InterruptListener interrupts(stop);
    // Its thread leaves the signals to the listener.
    auto metrics = MetricsEndpoint::start(options_.metrics);
    if (!metrics) return outputs.refuse_before_run(metrics.error().message);
    LiveView live(metrics->get(), options_.quiet_progress);
    auto measured = load::run(plan_, load, stop, live.watch(first.authority()));
    live.wipe();
    if (!measured) return outputs.refuse_before_run(measured.error().message);
    describe(record, *measured, load, keep_alive);
    if (!options_.html) outputs.print(".....done\n");
    print_report(record.tests.front(), outputs);
    record.findings = report::record_findings(record);
    evaluate_rules(rules_, record);
    if (!options_.html) outputs.print(report::closing_lines(record));
    if (const auto written = outputs.write(record); !written) return refuse(written.error().message);
    if (const auto written = rows.write(record, measured->samples); !written)
      return refuse(written.error().message);
    if (measured->interrupted) return Exit::interrupted;
    return verdict(rules_, record);
  }

  void print_report(const stats::TestRecord& test, const OutputFiles& outputs) const {
    const report::AbOptions how{.confidence = !options_.no_confidence,
                                .percentages = !options_.no_percentages,
                                .html = options_.html,
                                .more = true};
    const std::string text = report::ab_report(test, how);
    if (options_.html && !options_.quiet) {
      fmt::print("{}", text);
    } else {
      outputs.print(text);
    }
  }

  bool is_proxied(const std::string& origin) const {
    const auto url = http::parse_url(origin);
    const auto proxies = proxies_of(options_);
    return url && proxies && options_.unix_socket.empty() && proxies->of(*url) != nullptr;
  }

  void describe(stats::Record& record, load::Measured& measured, const workload::HttpLoad& load,
                bool keep_alive) {
    const workload::HttpFacts facts = load.facts();
    const http::Url& first = requests_.front().url;
    record.interrupted = measured.interrupted;
    record.environment.io = measured.io;
    record.load.mode = plan_.rate ? "open" : "closed";
    record.load.concurrency = plan_.concurrency;  // requests in flight
    record.load.rate = plan_.rate.value_or(0);
    record.load.requests = plan_.requests;
    record.load.duration_s = seconds(plan_.duration);
    record.load.warmup_s = seconds(plan_.warmup);
    record.load.threads = plan_.threads;
    stats::Target target{.name = first.authority(),
                         .url = options_.urls.empty() ? first.text() : options_.urls.front(),
                         .addresses = {},
                         .protocol = facts.protocol,
                         .server = facts.server,
                         .tls = facts.tls};
    record.peers = load.peers();
    for (stats::Peer& peer : record.peers) {
      peer.target = target.name;
      if (is_proxied(peer.origin)) peer.proxy = peer.address;
      target.addresses.push_back({peer.address, peer.connections, ""});
    }
    record.targets.push_back(std::move(target));
    stats::TestRecord test = std::move(measured.test);
    test.name = first.text();
    test.target = record.targets.front().name;
    test.action = "http";
    test.details = {
        {"server_software", facts.server},
        {"host", first.host},
        {"port", fmt::format("{}", first.port)},
        {"document_path", first.target},
        {"document_length",
         options_.variable_length ? "Variable" : fmt::format("{}", facts.document_length.value_or(0))},
        {"keep_alive", keep_alive ? "yes" : "no"},
        {"keep_alive_requests", fmt::format("{}", facts.kept_alive)}};
    if (!facts.tls.empty()) test.details["tls"] = facts.tls;
    if (options_.connection.http2) {
      test.details["connections"] = fmt::format("{}", options_.concurrency);
      test.details["streams"] = fmt::format("{}", options_.connection.streams);
    }
    if (requests_.front().has_body) test.details["body_sent"] = "yes";
    record.tests.push_back(std::move(test));
  }

  CLI::App* app_ = nullptr;
  HttpOptions options_;
  bool called_as_ab_ = false;
  std::vector<workload::HttpRequestTemplate> requests_;
  std::optional<http::Transport> transport_;
  load::Plan plan_;
  std::vector<report::ThresholdRule> rules_;
  std::vector<Output> record_outputs_;
  std::vector<Output> sample_outputs_;
};

}  // namespace

std::unique_ptr<Command> make_http_command() {
  return std::make_unique<HttpCommand>();
}

}  // namespace plimsoll::cli
