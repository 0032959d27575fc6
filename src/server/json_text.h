// JSON strings, appended to text that is put together by hand where lists are long.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::server {

// With its quotes. Bytes that are no UTF-8 are passed on as they are: names and media types were checked before.
void append_json_string(std::string& out, std::string_view text);

}  // namespace plimsoll::server
