// The page of web/, bundled by the build into one HTML text with a place for the data.
#pragma once

#include <string_view>

namespace plimsoll::report {

// Empty in a build that was made without Node.js.
std::string_view report_page();

}  // namespace plimsoll::report
