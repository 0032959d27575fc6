#include "oci/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace plimsoll::oci {
namespace {

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_word(char c) {
  return is_lower_or_digit(c) || is_upper(c) || c == '_';
}

// What may join two runs of letters and digits: one ".", one or two "_", any number of "-".
bool is_separator(std::string_view run) {
  return run == "." || run == "_" || run == "__" ||
         (!run.empty() && run.find_first_not_of('-') == std::string_view::npos);
}

bool is_path_component(std::string_view component) {
  std::size_t at = 0;
  for (;;) {
    const std::size_t word = at;
    while (at < component.size() && is_lower_or_digit(component[at])) ++at;
    if (at == word) return false;
    if (at == component.size()) return true;
    const std::size_t joint = at;
    while (at < component.size() && !is_lower_or_digit(component[at])) ++at;
    if (!is_separator(component.substr(joint, at - joint))) return false;
  }
}

bool looks_like_host(std::string_view component) {
  return component == "localhost" || component.starts_with('[') ||
         component.find_first_of(".:") != std::string_view::npos || std::ranges::any_of(component, is_upper);
}

bool is_host_text(std::string_view host) {
  if (host.empty()) return false;
  std::string_view name = host;
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    const auto address = host.substr(1, end - 1);
    if (address.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
    name = host.substr(end + 1);
    if (name.empty()) return true;
    if (!name.starts_with(':')) return false;
  }
  const auto colon = name.find(':');
  const bool port_good =
      colon == std::string_view::npos ||
      parse_u64(name.substr(colon + 1)).transform([](auto p) { return p > 0 && p < 65536; }).value_or(false);
  if (!port_good) return false;
  const auto label_text = name.substr(0, colon);
  if (host.starts_with('[')) return label_text.empty();
  return !label_text.empty() &&
         std::ranges::all_of(label_text, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

Refusal refuse(std::string_view text, std::string_view why) {
  return Refusal{fmt::format("'{}' is no image reference: {}", text, why)};
}

}  // namespace

bool is_repository_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  return std::ranges::all_of(split(name, '/'), is_path_component);
}

bool fits_with_host(std::string_view host, std::string_view name) {
  return host.size() + 1 + name.size() <= kMaxNameLength;
}

bool is_tag(std::string_view tag) {
  if (tag.empty() || tag.size() > kMaxTagLength || !is_word(tag.front())) return false;
  return std::ranges::all_of(tag, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

bool is_manifest_reference(std::string_view reference) {
  return is_tag(reference) || digest_syntax(reference) != DigestSyntax::malformed;
}

std::optional<Refusal> refuse_repository_name(std::string_view name) {
  if (is_repository_name(name)) return std::nullopt;
  if (name.size() > kMaxNameLength) {
    return Refusal{
        fmt::format("repository name of {} characters: at most {} are allowed", name.size(), kMaxNameLength)};
  }
  return Refusal{
      fmt::format("'{}' is no repository name: components of a-z and 0-9, joined by '.', '_', '__' or '-', "
                  "separated by '/'",
                  name)};
}

std::string Reference::manifest_reference() const {
  if (digest) return digest->text();
  return tag.empty() ? "latest" : tag;
}

std::string Reference::text() const {
  std::string out = host.empty() ? repository : host + "/" + repository;
  if (!tag.empty()) out += ":" + tag;
  if (digest) out += "@" + digest->text();
  return out;
}

Checked<Reference> Reference::parse(std::string_view text) {
  Reference reference;
  std::string_view rest = text;
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    const auto digest = rest.substr(at + 1);
    if (digest_syntax(digest) == DigestSyntax::unsupported) {
      return refuse(text, "its digest algorithm is not supported (sha256 and sha512 are)");
    }
    reference.digest = Digest::parse(digest);
    if (!reference.digest)
      return refuse(text, "what follows '@' is no digest (sha256:<64 lower-case hex digits>)");
    rest = rest.substr(0, at);
  }
  if (const auto slash = rest.find('/');
      slash != std::string_view::npos && looks_like_host(rest.substr(0, slash))) {
    reference.host = rest.substr(0, slash);
    if (!is_host_text(reference.host)) return refuse(text, "its host is no host[:port]");
    rest = rest.substr(slash + 1);
  }
  if (const auto colon = rest.rfind(':'); colon != std::string_view::npos) {
    reference.tag = rest.substr(colon + 1);
    if (!is_tag(reference.tag)) {
      return refuse(text, "its tag is not 1 to 128 of letters, digits, '_', '.' and '-'");
    }
    rest = rest.substr(0, colon);
  }
  reference.repository = rest;
  if (auto refusal = refuse_repository_name(rest)) return refuse(text, refusal->message);
  if (!fits_with_host(reference.host, rest))
    return refuse(text, "host and name together exceed 255 characters");
  return reference;
}

Reference with_docker_hub_names(Reference reference) {
  const bool hub = reference.host.empty() || reference.host == "docker.io" ||
                   reference.host == "index.docker.io" || reference.host == "registry-1.docker.io";
  if (!hub) return reference;
  reference.host = "registry-1.docker.io";
  if (reference.repository.find('/') == std::string::npos) reference.repository.insert(0, "library/");
  return reference;
}

std::string referrers_tag(const Digest& subject) {
  return fmt::format("{}-{}", name(subject.algorithm()).substr(0, 32), subject.hex().substr(0, 64));
}

}  // namespace plimsoll::oci
