// Where the tests find the tree they were built from.
#pragma once

#include <filesystem>

namespace plimsoll::test {

// The root of the source tree: golden files, schemas and corpora are found from here.
std::filesystem::path source_dir();

}  // namespace plimsoll::test
