// zb's ci-cd.json, byte for byte in form: one line without an end, read by github-action-benchmark's
// customBiggerIsBetter.
//
//   [{"name":"Push Monolith 1MB","unit":"requests per sec","value":771.232,"range":"3"},...]
#pragma once

#include <string>

#include "base/result.h"
#include "stats/record.h"

namespace plimsoll::report {

inline constexpr const char* kCiCdFile =
    "ci-cd.json";  // in the current directory, mode 0600, where none is named

// "[]" where nothing ran. Refused, as by zb, where a rate is no number that JSON can hold.
Checked<std::string> ci_cd(const stats::Record& record);

// Go's encoding/json of a float32: the shortest digits that read back as the same binary32, plain from 1e-6 up to
// 1e21. The value must be finite.
std::string go_json_float32(float value);

}  // namespace plimsoll::report
