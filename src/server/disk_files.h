// The few file operations that the store on disk is made of, without exceptions.
#pragma once

#include <string>
#include <string_view>

#include "server/contents.h"

namespace plimsoll::server {

// Every missing directory of the path.
Stored<void> make_directories(const std::string& path);
// Writes a file beside and renames it over `path`; with `durable`, both are on the disk afterwards.
Stored<void> replace_file(const std::string& path, std::string_view bytes, bool durable);
// Appends in one write; on failure the file is as long as before. Creates the file where it is missing.
Stored<void> append_file(const std::string& path, std::string_view bytes, bool durable);
Stored<std::string> read_file(const std::string& path);
// The directory's entries become durable.
Stored<void> sync_directory(const std::string& path);
Stored<void> write_all(int descriptor, std::string_view bytes);

}  // namespace plimsoll::server
