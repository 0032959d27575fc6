// JSON from strangers: parsed within bounds, read without exceptions. For source files of this room only, since
// nlohmann's header is slow to compile.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::oci {

// The deepest nesting and the most values that are read; a 4 MiB manifest of the conformance suite has a tenth.
inline constexpr std::size_t kJsonDepth = 64;
inline constexpr std::size_t kJsonValues = 400'000;

// nullopt for what is not JSON, or is beyond the bounds above. A byte order mark is tolerated.
std::optional<nlohmann::json> parse_json(std::string_view text);

// The member if `object` is an object and has it, else null: never throws, never inserts.
const nlohmann::json& member(const nlohmann::json& object, const char* key);
// The member's text; empty if it is absent or no string.
std::string text_member(const nlohmann::json& object, const char* key);
// The member as an unsigned number; nullopt if it is absent, negative or no integer.
std::optional<std::uint64_t> unsigned_member(const nlohmann::json& object, const char* key);

}  // namespace plimsoll::oci
