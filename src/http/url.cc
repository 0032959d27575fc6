#include "http/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "http/chars.h"

namespace plimsoll::http {
namespace {

Error bad_url(const char* text) {
  return {ErrorKind::protocol, 0, text};
}

// Goes into a request line: no space and no control character may be in it.
bool is_printable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != 0x7f;
}

// The five components of RFC 3986, appendix B. An absent one differs from an empty one.
struct Components {
  std::optional<std::string_view> scheme, authority, query, fragment;
  std::string_view path;
};

std::optional<std::string_view> split_scheme(std::string_view text) {
  if (text.empty() || !is_alpha(text[0])) return std::nullopt;
  const auto end = std::ranges::find_if_not(
      text, [](char c) { return is_alpha(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; });
  if (end == text.end() || *end != ':') return std::nullopt;
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

Components split_components(std::string_view text) {
  Components parts;
  if (const auto at = text.find('#'); at != std::string_view::npos) {
    parts.fragment = text.substr(at + 1);
    text = text.substr(0, at);
  }
  if (const auto at = text.find('?'); at != std::string_view::npos) {
    parts.query = text.substr(at + 1);
    text = text.substr(0, at);
  }
  parts.scheme = split_scheme(text);
  if (parts.scheme) text.remove_prefix(parts.scheme->size() + 1);
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    parts.authority = text.substr(0, text.find('/'));
    text.remove_prefix(parts.authority->size());
  }
  parts.path = text;
  return parts;
}

// RFC 3986, section 5.3.
std::string join(const Components& parts, std::string_view path) {
  std::string out;
  if (parts.scheme) out.append(*parts.scheme).append(":");
  if (parts.authority) out.append("//").append(*parts.authority);
  out += path;
  if (parts.query) out.append("?").append(*parts.query);
  if (parts.fragment) out.append("#").append(*parts.fragment);
  return out;
}

void drop_last_segment(std::string& path) {
  const auto slash = path.rfind('/');
  path.resize(slash == std::string::npos ? 0 : slash);
}

// RFC 3986, section 5.2.4.
std::string remove_dot_segments(std::string_view in) {
  std::string out;
  while (!in.empty()) {
    if (in.starts_with("../")) {
      in.remove_prefix(3);
    } else if (in.starts_with("./")) {
      in.remove_prefix(2);
    } else if (in.starts_with("/./")) {
      in.remove_prefix(2);
    } else if (in == "/.") {
      in = "/";
    } else if (in.starts_with("/../")) {
      in.remove_prefix(3);
      drop_last_segment(out);
    } else if (in == "/..") {
      in = "/";
      drop_last_segment(out);
    } else if (in == "." || in == "..") {
      in = {};
    } else {
      const auto next = in.find('/', 1);
      out += in.substr(0, next);
      in.remove_prefix(std::min(next, in.size()));
    }
  }
  return out;
}

// RFC 3986, section 5.2.3.
std::string merge_paths(const Components& base, std::string_view reference) {
  if (base.authority && base.path.empty()) return "/" + std::string(reference);
  const auto slash = base.path.rfind('/');
  const auto kept = slash == std::string_view::npos ? std::string_view() : base.path.substr(0, slash + 1);
  return std::string(kept).append(reference);
}

Result<std::uint16_t> parse_port(std::string_view text, std::uint16_t fallback) {
  if (text.empty()) return fallback;
  const auto number = parse_u64(text);
  if (!number || *number == 0 || *number > 65535) return bad_url("a port is a number from 1 to 65535");
  return static_cast<std::uint16_t>(*number);
}

// "[v6]", "[v6%25zone]" (RFC 6874) or, as people type it, "[v6%zone]"; `text` is what stands in the brackets.
Result<void> parse_ipv6(std::string_view text, Url& url) {
  const auto percent = text.find('%');
  url.host = to_lower(text.substr(0, percent));
  if (percent != std::string_view::npos) {
    auto zone = text.substr(percent + 1);
    if (zone.starts_with("25") && zone.size() > 2) zone.remove_prefix(2);
    const auto named = [](char c) { return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_'; };
    if (zone.empty() || !std::ranges::all_of(zone, named))
      return bad_url("the zone of an IPv6 address is a name");
    url.zone = zone;
  }
  in6_addr address;
  if (inet_pton(AF_INET6, url.host.c_str(), &address) != 1) return bad_url("not an IPv6 address in brackets");
  return ok();
}

Result<void> parse_authority(std::string_view text, Url& url) {
  if (text.contains('@')) return bad_url("credentials do not belong in a URL");
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return bad_url("an IPv6 address lacks its closing bracket");
    if (auto parsed = parse_ipv6(text.substr(1, close - 1), url); !parsed) return parsed;
    port = text.substr(close + 1);
    if (!port.empty() && port[0] != ':') return bad_url("only :port follows a host");
  } else {
    const auto colon = text.find(':');
    url.host = to_lower(text.substr(0, colon));
    if (colon != std::string_view::npos) port = text.substr(colon);
    const auto named = [](char c) { return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_'; };
    if (url.host.empty()) return bad_url("a URL names a host");
    if (!std::ranges::all_of(url.host, named))
      return bad_url("a host has letters, digits, '-', '.' and '_' only");
  }
  if (!port.empty()) port.remove_prefix(1);
  const auto number = parse_port(port, url.secure() ? 443 : 80);
  if (!number) return number.error();
  url.port = *number;
  return ok();
}

}  // namespace

std::string_view Url::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view Url::query() const {
  const auto at = target.find('?');
  return at == std::string::npos ? std::string_view() : std::string_view(target).substr(at + 1);
}

std::string Url::authority() const {
  std::string out = host.contains(':') ? "[" + host + "]" : host;
  if (!default_port()) out.append(":").append(std::to_string(port));
  return out;
}

std::string Url::origin() const {
  return scheme + "://" + authority();
}

std::string Url::resolver_name() const {
  return zone.empty() ? host : host + "%" + zone;
}

bool Url::same_origin(const Url& other) const {
  return scheme == other.scheme && host == other.host && zone == other.zone && port == other.port;
}

Result<Url> parse_url(std::string_view text) {
  if (!std::ranges::all_of(text, is_printable))
    return bad_url("a URL has no spaces and no control characters");
  const Components parts = split_components(text);
  if (!parts.scheme || !parts.authority) return bad_url("expected http://host[:port]/path or https://...");
  Url url;
  url.scheme = to_lower(*parts.scheme);
  if (url.scheme != "http" && url.scheme != "https") return bad_url("the scheme is http or https");
  if (auto parsed = parse_authority(*parts.authority, url); !parsed) return parsed.error();
  url.target = parts.path.empty() ? "/" : std::string(parts.path);
  if (parts.query) url.target.append("?").append(*parts.query);
  return url;
}

std::string resolve_reference(std::string_view base_text, std::string_view reference) {
  const Components base = split_components(base_text);
  Components parts = split_components(reference);
  if (parts.scheme) return join(parts, remove_dot_segments(parts.path));
  parts.scheme = base.scheme;
  if (parts.authority) return join(parts, remove_dot_segments(parts.path));
  parts.authority = base.authority;
  if (parts.path.empty()) {
    if (!parts.query) parts.query = base.query;
    return join(parts, base.path);
  }
  if (parts.path.starts_with('/')) return join(parts, remove_dot_segments(parts.path));
  return join(parts, remove_dot_segments(merge_paths(base, parts.path)));
}

Result<Url> resolve(const Url& base, std::string_view reference) {
  auto url = parse_url(resolve_reference(base.text(), reference));
  // A zone is never written into text, so a reference on the same host gets it back here.
  if (url && url->host == base.host && url->zone.empty()) url->zone = base.zone;
  return url;
}

std::string append_query(std::string_view target, std::string_view parameter) {
  std::string out(target);
  if (!target.contains('?')) {
    out += '?';
  } else if (!target.ends_with('?') && !target.ends_with('&')) {
    out += '&';
  }
  return out.append(parameter);
}

Url append_query(Url url, std::string_view parameter) {
  url.target = append_query(url.target, parameter);
  return url;
}

}  // namespace plimsoll::http
