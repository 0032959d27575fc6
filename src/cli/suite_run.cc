#include "cli/suite_run.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "load/run.h"
#include "net/scope.h"
#include "oci/authenticator.h"
#include "oci/reference.h"
#include "workload/measured_connectors.h"
#include "workload/upload_choice.h"

namespace plimsoll::cli {
namespace {

Checked<net::SourcePool> sources_of(const BenchOptions& options) {
  if (!options.source_cidr.empty()) {
    auto pool = net::SourcePool::from_cidr(options.source_cidr);
    if (!pool) return Refusal{"--src-cidr: " + pool.error().message};
    return pool;
  }
  if (options.source_ips.empty()) return net::SourcePool{};
  auto pool = net::SourcePool::from_list(options.source_ips);
  if (!pool) return Refusal{"--src-ips: " + pool.error().message};
  return pool;
}

Checked<http::Transport> transport_of(const BenchOptions& options) {
  auto sources = sources_of(options);
  if (!sources) return sources.error();
  const auto protocols = protocols_of(options.connection, http::Protocols::automatic);
  if (!protocols) return protocols.error();
  return http::Transport::make({.cacert = options.connection.cacert,
                                .cert = options.connection.cert,
                                .key = options.connection.key,
                                .insecure = options.connection.insecure,
                                .connect_to = options.connection.connect_to,
                                .sources = std::move(*sources),
                                .congestion = options.connection.congestion,
                                .unix_socket = {},
                                .proxies = {},
                                .protocols = *protocols,
                                .streams = options.connection.streams});
}

// Header options, checked: nothing in them may end the line they stand in.
Checked<std::vector<std::pair<std::string, std::string>>> headers_of(const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const std::string& line : given) {
    const auto colon = line.find(':');
    const std::string name = line.substr(0, colon);
    if (colon == std::string::npos || !http::is_token(name) ||
        !http::is_field_value(line.substr(colon + 1))) {
      return Refusal{fmt::format("--header '{}': expected 'Name: value'", line)};
    }
    headers.emplace_back(name, std::string(trim(std::string_view(line).substr(colon + 1))));
  }
  return headers;
}

Checked<std::string> prefix_of(const std::string& repository) {
  if (repository.empty()) return std::string();
  if (!oci::is_repository_name(repository)) {
    return Refusal{
        fmt::format("--repo '{}' is not a repository name (distribution-spec: lower case letters, digits, "
                    "separated by . _ - and /)",
                    repository)};
  }
  return repository + "/";
}

bool looks_like_html(std::string_view body) {
  const auto start = body.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && body[start] == '<';
}

// Why an answer to GET /v2/ shows that there is no registry, or none that lets us in; empty where there is one.
std::string objection(const oci::RegistryClient& registry, const Result<std::string>& ping,
                      const std::string& url) {
  const int status = registry.last_status();
  if (!ping) {
    if (status == 401 || status == 403) {
      return fmt::format("{}: the registry refused us ({}): give credentials with -A user:password", url,
                         status);
    }
    if (status == 404) return fmt::format("{} is not a registry: GET /v2/ answers 404", url);
    if (ping.error().kind == ErrorKind::connect_refused)
      return fmt::format("{}: connection refused: nothing listens there", url);
    const std::string& why = registry.detail().text;
    return fmt::format("{}: {}", url, why.empty() ? describe(ping.error()) : why);
  }
  if (looks_like_html(*ping))
    return fmt::format("{} is not a registry: GET /v2/ answers with an HTML page", url);
  return {};
}

std::string run_id(std::uint64_t seed) {
  // The seed repeats what a run draws; its names must not repeat, or a second run would find the first one's images.
  std::uint64_t state = system_seed() ^ (seed << 32U);
  return fmt::format("{:08x}", static_cast<std::uint32_t>(splitmix64(state)));
}

net::Task<void> ping_into(oci::RegistryClient& registry, Result<std::string>& ping) {
  ping = co_await registry.ping();
}

workload::UploadKind upload_of(const workload::RegistryTest& test, const BenchOptions& options) {
  using workload::UploadKind;
  if (options.upload == "put") return UploadKind::put;
  if (options.upload == "post") return UploadKind::post;
  if (options.upload == "stream") return UploadKind::stream;
  if (options.upload == "chunk") return UploadKind::chunk;
  if (options.chunk_size > 0 && test.upload == UploadKind::stream) return UploadKind::chunk;
  return test.upload;
}

// What one operation moves, where all move the same.
std::optional<std::uint64_t> data_size_of(const workload::RegistryTest& test) {
  if (test.kind == workload::RegistryTestKind::catalog || test.mixes_sizes()) return std::nullopt;
  for (std::size_t i = 0; i < test.sizes.size(); ++i) {
    if (test.sizes[i] > 0) return workload::kSizeClasses[i].bytes;
  }
  return std::nullopt;
}

workload::MountKind mount_of(const BenchOptions& options) {
  if (options.mount == "cross") return workload::MountKind::cross;
  return options.mount == "anonymous" ? workload::MountKind::anonymous : workload::MountKind::none;
}

net::Task<void> choose_into(net::Loop& loop, const workload::RegistryTarget& target,
                            const workload::Contents& contents, const workload::RegistryTest& test,
                            Checked<workload::UploadChoice>& chosen) {
  // The largest size tells what smaller ones may not: a proxy's limit on bodies.
  const auto largest = static_cast<std::size_t>(std::bit_width(test.size_classes())) - 1;
  chosen = co_await choose_upload(loop, target, contents, largest, test.upload);
}

// Tries on a loop of its own, before the run.
Checked<workload::UploadChoice> try_uploads(const workload::RegistryTarget& target,
                                            const workload::Contents& contents,
                                            const workload::RegistryTest& test, net::IoKind io) {
  auto loop = net::Loop::create(io);
  if (!loop) return loop.error();
  Checked<workload::UploadChoice> chosen = Refusal{""};
  (*loop)->run(choose_into(**loop, target, contents, test, chosen));
  return chosen;
}

}  // namespace

load::Plan plan_of(const BenchOptions& options, std::uint64_t seed) {
  load::Plan plan;
  plan.concurrency = options.concurrency;
  plan.requests = options.duration > Nanos{} && !options.requests_given ? 0 : options.requests;
  plan.duration = options.duration;
  plan.warmup = options.warmup;
  plan.rate = options.rate;
  plan.max_workers = options.concurrency;
  plan.group = options.connection.streams;
  plan.threads = std::min(options.threads, (options.concurrency + plan.group - 1) / plan.group);
  plan.seed = seed;
  plan.io = options.connection.io;
  plan.drain_limit = std::max<Nanos>(std::chrono::seconds(10), options.timeout);
  return plan;
}

Checked<ProbedRegistry> probe_registry(const std::string& url, std::string name, const BenchOptions& options,
                                       std::uint64_t seed) {
  auto base = http::parse_url(url);
  if (!base) {
    return Refusal{
        fmt::format("'{}' is not a registry's URL: {} (expected a form like http://127.0.0.1:5000)",
                    masked_url(url), base.error().text)};
  }
  while (base->target.ends_with('/')) base->target.pop_back();
  auto transport = transport_of(options);
  if (!transport) return transport.error();
  auto headers = headers_of(options.connection.headers);
  if (!headers) return headers.error();
  auto prefix = prefix_of(options.repository);
  if (!prefix) return prefix.error();
  std::optional<std::string_view> auth;
  if (options.auth) auth = *options.auth;
  auto credentials = oci::find_credentials(auth, base->authority());
  if (!credentials) return credentials.error();
  // Before any loop exists, so that a name that does not resolve is found at once.
  if (auto connector = transport->connector(*base, 0); !connector) return connector.error();

  ProbedRegistry probed;
  probed.target = std::make_unique<workload::RegistryTarget>();
  workload::RegistryTarget& target = *probed.target;
  target.options = {.base = *base,
                    .timeout = options.timeout,
                    .deadline = options.deadline.value_or(Nanos::max()),
                    .headers = std::move(*headers),
                    .user_agent = fmt::format("plimsoll/{}", kVersion),
                    .mirror_of = options.mirror_of,
                    .retries = options.retries,
                    .respect_retry_after = options.respect_retry_after,
                    .verify = !options.no_verify,
                    .keep_alive = !options.no_keepalive};
  target.credentials = *credentials;
  target.repository_prefix = *prefix;
  target.run_id = run_id(seed);
  target.nonce = options.same_content ? seed : system_seed() * 0x9e3779b97f4a7c15ULL ^ seed;
  target.same_content = options.same_content;
  target.skip_cleanup = options.skip_cleanup;
  target.chunk_size = options.chunk_size == 0 ? 5U << 20U : options.chunk_size;
  target.tally = std::make_shared<workload::PeerTally>();
  target.connectors = [shared = std::make_shared<http::Transport>(std::move(*transport)),
                       tally = target.tally](int thread) -> std::unique_ptr<oci::Connectors> {
    return std::make_unique<workload::MeasuredConnectors>(*shared, thread, tally);
  };

  auto loop = net::Loop::create(options.connection.io);
  if (!loop) return loop.error();
  const auto connectors = target.connectors(0);
  std::string problem;
  {
    oci::Authenticator authenticator(**loop, *connectors, target.options.base, target.credentials);
    oci::RegistryClient registry(**loop, *connectors, authenticator, target.options, nullptr, nullptr);
    Result<std::string> ping;
    (*loop)->run(ping_into(registry, ping));
    problem = objection(registry, ping, url);
    // An image may be for everybody where the rest of the registry is not.
    const int status = registry.last_status();
    if (!options.images.empty() && (status == 401 || status == 403)) problem.clear();
    probed.described.server = registry.server();
    probed.described.protocol = registry.protocol();
  }
  if (!problem.empty()) return Refusal{problem};
  probed.described.name = std::move(name);
  probed.described.url = url;
  return probed;
}

std::vector<stats::Peer> peers_of(const ProbedRegistry& registry, std::string_view part) {
  std::vector<stats::Peer> peers = registry.target->tally->peers();
  for (stats::Peer& peer : peers) {
    peer.target = registry.described.name;
    if (peer.part.starts_with("registry")) peer.part.replace(0, std::string_view("registry").size(), part);
  }
  return peers;
}

Checked<Selection> select_tests(const std::string& regex, bool with_sync) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  const RE2 pattern(regex, quiet);
  if (!pattern.ok()) {
    return Refusal{
        fmt::format("--test-regex '{}' is not a regular expression (RE2): {}", regex, pattern.error())};
  }
  Selection selection;
  for (const workload::RegistryTest& test : workload::registry_tests()) {
    const bool found = RE2::PartialMatch(re2::StringPiece(test.name.data(), test.name.size()), pattern);
    if (found && (with_sync || test.kind != workload::RegistryTestKind::sync)) {
      selection.chosen.push_back(&test);
    } else {
      selection.skipped.emplace_back(test.name);
    }
  }
  return selection;
}

Checked<stats::TestRecord> run_registry_test(const workload::RegistryTest& test,
                                             const workload::RegistryTarget& target,
                                             const workload::RegistryTarget* upstream,
                                             const BenchOptions& options, std::uint64_t seed,
                                             load::StopSignal& stop, const load::Watch& watch,
                                             std::string& io, std::vector<load::SampleFile>* samples) {
  const Instant start = now();
  workload::RegistryTest chosen = test;
  chosen.upload = upload_of(test, options);
  auto contents = workload::Contents::make(chosen.size_classes(), target.nonce);
  if (!contents) return contents.error();
  const double prepare = seconds(now() - start);

  const bool syncs = chosen.kind == workload::RegistryTestKind::sync;
  workload::UploadChoice choice{.kind = chosen.upload, .refused = {}};
  const Instant trying = now();
  if (options.upload == "auto") {
    auto tried = try_uploads(syncs ? *upstream : target, *contents, chosen, options.connection.io);
    if (!tried) return Refusal{fmt::format("{}: {}", test.name, tried.error().message)};
    choice = std::move(*tried);
    chosen.upload = choice.kind;
  }
  const double tried_for = seconds(now() - trying);

  load::Plan plan = plan_of(options, seed);
  plan.keep_samples = samples != nullptr;
  workload::RegistryTarget measured_target = target;
  measured_target.seed_upload = chosen.upload;
  measured_target.mount = mount_of(options);
  std::optional<workload::RegistryTarget> seeded_upstream;
  if (syncs) {
    seeded_upstream = *upstream;
    seeded_upstream->seed_upload = chosen.upload;
  }
  if (chosen.kind == workload::RegistryTestKind::sync) {
    // A registry that syncs answers the first request only when it has copied the whole image.
    measured_target.options.timeout = std::max<Nanos>(target.options.timeout, std::chrono::minutes(30));
  }
  *target.left_behind = 0;
  const auto workload = make_workload(chosen, measured_target, *contents,
                                      {.workers = plan.concurrency,
                                       .threads = plan.threads,
                                       .requests = plan.requests == 0 ? options.requests : plan.requests,
                                       .upstream = seeded_upstream ? &*seeded_upstream : nullptr});
  auto measured = load::run(plan, *workload, stop, watch);
  if (!measured) return measured.error();
  io = measured->io;
  if (!measured->setup_failure.empty() && !measured->interrupted) {
    return Refusal{fmt::format("{}: {}", test.name, measured->setup_failure)};
  }
  if (samples != nullptr) *samples = std::move(measured->samples);
  stats::TestRecord record = std::move(measured->test);
  record.name = test.name;
  record.action = test.action();
  record.phases_s.prepare = prepare;
  record.phases_s.setup += tried_for;
  if (!choice.refused.empty()) record.details["upload_refused"] = choice.refused;
  if (measured_target.mount != workload::MountKind::none && chosen.pushes())
    record.details["mount"] = name(measured_target.mount);
  if (chosen.kind != workload::RegistryTestKind::catalog) record.upload = name(chosen.upload);
  if (const auto size = data_size_of(chosen)) record.details["data_size"] = fmt::format("{}", *size);
  if (options.legacy_timing) {
    const stats::Phases& p = record.phases_s;
    record.details["legacy_time_s"] = fmt::format("{}", p.setup + p.warmup + p.measure + p.drain + p.cleanup);
  }
  if (const auto left = target.left_behind->load(); left > 0) {
    record.details["left_behind"] = fmt::format("{}", left);
  }
  return record;
}

}  // namespace plimsoll::cli
