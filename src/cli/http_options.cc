#include "cli/http_options.h"

namespace plimsoll::cli {
namespace {

void declare_ab_flags(CLI::App& app, HttpOptions& o) {
  app.add_option("URL", o.urls, "What to load; several are taken in turn");
  add_count(app, "-n,--requests", o.requests, 1, "Number of requests: exactly that many (default 1)")
      ->each([&o](const std::string&) { o.requests_given = true; });
  add_count(app, "-c,--concurrency", o.concurrency, 1,
            "Number of connections, one request at a time each, or --streams with --http2 (default 1)");
  add_duration(app, "-t,--duration,--timelimit", o.duration,
               "Load for this long; with -n, whichever comes first");
  add_duration(app, "-s,--timeout", o.timeout,
               "Longest time from a request's sending to its last byte (default 30s)");
  app.add_flag("-i,--head", o.head, "Send HEAD requests");
  // Of what is given twice ab takes the last.
  const auto text = [&app](const char* names, std::string& into, const char* help, const char* type) {
    app.add_option(names, into, help)->type_name(type)->take_last();
  };
  text("-m,--method", o.method, "Method, such as OPTIONS", "METHOD");
  text("-A,--auth", o.auth, "Basic authentication, split at the first colon", "USER:PASSWORD");
  app.add_option("-C,--cookie", o.cookies, "Cookie; repeatable")
      ->type_name("NAME=VALUE")
      ->type_size(1)
      ->allow_extra_args(false);
  text("-T,--content-type", o.content_type, "Content-Type of the body (default text/plain)", "TYPE");
  text("-p,--post", o.post_file, "POST this file", "FILE");
  text("-u,--put", o.put_file, "PUT this file", "FILE");
  text("-e", o.percentile_file, "Write percentages and times as CSV, as ab does", "FILE");
  text("-g", o.gnuplot_file, "Write one line a request for gnuplot, as ab does", "FILE");
  app.add_flag("-r", o.ignore_receive_errors, "Accepted: an error never ends a run");
  app.add_flag("-l", o.variable_length, "Accepted: bodies may differ in length");
  app.add_flag("-q", o.quiet_progress, "No progress");
  app.add_flag("-d", o.no_percentages, "No percentage table");
  app.add_flag("-S", o.no_confidence, "No deviation and median in the table of times");
  add_count(app, "-v,--verbosity", o.verbosity, 0, "2 and more: print the server's first answer's facts");
  app.add_flag("-w", o.html, "Report as an HTML table");
  text("-X,--proxy", o.proxy, "Send requests through this HTTP proxy (default: http_proxy, https_proxy)",
       "HOST:PORT");
  text("-P,--proxy-auth", o.proxy_auth, "Basic authentication for the proxy", "USER:PASSWORD");
  app.add_flag("-k", o.keep_alive_asked, "Accepted: keep-alive is on (called as ab, this turns it on)");
}

void declare_load(CLI::App& app, HttpOptions& o) {
  app.add_option("--requests-file", o.request_file,
                 "File of requests: METHOD URL, header lines, @BODYFILE, parted by blank lines")
      ->type_name("FILE");
  add_rate(app, "--rate", o.rate, "Open loop: send this many requests a second, however long they take");
  app.add_option("--arrivals", o.arrivals, "Spacing in open loop: even or poisson (default even)")
      ->type_name("KIND")
      ->check(one_of({"even", "poisson"}));
  add_count(app, "--max-connections", o.max_connections, 1,
            "Open loop: most connections for a backlog (default ten times -c, at most 1024)");
  add_duration(app, "--warmup", o.warmup, "Load this long before measuring");
  add_duration(app, "--ramp", o.ramp, "Start connections spread over this time, before measuring");
  add_count(app, "--threads", o.threads, 1, "Engine threads (default 1)");
  app.add_option("--seed", o.seed, "Seed of everything random; printed when not given")->type_name("N");
  app.add_flag("--no-keepalive", o.no_keepalive, "Open a connection for each request");
  add_count(app, "--connections-reuse", o.connections_reuse, 1,
            "Close each connection after this many requests");
  add_count(app, "--follow", o.follow, 0, "Follow up to this many redirects (default 0)");
  app.add_flag("--same-length", o.same_length, "A body of another length than the first one is an error");
  app.add_option("--unix", o.unix_socket, "Connect to this Unix socket")->type_name("PATH");
  app.add_option("-B,--source", o.sources, "Source addresses, comma-separated, or a network in CIDR notation")
      ->type_name("IP,...")
      ->take_last();
}

void declare_output(CLI::App& app, HttpOptions& o) {
  add_outputs(
      app, "-o,--output", o.outputs,
      {"text", "json", "csv", "md", "openmetrics", "junit", "hgrm", "hlog", "bench-bigger", "bench-smaller"},
      "Output: text, json, csv (one row a request), md, openmetrics, junit, hgrm, hlog, bench-bigger, "
      "bench-smaller; repeatable");
  app.add_option("--result", o.result_file, "Write the result record (JSON) to this file")->type_name("FILE");
  app.add_flag("--quiet", o.quiet, "No report on stdout");
  add_metrics(app, o.metrics);
  app.add_option("--fail-if", o.fail_if,
                 "Exit with 3 if this holds: 'p99 > 50ms', 'errors > 0.1%'; repeatable")
      ->type_name("CONDITION")
      ->type_size(1)
      ->allow_extra_args(false);
}

}  // namespace

void declare_http_options(CLI::App& app, HttpOptions& options) {
  declare_ab_flags(app, options);
  declare_load(app, options);
  declare_output(app, options);
  add_connection_options(app, options.connection);
  add_count(app, "--streams", options.connection.streams, 1,
            "With --http2: requests at a time on each of the -c connections (default 1)");
}

}  // namespace plimsoll::cli
