// The result record: what one run measured, as plain data. Schema plimsoll.result/1, docs/result.schema.json.
//
// It is the primary artefact. The engine fills one, every output (the console too) is drawn from one, and reading
// a record back loses nothing that writing it kept. Seconds and bytes throughout, as doubles and integers; the
// words are those of docs/terminology.md and the JSON keys are the member names, with the exceptions that
// record_json.h lists (percentiles).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace plimsoll::stats {

inline constexpr std::string_view kRecordSchema = "plimsoll.result/1";

// Summary of one distribution of times, in seconds. All zero where count is 0.
struct LatencySummary {
  std::uint64_t count = 0;
  double min = 0;
  double mean = 0;
  double stddev = 0;
  double max = 0;
  double p50 = 0;
  double p66 = 0;  // ab's and zb's tables want these two; they are in the record as all others are
  double p75 = 0;
  double p80 = 0;
  double p90 = 0;
  double p95 = 0;
  double p98 = 0;
  double p99 = 0;
  double p999 = 0;                       // "p99.9"
  double p9999 = 0;                      // "p99.99"
  std::vector<std::string> unsupported;  // percentiles for which n * (1 - p) < 1: "p99", ...
};

struct Bytes {
  std::uint64_t sent = 0;  // on the wire, heads included, before TLS
  std::uint64_t received = 0;
  std::uint64_t body_sent = 0;
  std::uint64_t body_received = 0;
};

// The example that makes an error count understandable. Secrets are masked before they get here.
struct Sample {
  std::string text;     // "unexpected_status (status 404): BLOB_UPLOAD_UNKNOWN ..."
  std::string peer;     // "127.0.0.1:5000"
  std::string request;  // "PUT /v2/a/blobs/uploads/...?digest=..."
};

struct ErrorCount {
  std::string kind;  // name(ErrorKind) or name(NoteKind)
  std::uint64_t count = 0;
  Sample sample;
};

// One kind of HTTP request inside an operation ("manifest HEAD", "upload PUT").
struct StepRecord {
  std::string name;
  std::uint64_t count = 0;
  std::map<int, std::uint64_t> statuses;
  LatencySummary latency_s;
  LatencySummary ttfb_s;
  Bytes bytes;
};

struct Connections {
  std::uint64_t opened = 0;
  std::uint64_t reused = 0;       // requests that found an open connection
  std::uint64_t reconnected = 0;  // opened in place of one that the peer closed
  LatencySummary connect_s;
  LatencySummary tls_s;
};

struct Phases {
  double prepare = 0;
  double setup = 0;
  double warmup = 0;
  double measure = 0;
  double drain = 0;
  double cleanup = 0;
};

struct Operations {
  std::uint64_t started = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t aborted = 0;  // cut off by the end of the run; started = ok + failed + aborted
};

// One second of the measure phase.
struct SeriesPoint {
  double t_s = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
  double p50_s = 0;
  double p99_s = 0;
};

// What tells whether the figures can be trusted; a reporter shows those that fail next to the figures.
struct Checks {
  double client_cpu = 0;           // share of one core that each engine thread used, the highest of them
  bool client_bound = false;       // the generator, not the server, was the limit
  double run_delay_share = 0;      // share of the measure phase in which a runnable engine thread had no core
  double littles_law_error = 0;    // |N - X*R| / N
  double concurrency_reached = 0;  // mean number of operations in progress
  double schedule_lag_p50_s = 0;   // open loop only: due time to actual start of what could start
  double schedule_lag_p99_s = 0;
  double schedule_lag_p999_s = 0;
  std::vector<std::string> failed;  // one sentence each, ready for a person
};

// Open loop (--rate) only.
struct OpenLoop {
  double offered_per_s = 0;
  double sent_per_s = 0;
  double completed_per_s = 0;
  std::uint64_t backlog_max = 0;
  double backlog_age_max_s = 0;
};

struct TestRecord {
  std::string name;    // "Push Monolith 1MB"
  std::string target;  // name of the target in Record::targets
  std::string action;  // "push", "pull", "catalog", "mixed", "sync", "http"
  int concurrency = 0;
  int repeat = 0;
  std::string samples_file;  // campaigns: the raw CSV beside the record; empty otherwise
  std::string upload;        // "put", "stream", "post", "chunk" where the test pushes
  Phases phases_s;
  Operations operations;
  double rate_per_s = 0;  // completed operations over the measure phase
  Bytes bytes;
  LatencySummary latency_s;  // of good operations, from the due time
  LatencySummary service_s;  // of good operations, from the actual send
  LatencySummary failed_latency_s;
  LatencySummary aborted_age_s;
  std::map<int, std::uint64_t> statuses;  // operations by their last status
  std::vector<ErrorCount> errors;
  std::vector<ErrorCount> notes;
  std::vector<StepRecord> steps;
  // Shares of a mix, by the words of zb's report: {"1MB": 20, "10MB": 70} or {"Pull": 75, "Push": 25}; in order.
  std::vector<std::pair<std::string, std::uint64_t>> mix;
  // Parts of a test that are reported apart, each with its own latency ("cold", "warm").
  std::vector<std::pair<std::string, LatencySummary>> parts;
  Connections connections;
  std::map<std::string, std::string> histograms;  // "latency", "service", ... -> HdrHistogram V2, base64
  std::vector<SeriesPoint> series;
  std::optional<OpenLoop> open_loop;
  Checks checks;
  // Free extras of one command, flat: {"document_length": "1048576", "document_path": "/x"}.
  std::map<std::string, std::string> details;
};

struct Address {
  std::string address;  // "127.0.0.1:5000"
  std::uint64_t connections = 0;
  std::string problem;  // why nothing went there; empty for an address in use
};

struct Target {
  std::string name;
  std::string url;
  std::vector<Address> addresses;
  std::string protocol;  // "HTTP/1.1", "HTTP/2"
  std::string server;    // its own header, and Docker-Distribution-Api-Version where it sent one
  std::string tls;       // "TLSv1.3, TLS_AES_256_GCM_SHA384"; empty in clear
};

// Time from SYN to SYN-ACK, as the kernel measured it, over the connections that were looked at.
struct RoundTrip {
  std::uint64_t count = 0;
  double min = 0;
  double mean = 0;
  double max = 0;
};

// An address that the generator talked to, set-up and clean-up included.
struct Peer {
  // "registry", "token", "storage", "upstream"; of an HTTP load "server", "redirect". Joined by '+' where one origin
  // is several.
  std::string part;
  std::string target;             // name of the target that led there
  std::string origin;             // "http://127.0.0.1:5000"
  std::string address;            // "127.0.0.1:5000"; the proxy's where there is one
  std::vector<std::string> from;  // the generator's own addresses
  std::string proxy;              // that stood between; empty: none
  std::uint64_t connections = 0;
  RoundTrip round_trip_s;
};

struct Load {
  std::string mode = "closed";  // "closed" or "open"
  int concurrency = 0;
  double rate = 0;
  std::uint64_t requests = 0;
  double duration_s = 0;
  double warmup_s = 0;
  int threads = 1;
};

struct Interface {
  std::string name;
  std::string vendor_model;
  std::string speed;
  std::vector<std::string> addresses;
};

struct Disk {
  std::string name;
  std::string vendor_model;
  std::string kind;  // "SSD", "HDD", "virtual"
  std::uint64_t bytes = 0;
};

// The machine that a part of the run was on.
struct Environment {
  std::string role;  // "generator", "registry", ...
  std::string host;
  std::string vendor_model;
  std::string operating_system;
  std::string kernel;
  std::string architecture;
  std::string cpu;
  int processors = 0;  // sockets
  int cores = 0;       // usable by this process
  double frequency_mhz = 0;
  std::string governor;
  std::uint64_t memory_bytes = 0;
  std::vector<Interface> network;
  std::vector<Disk> disks;
  std::map<std::string, std::string> limits;  // "descriptors", "ports", "memory"
  std::string congestion_control;
  std::string io;                               // "epoll" or "uring": the back end in use
  std::map<std::string, std::string> versions;  // "openssl", "liburing", ...
};

struct Threshold {
  std::string expression;
  double observed = 0;
  bool pass = false;
};

struct Finding {
  std::string id;        // stable: "concurrency-ceiling"
  std::string severity;  // "info", "warning", "error"
  std::string summary;   // one sentence
  std::map<std::string, double> evidence;
  std::map<std::string, std::string> context;  // target, action, side, ...
};

// doctor only.
struct Capability {
  std::string id;
  std::string supported;  // "yes", "no", "partly", "unknown"
  std::string evidence;
  std::string spec;  // the section that speaks of it
};

// One run.
struct Record {
  std::string schema{kRecordSchema};
  std::string tool_version;
  std::string command;  // secrets masked
  std::uint64_t seed = 0;
  std::string started;               // RFC 3339, UTC
  std::vector<std::string> skipped;  // names of tests that the selection left out (zb prints them)
  std::string working_dir;
  std::string upstream_url;
  Environment environment;
  std::vector<Environment> machines;  // of servers, from --describe
  std::vector<Target> targets;
  std::vector<Peer> peers;
  Load load;
  std::vector<TestRecord> tests;
  std::vector<Threshold> thresholds;
  std::vector<Finding> findings;
  std::vector<Capability> capabilities;
  std::map<std::string, std::string> attachments;  // file name -> text, from --attach
  bool interrupted = false;
};

}  // namespace plimsoll::stats
