#include "oci/json.h"

namespace plimsoll::oci {
namespace {

// Brackets and commas outside of strings bound both nesting and the number of values, before any memory is spent.
bool within_bounds(std::string_view text) {
  std::size_t depth = 0;
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',' || c == '[' || c == '{') ++values;
    if (depth > kJsonDepth || values > kJsonValues) return false;
  }
  return true;
}

}  // namespace

std::optional<nlohmann::json> parse_json(std::string_view text) {
  if (!within_bounds(text)) return std::nullopt;
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return std::nullopt;
  return parsed;
}

const nlohmann::json& member(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string text_member(const nlohmann::json& object, const char* key) {
  const auto& value = member(object, key);
  return value.is_string() ? value.get_ref<const std::string&>() : std::string();
}

std::optional<std::uint64_t> unsigned_member(const nlohmann::json& object, const char* key) {
  const auto& value = member(object, key);
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}

}  // namespace plimsoll::oci
