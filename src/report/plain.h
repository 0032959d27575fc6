// Small pieces of text that the plain-text reports share: aligned columns, quoting of foreign text, shares.
//
// All functions are pure. Foreign text (what a server or a file said) reaches a terminal only through
// printable(), so that no control sequence of a peer is ever obeyed by it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "stats/record.h"

namespace plimsoll::report {

// Elastic columns as Go's text/tabwriter with padding 1 lays them out, which zb prints through: cells are
// separated by tabs; within a run of consecutive lines that have a cell in a column, that column is as wide
// as its longest cell and one space. Width counts code points. `text` holds whole lines.
std::string align_tabs(std::string_view text);

// Control characters as \xNN, broken UTF-8 as U+FFFD, and no more than `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 400);

// `text` as a JSON string with its quotes; broken UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

// `text` as character data or attribute value of XML and HTML; what XML cannot hold becomes U+FFFD.
std::string xml_escape(std::string_view text);

// Shortest decimal that reads back as the same double ("0.1", "1e-07"); 0 for what JSON cannot hold.
std::string json_number(double value);

// "20%", "0.01%": three significant digits; "0%" where `whole` is 0.
std::string percent(double part, double whole);

// Seconds of a record as the nanoseconds that were measured.
Nanos nanos(double seconds);

// "PUT /v2/a/blobs/...: 404 BLOB_UPLOAD_UNKNOWN (127.0.0.1:5000)" of what a sample holds; empty for an empty
// one.
std::string sample_text(const stats::Sample& sample);

// Joined by `separator`.
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Operations that ended in the measure phase, good or failed.
std::uint64_t completed(const stats::TestRecord& test);

}  // namespace plimsoll::report
