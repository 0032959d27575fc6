// ApacheBench's report, in its lines, order and alignment, of a TestRecord whose action is "http".
//
// What such a record holds beyond the usual fields, so that every line of ab has its source:
//   details["server_software"]     the Server header of the first answer; empty where there was none
//   details["host"], ["port"]      as asked for, IPv6 without brackets
//   details["tls"]                 "TLSv1.3,TLS_AES_256_GCM_SHA384,256,256"; absent in clear
//   details["document_path"]       path and query of the (first) URL
//   details["document_length"]     bytes of the first body, or "Variable" (-l)
//   details["keep_alive"]          "no" with --no-keepalive: leaves the keep-alive line out
//   details["keep_alive_requests"] requests whose connection stayed open after them
//   details["body_sent"]           "yes" where requests carry a body (-p, -u): adds the lines on what was sent
//   parts: "connect", "processing", "waiting", each over all good requests; "connect" is 0 for a reused
//          connection. "waiting" ends at the first byte of the answer, counted from the end of sending.
//   latency_s                      ab's "Total" and its percentage table
// Failed requests are told apart by their error kinds: ab's Connect, Receive, Length and Exceptions (ab_failures).
#pragma once

#include <cstdint>
#include <string>

#include "stats/record.h"

namespace plimsoll::report {

struct AbOptions {
  bool confidence = true;   // -S turns off mean[+/-sd] median and the warnings
  bool percentages = true;  // -d turns off the percentage table
  bool html = false;        // -w
  bool more = true;         // what ab never said, below its report (not in HTML)
};

struct AbFailures {
  std::uint64_t connect = 0;     // resolve, connect_*, out_of_*, tls
  std::uint64_t receive = 0;     // reset, closed, timeout, deadline
  std::uint64_t length = 0;      // short_body: also what --same-length refuses
  std::uint64_t exceptions = 0;  // all others
};
AbFailures ab_failures(const stats::TestRecord& test);

// "This is Plimsoll, Version 0.1.0", an empty line and "Benchmarking HOST (be patient)", without a line end: ab
// goes on with "\n" and progress on stderr, or with ".....done\n".
std::string ab_banner(const std::string& tool_version, const std::string& host);

// From the two empty lines before "Server Software:" to the last line.
std::string ab_report(const stats::TestRecord& test, const AbOptions& options = {});

}  // namespace plimsoll::report
