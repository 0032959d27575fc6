// The language of fault scripts.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "server/disk_files.h"
#include "server/faults.h"
#include "server/route.h"

namespace plimsoll::server {
namespace {

using Words = std::vector<std::string_view>;
// Puts a value into a rule; false where it is none of the accepted form.
using Setter = std::function<bool(FaultRule&, std::string_view)>;
struct Key {
  std::string_view form;
  Setter set;
};

Setter number(std::uint64_t FaultRule::* field) {
  return [field](FaultRule& rule, std::string_view value) {
    const auto parsed = parse_u64(value);
    if (parsed) rule.*field = *parsed;
    return parsed.has_value();
  };
}

Setter flag(bool FaultRule::* field) {
  return [field](FaultRule& rule, std::string_view value) {
    rule.*field = true;
    return value.empty();
  };
}

Setter text(std::string FaultRule::* field) {
  return [field](FaultRule& rule, std::string_view value) {
    rule.*field = value;
    return !value.empty();
  };
}

Setter word(std::string FaultRule::* field, Words words, std::string_view prefix = {}) {
  return [field, words = std::move(words), prefix](FaultRule& rule, std::string_view value) {
    rule.*field = value;
    return std::ranges::find(words, value) != words.end() || (!prefix.empty() && value.starts_with(prefix));
  };
}

Setter size(std::optional<std::uint64_t> FaultRule::* field) {
  return [field](FaultRule& rule, std::string_view value) {
    const auto parsed = parse_size(value);
    if (parsed) rule.*field = *parsed;
    return parsed.has_value();
  };
}

Setter status(std::optional<int> FaultRule::* field) {
  return [field](FaultRule& rule, std::string_view value) {
    const auto parsed = parse_u64(value);
    if (!parsed || *parsed < 200 || *parsed > 599) return false;
    rule.*field = static_cast<int>(*parsed);
    return true;
  };
}

bool set_route(FaultRule& rule, std::string_view value) {
  rule.route = value;
  for (std::size_t i = 0; i < kResources; ++i) {
    if (name(static_cast<Resource>(i)) == value) return true;
  }
  return value == "token" || value == "files";
}

bool set_methods(FaultRule& rule, std::string_view value) {
  for (const auto method : split(value, ',')) {
    if (!http::is_token(method)) return false;
    rule.methods.emplace_back(method);
  }
  return true;
}

bool set_share(FaultRule& rule, std::string_view value) {
  const auto parsed = parse_double(value);
  if (!parsed || *parsed < 0 || *parsed > 1) return false;
  rule.share = *parsed;
  return true;
}

// "20ms", "10ms..50ms", "5ms,200ms@0.1".
bool set_latency(FaultRule& rule, std::string_view value) {
  Latency latency;
  if (const auto comma = value.find(','); comma != std::string_view::npos) {
    const auto rest = value.substr(comma + 1);
    const auto at = rest.find('@');
    if (at == std::string_view::npos) return false;
    const auto other = parse_duration(rest.substr(0, at));
    const auto share = parse_double(rest.substr(at + 1));
    if (!other || !share || *share < 0 || *share > 1) return false;
    latency.other = *other;
    latency.other_share = *share;
    value = value.substr(0, comma);
  }
  const auto dots = value.find("..");
  const auto low = parse_duration(value.substr(0, dots));
  const auto high = dots == std::string_view::npos ? low : parse_duration(value.substr(dots + 2));
  if (!low || !high || *high < *low) return false;
  latency.low = *low;
  latency.high = *high;
  rule.latency = latency;
  return true;
}

bool set_freeze(FaultRule& rule, std::string_view value) {
  const auto slash = value.find('/');
  if (slash == std::string_view::npos) return false;
  const auto freeze = parse_duration(value.substr(0, slash));
  const auto period = parse_duration(value.substr(slash + 1));
  if (!freeze || !period || *period <= *freeze) return false;
  rule.freeze = *freeze;
  rule.freeze_period = *period;
  return true;
}

bool set_header(FaultRule& rule, std::string_view value) {
  const auto colon = value.find(':');
  if (colon == std::string_view::npos || !http::is_token(value.substr(0, colon))) return false;
  rule.headers.emplace_back(value.substr(0, colon), trim(value.substr(colon + 1)));
  return true;
}

bool set_without(FaultRule& rule, std::string_view value) {
  rule.without.emplace_back(value);
  return http::is_token(value);
}

bool set_retry_after(FaultRule& rule, std::string_view value) {
  rule.retry_after = value;
  return parse_u64(value.starts_with("date:") ? value.substr(5) : value).has_value();
}

bool set_chunked(FaultRule& rule, std::string_view value) {
  rule.chunked = true;
  if (value.empty()) return true;
  const auto parsed = parse_size(value);
  if (!parsed || *parsed == 0) return false;
  rule.chunk = *parsed;
  return true;
}

bool set_trailers(FaultRule& rule, std::string_view value) {
  const auto colon = value.find(':');
  if (colon == std::string_view::npos || !http::is_token(value.substr(0, colon)) ||
      !http::is_field_value(value)) {
    return false;
  }
  rule.chunked = true;
  rule.trailers.append(value).append("\r\n");
  return true;
}

bool set_reset(FaultRule& rule, std::string_view value) {
  rule.reset = true;
  const auto parsed = parse_size(value.empty() ? "0" : value);
  if (parsed) rule.stop_after = *parsed;
  return parsed.has_value();
}

bool set_rate(FaultRule& rule, std::string_view value) {
  const auto parsed = parse_size(value);
  if (parsed) rule.rate = *parsed;
  return parsed.has_value() && *parsed > 0;
}

bool is_origin(std::string_view value) {
  return value.starts_with("http://") || value.starts_with("https://");
}

bool set_redirect(FaultRule& rule, std::string_view value) {
  rule.redirect = value;
  return is_origin(value);
}

const std::map<std::string_view, Key>& keys() {
  static const std::map<std::string_view, Key> kKeys{
      {"route",
       {"ping, catalog, tags, manifest, blob, upload_start, upload, referrers, token or files", set_route}},
      {"method", {"GET or GET,HEAD", set_methods}},
      {"path", {"part of a path", text(&FaultRule::path)}},
      {"host", {"HOST:PORT", text(&FaultRule::host)}},
      {"share", {"0 to 1", set_share}},
      {"every", {"a whole number", number(&FaultRule::every)}},
      {"skip", {"a whole number", number(&FaultRule::skip)}},
      {"count", {"a whole number", number(&FaultRule::count)}},
      {"latency", {"20ms, 10ms..50ms or 5ms,200ms@0.1", set_latency}},
      {"freeze", {"5s/10s: frozen for 5 s of every 10 s", set_freeze}},
      {"refuse", {"no value", flag(&FaultRule::refuse)}},
      {"status", {"200 to 599", status(&FaultRule::status)}},
      {"body", {"text", text(&FaultRule::body)}},
      {"as_status", {"200 to 599", status(&FaultRule::as_status)}},
      {"header", {"Name: value", set_header}},
      {"without", {"a header's name", set_without}},
      {"retry_after", {"SECONDS or date:SECONDS", set_retry_after}},
      {"reset", {"no value, or bytes of the body before it", set_reset}},
      {"truncate", {"bytes of the body", size(&FaultRule::stop_after)}},
      {"no_length", {"no value", flag(&FaultRule::no_length)}},
      {"chunked", {"no value, or bytes a chunk", set_chunked}},
      {"trailer", {"Name: value", set_trailers}},
      {"http10", {"no value", flag(&FaultRule::http10)}},
      {"close_after", {"requests a connection", number(&FaultRule::close_after)}},
      {"rate", {"bytes a second", set_rate}},
      {"location",
       {"absolute, relative, dotted, network, empty, missing, query, rotating, https or http://HOST:PORT",
        word(&FaultRule::location,
             {"absolute", "relative", "dotted", "network", "empty", "missing", "query", "rotating", "https"},
             "http://")}},
      {"range",
       {"missing, bytes, off_by_one, stuck, zero or last_chunk",
        word(&FaultRule::range, {"missing", "bytes", "off_by_one", "stuck", "zero", "last_chunk"})}},
      {"mount",
       {"miss", [](FaultRule& rule, std::string_view value) { return rule.mount_miss = value == "miss"; }}},
      {"challenge",
       {"missing, unquoted, lowercase, no_scope, two_fields, one_field or negotiate",
        word(&FaultRule::challenge,
             {"missing", "unquoted", "lowercase", "no_scope", "two_fields", "one_field", "negotiate"})}},
      {"digest", {"missing, wrong or sha512", word(&FaultRule::digest, {"missing", "wrong", "sha512"})}},
      {"token",
       {"token, access_token, no_expiry, zero_expiry or text_expiry",
        word(&FaultRule::token, {"token", "access_token", "no_expiry", "zero_expiry", "text_expiry"})}},
      {"page", {"names a page", size(&FaultRule::page)}},
      {"link",
       {"absolute, missing, unquoted or several",
        word(&FaultRule::link, {"absolute", "missing", "unquoted", "several"})}},
      {"redirect", {"http://HOST:PORT", set_redirect}},
      {"reject_authorization", {"no value", flag(&FaultRule::reject_authorization)}},
      {"chunk_minimum", {"bytes", size(&FaultRule::chunk_minimum)}},
  };
  return kKeys;
}

Checked<FaultRule> parse_rule(std::string_view script) {
  FaultRule rule;
  for (const auto part : split(script, ';')) {
    const auto item = trim(part);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    const auto key = trim(item.substr(0, equals));
    const auto value = equals == std::string_view::npos ? std::string_view{} : trim(item.substr(equals + 1));
    const auto at = keys().find(key);
    if (at == keys().end())
      return Refusal{fmt::format("--fault: '{}' is not a key (docs/serve.md lists them)", key)};
    if (!http::is_field_value(value) || !at->second.set(rule, value)) {
      return Refusal{fmt::format("--fault: {}={} is not {}", key, value, at->second.form)};
    }
  }
  if (rule.every == 0) return Refusal{"--fault: every=0 is not a whole number above 0"};
  return rule;
}

}  // namespace

Checked<FaultScript> FaultScript::parse(const std::vector<std::string>& texts, std::uint64_t seed) {
  FaultScript script;
  script.seed_ = seed;
  const auto add = [&](std::string_view text) -> Checked<void> {
    auto rule = parse_rule(text);
    if (!rule) return Refusal{rule.error()};
    script.rules_.push_back(std::move(*rule));
    return {};
  };
  for (const std::string& text : texts) {
    if (!text.starts_with('@')) {
      if (auto added = add(text); !added) return Refusal{added.error()};
      continue;
    }
    const auto file = read_file(text.substr(1));
    if (!file) return Refusal{fmt::format("--fault: {} cannot be read", text.substr(1))};
    for (auto line : split(*file, '\n')) {
      line = trim(line.substr(0, line.starts_with('#') ? 0 : line.size()));
      if (line.empty()) continue;
      if (auto added = add(line); !added) return Refusal{added.error()};
    }
  }
  return script;
}

std::optional<std::uint64_t> FaultScript::chunk_minimum() const {
  std::optional<std::uint64_t> least;
  for (const auto& rule : rules_) {
    if (rule.chunk_minimum) least = rule.chunk_minimum;
  }
  return least;
}

}  // namespace plimsoll::server
