#include "cli/doctor_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "base/random.h"
#include "cli/bench_options.h"
#include "cli/machine_advice.h"
#include "cli/run_common.h"
#include "cli/suite_run.h"
#include "http/transport.h"
#include "net/loop.h"
#include "stats/record_json.h"
#include "workload/doctor.h"

namespace plimsoll::cli {
namespace {

class DoctorCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("URL", bench_.url, "The registry; without one, this machine alone");
    app.add_flag("--read-only", read_only_, "Ask nothing that would change the registry");
    app.add_option("-A,--auth-creds", bench_.auth, "User and password, split at the first colon")
        ->type_name("USER:PASSWORD");
    app.add_option("--repo", bench_.repository, "Work below this repository; with --read-only, read it")
        ->type_name("NAME");
    add_duration(app, "--timeout", bench_.timeout, "Longest time without progress (default 60s)");
    add_outputs(app, "-o,--output", outputs_, {"text", "json"}, "Output: text (default), json; repeatable");
    add_connection_options(app, bench_.connection);
  }

  Exit run(const std::string& command_line) override {
    const std::uint64_t seed = system_seed();
    stats::Record record = begin_record(command_line, seed);
    Exit ended = Exit::good;
    std::string text;
    if (!bench_.url.empty()) {
      // What is asked is asked in HTTP/1.1, unless said otherwise; a connection of its own asks for HTTP/2.
      if (!bench_.connection.http2) bench_.connection.http1 = true;
      auto registry = probe_registry(bench_.url, "registry", bench_, seed);
      if (!registry) return refuse(registry.error().message);
      auto loop = net::Loop::create(bench_.connection.io);
      if (!loop) return refuse(loop.error().message);
      auto offering = transport_offering_http2();
      if (!offering) return refuse(offering.error().message);
      workload::Examination found = workload::examine(
          **loop, *registry->target,
          {.read_only = read_only_, .repository = bench_.repository, .offering_http2 = &*offering});
      record.targets.push_back(registry->described);
      record.targets.back().tls = found.tls;
      text += registry_text(bench_.url, found);
      if (registry->target->left_behind->load() > 0) {
        fmt::print(stderr, "plimsoll: the registry refused to delete the scratch image; it is still there\n");
      }
      if (!found.plain_push || !found.plain_pull) ended = Exit::some_failed;
      record.capabilities = std::move(found.capabilities);
      record.findings = std::move(found.findings);
    }
    text += machine_text(examine_machine(record.environment));
    if (outputs_.empty()) outputs_.push_back({"text", ""});
    for (const Output& output : outputs_) {
      // Of a machine alone, what --describe reads.
      const std::string json =
          bench_.url.empty() ? stats::to_json(record.environment) : stats::to_json(record);
      if (auto written = write(output, output.format == "json" ? json : text); !written) {
        return refuse(written.error().message);
      }
    }
    return ended;
  }

 private:
  // For the one connection that asks which protocols the registry speaks.
  Checked<http::Transport> transport_offering_http2() const {
    const ConnectionSettings& settings = bench_.connection;
    return http::Transport::make({.cacert = settings.cacert,
                                  .cert = settings.cert,
                                  .key = settings.key,
                                  .insecure = settings.insecure,
                                  .connect_to = settings.connect_to,
                                  .sources = {},
                                  .congestion = settings.congestion,
                                  .unix_socket = {},
                                  .proxies = {},
                                  .protocols = http::Protocols::automatic,
                                  .streams = 1});
  }

  static std::string registry_text(const std::string& url, const workload::Examination& found) {
    std::string text = fmt::format("Registry {}\n", url);
    for (const auto& capability : found.capabilities) {
      text += fmt::format("  {:<24} {:<8} {}{}\n", capability.id, capability.supported, capability.evidence,
                          capability.spec.empty() ? "" : fmt::format("  [{}]", capability.spec));
    }
    text += found.findings.empty() ? "  no strays from the spec were seen\n" : "Strays from the spec\n";
    for (const auto& finding : found.findings) {
      const auto spec = finding.context.find("spec");
      text += fmt::format("  {}: {}{}\n", finding.id, finding.summary,
                          spec == finding.context.end() ? "" : fmt::format("  [{}]", spec->second));
    }
    return text + "\n";
  }

  static std::string machine_text(const std::vector<Advice>& advice) {
    std::string text = "This machine\n";
    for (const Advice& entry : advice) {
      text += fmt::format("  {:<24} {}{}\n", entry.what, entry.value,
                          entry.remark.empty() ? "" : fmt::format("  ({})", entry.remark));
    }
    return text;
  }

  static Checked<void> write(const Output& output, std::string_view text) {
    if (output.file.empty()) {
      fmt::print("{}", text);
      return {};
    }
    std::ofstream file(output.file, std::ios::binary);
    file << text;
    file.close();
    if (!file) return Refusal{fmt::format("cannot write '{}'", output.file)};
    return {};
  }

  BenchOptions bench_;
  bool read_only_ = false;
  std::vector<Output> outputs_;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace plimsoll::cli
