#include "cli/bench_options.h"

namespace plimsoll::cli {
namespace {

// zb's flags, with zb's letters.
void declare_zb_flags(CLI::App& app, BenchOptions& o) {
  app.add_option("URL", o.url, "The registry, such as http://127.0.0.1:5000");
  app.add_option(
         "-A,--auth-creds", o.auth,
         "User and password, split at the first colon (else PLIMSOLL_AUTH, else docker's config.json)")
      ->type_name("USER:PASSWORD");
  add_count(app, "-c,--concurrency", o.concurrency, 1, "Number of workers (default 1)");
  add_count(app, "-n,--requests", o.requests, 1, "Number of operations a test: exactly that many (default 1)")
      ->each([&o](const std::string&) { o.requests_given = true; });
  app.add_option("-r,--repo", o.repository, "Push below this repository on the registry")->type_name("NAME");
  app.add_option("-t,--test-regex", o.test_regex,
                 "Run the tests whose name this RE2 expression finds; all if blank")
      ->type_name("REGEX");
  app.add_flag("-l,--list-tests", o.list_tests, "Print the names of the tests (that -t finds) and exit");
  app.add_flag("--skip-cleanup", o.skip_cleanup, "Leave what was pushed in the registry");
  app.add_option("-s,--src-cidr", o.source_cidr, "Make requests from the addresses of this network")
      ->type_name("CIDR");
  app.add_option("-i,--src-ips", o.source_ips,
                 "Make requests from these addresses, comma-separated (IPv4 also colon-separated)")
      ->type_name("IP,...");
  app.add_option("-u,--upstream-server-url", o.upstream_url, "Upstream registry of the sync tests")
      ->type_name("URL");
  app.add_option("-d,--working-dir", o.working_dir,
                 "Directory for test data; must exist, nothing in it is removed")
      ->type_name("DIR");
  app.add_flag("-v,--version", o.show_version, "Print the version and exit");
}

void declare_load(CLI::App& app, BenchOptions& o) {
  add_duration(app, "--duration", o.duration,
               "Measure each test for this long; with -n, whichever comes first");
  add_duration(app, "--warmup", o.warmup, "Load the registry this long before measuring");
  add_rate(app, "--rate", o.rate, "Open loop: start this many operations a second, however long they take");
  add_count(app, "--threads", o.threads, 1, "Engine threads (default 1)");
  app.add_option("--seed", o.seed, "Seed of everything random; printed when not given")->type_name("N");
  add_duration(app, "--timeout", o.timeout, "Longest time without progress (default 60s)");
  add_duration(app, "--deadline", o.deadline, "Longest time of one request");
  app.add_flag("--no-keepalive", o.no_keepalive, "Open a connection for each request");
}

void declare_protocol(CLI::App& app, BenchOptions& o) {
  app.add_option(
         "--upload", o.upload,
         "How blobs are pushed: put, post, stream, chunk, or auto: what the registry takes, tried before "
         "anything is measured (default: put for Push Monolith, stream for Push Chunk)")
      ->type_name("KIND")
      ->check(one_of({"put", "post", "stream", "chunk", "auto"}));
  add_size(app, "--chunk-size", o.chunk_size,
           "Size of chunks; implies --upload chunk for Push Chunk Streamed");
  app.add_option(
         "--mount", o.mount,
         "Pushes mount their blobs from a repository that was seeded before (cross), or from wherever the "
         "registry has them (anonymous); what it does not mount is uploaded")
      ->type_name("KIND")
      ->check(one_of({"cross", "anonymous"}));
  app.add_flag("--same-content", o.same_content, "Push the same content again and again, as zb does");
  app.add_flag("--no-verify", o.no_verify,
               "Do not check digests of what is pulled; bodies are then not even copied");
  add_count(
      app, "--retries", o.retries, 0,
      "Repeat a request so often after 429, 408, 5xx and lost connections, and resume uploads (default 0); "
      "attempts and waiting are in the record");
  app.add_flag(
      "--respect-retry-after", o.respect_retry_after,
      "Wait as long as Retry-After says: before a retry, or without retries before the next request");
  app.add_option("--ns", o.mirror_of, "The registry is a mirror of this host: send ns= on reads")
      ->type_name("HOST");
}

void declare_images(CLI::App& app, BenchOptions& o) {
  auto* images =
      app.add_option("--images", o.images,
                     "Pull these images, which are already there, in place of the suite: references, or "
                     "files that list them with weights; nothing is written")
          ->type_name("FILE|REF");
  app.add_option(
         "--client", o.client,
         "Pull as docker (3 layers at once), containerd (3 blobs at once) or serial does (default docker)")
      ->type_name("KIND")
      ->check(one_of({"docker", "containerd", "serial"}))
      ->needs(images);
  app.add_option("--platform", o.platform, "Of an index, pull this platform alone (default: all of them)")
      ->type_name("OS/ARCH")
      ->needs(images);
  app.add_flag("--cold", o.cold,
               "Pull the images in turn, none again before all others; weights don't matter")
      ->needs(images);
  app.add_flag(
         "--keep-clients", o.keep_clients,
         "Workers keep connections and tokens from pull to pull (else every pull is a client of its own)")
      ->needs(images);
}

void declare_output(CLI::App& app, BenchOptions& o) {
  add_outputs(app, "-o,--output-format", o.outputs,
              {"stdout", "text", "json", "ci-cd", "csv", "md", "openmetrics", "junit", "bench-bigger",
               "bench-smaller"},
              "Output: text, json, ci-cd, csv, md, openmetrics, junit, bench-bigger, bench-smaller; "
              "repeatable");
  app.add_option("--result", o.result_file, "Write the result record (JSON) to this file")->type_name("FILE");
  app.add_flag("--quiet", o.quiet, "No report on stdout");
  add_metrics(app, o.metrics);
  app.add_flag("--legacy-timing", o.legacy_timing,
               "Count set-up and clean-up as zb does, for an old time series");
  app.add_option("--fail-if", o.fail_if,
                 "Exit with 3 if this holds: 'p99 > 50ms', 'errors > 0.1%'; repeatable")
      ->type_name("CONDITION")
      ->type_size(1)
      ->allow_extra_args(false);
}

}  // namespace

void declare_bench_options(CLI::App& app, BenchOptions& options) {
  declare_zb_flags(app, options);
  declare_load(app, options);
  declare_protocol(app, options);
  declare_images(app, options);
  declare_output(app, options);
  add_connection_options(app, options.connection);
  add_count(app, "--streams", options.connection.streams, 1,
            "With --http2: clients that share a connection (default 1: each has its own)");
}

}  // namespace plimsoll::cli
