#include "server/repository.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "oci/manifest.h"
#include "oci/media_types.h"

namespace plimsoll::server {
namespace {

using Json = nlohmann::json;

// Parses without exceptions; hostile nesting is cut off before the parser's recursion can hurt.
Json parse(std::string_view bytes) {
  constexpr int kMaxDepth = 64;
  return Json::parse(
      bytes, [](int depth, Json::parse_event_t /*event*/, Json& /*value*/) { return depth <= kMaxDepth; },
      false);
}

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Checked<ReferrerFacts> read_referrer(const Json& document, const Json& subject) {
  if (!subject.is_object()) return Refusal{"subject is no descriptor"};
  const auto digest = oci::Digest::parse(text_of(subject, "digest"));
  if (!digest) return Refusal{"subject has no digest of a known algorithm"};
  ReferrerFacts facts{
      .subject = *digest, .artifact_type = text_of(document, "artifactType"), .annotations = {}};
  if (const auto config = document.find("config");
      facts.artifact_type.empty() && config != document.end() && config->is_object()) {
    facts.artifact_type = text_of(*config, "mediaType");
  }
  const auto annotations = document.find("annotations");
  if (annotations != document.end() && annotations->is_object() && !annotations->empty()) {
    facts.annotations = annotations->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return facts;
}

}  // namespace

Checked<ManifestFacts> read_manifest_facts(std::string_view bytes, std::string_view media_type) {
  ManifestFacts facts{.media_type = std::string(media_type), .size = bytes.size(), .referrer = {}};
  const auto kind = oci::kind_of_media_type(media_type);
  const Json document = parse(bytes);
  if (document.is_discarded() || !document.is_object()) {
    if (kind == oci::DocumentKind::unknown) return facts;
    return Refusal{"the manifest is no JSON object"};
  }
  if (const auto named = text_of(document, "mediaType");
      kind != oci::DocumentKind::unknown && !named.empty() && named != media_type) {
    return Refusal{fmt::format("the manifest's mediaType is {}, its Content-Type {}", named, media_type)};
  }
  const auto subject = document.find("subject");
  if (subject == document.end() || subject->is_null()) return facts;
  auto referrer = read_referrer(document, *subject);
  if (!referrer) {
    if (kind == oci::DocumentKind::unknown) return facts;
    return Refusal{referrer.error()};
  }
  facts.referrer = std::move(*referrer);
  return facts;
}

std::string media_type_field(std::string_view bytes) {
  const Json document = parse(bytes);
  return document.is_object() ? text_of(document, "mediaType") : std::string();
}

void Repository::add_manifest(const oci::Digest& digest, ManifestFacts facts) {
  if (facts.referrer) referrers[facts.referrer->subject].insert(digest);
  manifests.insert_or_assign(digest, std::move(facts));
}

void Repository::remove_manifest(const oci::Digest& digest) {
  const auto at = manifests.find(digest);
  if (at == manifests.end()) return;
  if (const auto& referrer = at->second.referrer) {
    const auto listed = referrers.find(referrer->subject);
    if (listed != referrers.end()) {
      listed->second.erase(digest);
      if (listed->second.empty()) referrers.erase(listed);
    }
  }
  manifests.erase(at);
  std::erase_if(tags, [&](const auto& tag) { return tag.second == digest; });
}

}  // namespace plimsoll::server
