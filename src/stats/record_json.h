// The result record as JSON, schema plimsoll.result/1 (docs/result.schema.json).
//
// Keys are the names of record.h's members, with these exceptions: the percentiles are "p50" ... "p99.9", "p99.99";
// tool_version and command stand in "tool" as "version" and "command"; maps and lists of pairs are objects, in order.
// A value that is no finite number is written as 0.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "stats/record.h"

namespace plimsoll::stats {

// Indented by two spaces, keys in the order of record_fields.h; a short list or object takes one line. UTF-8: bytes
// that are not become U+FFFD. Ends in a newline.
std::string to_json(const Record& record);
// An environment alone (what `doctor` prints on a machine for --describe).
std::string to_json(const Environment& environment);

// What is absent keeps its default, what is unknown is ignored. The refusal is one line: text that is no JSON,
// another schema version, or a value of the wrong type, with its place ("tests[2].latency_s.p99").
Checked<Record> from_json(std::string_view text);
Checked<Environment> environment_from_json(std::string_view text);

}  // namespace plimsoll::stats
