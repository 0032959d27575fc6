#include "stats/record_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "stats/record_fields.h"

namespace plimsoll::stats {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLineLength = 120;
constexpr std::size_t kLongestComplaint = 200;  // of the JSON library, which quotes what it could not read

// ---- writing

class Writer {
 public:
  explicit Writer(Json& out) : out_(out) {}

  template <class T>
  void operator()(const char* key, const T& member) {
    out_[key] = value(member);
  }
  template <class T>
  void optional(const char* key, const std::optional<T>& member) {
    if (member) out_[key] = value(*member);
  }
  template <class Fields>
  void object(const char* key, Fields&& list) {
    Writer inner(out_[key] = Json::object());
    list(inner);
  }

  static Json value(const std::string& text) { return text; }
  static Json value(bool flag) { return flag; }
  static Json value(double number) { return std::isfinite(number) ? number : 0; }
  template <std::integral T>
  static Json value(T number) {
    return number;
  }
  template <class T>
  static Json value(const std::vector<T>& list) {
    Json out = Json::array();
    for (const T& one : list) out.push_back(value(one));
    return out;
  }
  template <class T>
  static Json value(const std::vector<std::pair<std::string, T>>& pairs) {
    Json out = Json::object();
    for (const auto& [key, one] : pairs) out[key] = value(one);
    return out;
  }
  template <class T>
  static Json value(const std::map<std::string, T>& map) {
    Json out = Json::object();
    for (const auto& [key, one] : map) out.emplace(key, value(one));
    return out;
  }
  static Json value(const std::map<int, std::uint64_t>& map) {
    Json out = Json::object();
    for (const auto& [key, one] : map) out.emplace(std::to_string(key), one);
    return out;
  }
  template <class T>
    requires std::is_class_v<T>
  static Json value(const T& part) {
    Json out = Json::object();
    Writer inner(out);
    fields(inner, part);
    return out;
  }

 private:
  Json& out_;
};

std::string scalar(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string pretty(const Json& value, std::size_t depth) {
  if (!value.is_structured()) return scalar(value);
  const bool object = value.is_object();
  std::vector<std::string> parts;
  std::size_t length = 2 * depth;
  bool flat = true;
  for (const auto& [key, child] : value.items()) {
    std::string part = object ? scalar(Json(key)) + ": " : std::string();
    part += pretty(child, depth + 1);
    flat = flat && (!child.is_structured() || child.empty());
    length += part.size() + 2;
    parts.push_back(std::move(part));
  }
  const bool one_line = parts.empty() || (flat && length <= kLineLength);
  const std::string gap = one_line ? "" : "\n" + std::string(2 * (depth + 1), ' ');
  std::string out(1, object ? '{' : '[');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += one_line ? ", " : ",";
    out += gap + parts[i];
  }
  if (!one_line) out += "\n" + std::string(2 * depth, ' ');
  out += object ? '}' : ']';
  return out;
}

template <class T>
std::string written(const T& part) {
  return pretty(Writer::value(part), 0) + "\n";
}

// ---- reading

// Where a value stands, as a list from the inside out; made into text only for a refusal.
struct Place {
  const Place* outer = nullptr;
  std::string_view key = {};
  std::size_t index = SIZE_MAX;

  std::string text() const {
    const std::string before = outer == nullptr ? "" : outer->text();
    if (index != SIZE_MAX) return fmt::format("{}[{}]", before, index);
    return before.empty() ? std::string(key) : fmt::format("{}.{}", before, key);
  }
};

class Reader {
 public:
  Reader(const Json& in, const Place* place, std::string& problem)
      : in_(in), place_(place), problem_(problem) {}

  template <class T>
  void operator()(const char* key, T& member) {
    if (const Json* found = find(key)) read(*found, member, Place{place_, key});
  }
  template <class T>
  void optional(const char* key, std::optional<T>& member) {
    const Json* found = find(key);
    if (found == nullptr || found->is_null()) return;
    read(*found, member.emplace(), Place{place_, key});
  }
  template <class Fields>
  void object(const char* key, Fields&& list) {
    const Json* found = find(key);
    if (found == nullptr) return;
    const Place place{place_, key};
    if (!found->is_object()) return expected("an object", place);
    Reader inner(*found, &place, problem_);
    list(inner);
  }

  void read(const Json& in, std::string& out, const Place& place) {
    if (!in.is_string()) return expected("a string", place);
    out = in.get_ref<const std::string&>();
  }
  void read(const Json& in, bool& out, const Place& place) {
    if (!in.is_boolean()) return expected("true or false", place);
    out = in.get<bool>();
  }
  void read(const Json& in, double& out, const Place& place) {
    if (!in.is_number()) return expected("a number", place);
    out = in.get<double>();
  }
  void read(const Json& in, std::uint64_t& out, const Place& place) {
    if (!in.is_number_unsigned()) return expected("a whole number, not negative", place);
    out = in.get<std::uint64_t>();
  }
  void read(const Json& in, int& out, const Place& place) {
    const bool whole =
        in.is_number_integer() && (!in.is_number_unsigned() || in.get<std::uint64_t>() <= INT32_MAX);
    if (!whole || in.get<std::int64_t>() < INT32_MIN) return expected("a whole number", place);
    out = in.get<int>();
  }
  template <class T>
  void read(const Json& in, std::vector<T>& out, const Place& place) {
    if (!in.is_array()) return expected("a list", place);
    out.clear();
    out.reserve(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) read(in[i], out.emplace_back(), Place{&place, {}, i});
  }
  template <class T>
  void read(const Json& in, std::vector<std::pair<std::string, T>>& out, const Place& place) {
    if (!in.is_object()) return expected("an object", place);
    out.clear();
    for (const auto& [key, child] : in.items()) {
      read(child, out.emplace_back(key, T()).second, Place{&place, key});
    }
  }
  template <class T>
  void read(const Json& in, std::map<std::string, T>& out, const Place& place) {
    if (!in.is_object()) return expected("an object", place);
    out.clear();
    for (const auto& [key, child] : in.items()) read(child, out[key], Place{&place, key});
  }
  void read(const Json& in, std::map<int, std::uint64_t>& out, const Place& place) {
    if (!in.is_object()) return expected("an object", place);
    out.clear();
    for (const auto& [key, child] : in.items()) {
      const auto status = parse_u64(key);
      if (!status || *status > 999) return expected("HTTP statuses as keys", place);
      read(child, out[static_cast<int>(*status)], Place{&place, key});
    }
  }
  template <class T>
    requires std::is_class_v<T>
  void read(const Json& in, T& out, const Place& place) {
    if (!in.is_object()) return expected("an object", place);
    Reader inner(in, &place, problem_);
    fields(inner, out);
  }

 private:
  const Json* find(const char* key) const {
    if (!problem_.empty()) return nullptr;
    const auto found = in_.find(key);
    return found == in_.end() ? nullptr : &*found;
  }
  void expected(const char* what, const Place& place) {
    if (problem_.empty()) problem_ = fmt::format("{}: expected {}", place.text(), what);
  }

  const Json& in_;
  const Place* place_;
  std::string& problem_;
};

// The library's own words without their bracketed number: "parse error at line 1, column 3: ...".
std::string plain_words(std::string_view what) {
  const auto bracket = what.find("] ");
  std::string out(bracket == std::string_view::npos ? what : what.substr(bracket + 2));
  if (out.size() > kLongestComplaint) out = out.substr(0, kLongestComplaint) + "...";
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return out;
}

Checked<Json> parsed(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (!json.is_object()) return Refusal{"not a result record: the JSON is no object"};
    return json;
  } catch (const Json::exception& e) {
    return Refusal{"not valid JSON: " + plain_words(e.what())};
  }
}

template <class T>
Checked<T> read_fields(const Json& json) {
  T out;
  std::string problem;
  Reader reader(json, nullptr, problem);
  fields(reader, out);
  if (!problem.empty()) return Refusal{problem};
  return out;
}

}  // namespace

std::string to_json(const Record& record) {
  return written(record);
}
std::string to_json(const Environment& environment) {
  return written(environment);
}

Checked<Record> from_json(std::string_view text) {
  const auto json = parsed(text);
  if (!json) return json.error();
  const auto schema = json->find("schema");
  if (schema == json->end() || !schema->is_string())
    return Refusal{"not a result record: it names no schema"};
  if (const auto& name = schema->get_ref<const std::string&>(); name != kRecordSchema) {
    return Refusal{
        fmt::format("schema {} is not the one that this version reads ({})", scalar(*schema), kRecordSchema)};
  }
  return read_fields<Record>(*json);
}

Checked<Environment> environment_from_json(std::string_view text) {
  const auto json = parsed(text);
  if (!json) return json.error();
  return read_fields<Environment>(*json);
}

}  // namespace plimsoll::stats
