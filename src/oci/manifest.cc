#include "oci/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "oci/json.h"
#include "oci/media_types.h"

namespace plimsoll::oci {
namespace {

using nlohmann::json;

Error malformed(const char* why) {
  return {ErrorKind::protocol, 0, why};
}

std::optional<Platform> read_platform(const json& value) {
  if (!value.is_object()) return std::nullopt;
  Platform platform;
  platform.os = text_member(value, "os");
  platform.architecture = text_member(value, "architecture");
  platform.variant = text_member(value, "variant");
  return platform;
}

struct DescriptorReading {
  bool unsupported = false;  // well-formed, with a digest of an algorithm not known here
  Descriptor descriptor;
};

Result<DescriptorReading> read_descriptor(const json& value) {
  if (!value.is_object()) return malformed("a descriptor is no object");
  DescriptorReading reading;
  auto& descriptor = reading.descriptor;
  const std::string digest = text_member(value, "digest");
  switch (digest_syntax(digest)) {
    case DigestSyntax::malformed:
      return malformed("a descriptor has no valid digest");
    case DigestSyntax::unsupported:
      reading.unsupported = true;
      break;
    case DigestSyntax::supported:
      descriptor.digest = *Digest::parse(digest);
      break;
  }
  const auto size = unsigned_member(value, "size");
  if (!size || *size > INT64_MAX) return malformed("a descriptor has no valid size");
  descriptor.size = *size;
  descriptor.media_type = text_member(value, "mediaType");
  descriptor.artifact_type = text_member(value, "artifactType");
  descriptor.platform = read_platform(member(value, "platform"));
  if (const auto& urls = member(value, "urls"); urls.is_array()) {
    for (const auto& url : urls) {
      if (url.is_string()) descriptor.urls.push_back(url.get<std::string>());
    }
  }
  return reading;
}

Result<std::optional<Descriptor>> read_optional(const json& document, const char* key) {
  const auto& value = member(document, key);
  if (value.is_null()) return std::optional<Descriptor>();
  auto reading = read_descriptor(value);
  if (!reading) return reading.error();
  if (reading->unsupported) return malformed("a digest algorithm that is not supported");
  return std::optional(std::move(reading->descriptor));
}

DocumentKind kind_of_keys(const json& document) {
  if (member(document, "manifests").is_array()) return DocumentKind::index;
  if (member(document, "fsLayers").is_array()) return DocumentKind::schema1;
  if (member(document, "layers").is_array() || member(document, "config").is_object())
    return DocumentKind::manifest;
  return DocumentKind::unknown;
}

DocumentKind kind_of(const json& document, std::string_view content_type, std::string_view own_type) {
  for (const auto type : {content_type, own_type}) {
    if (const auto kind = kind_of_media_type(type); kind != DocumentKind::unknown) return kind;
  }
  // A type that says "something else" is believed; a missing or generic one is not.
  const auto bare = bare_media_type(own_type.empty() ? content_type : own_type);
  const bool generic =
      bare.empty() || bare == "application/json" || bare == "text/plain" || bare == kOctetStream;
  return generic ? kind_of_keys(document) : DocumentKind::unknown;
}

Result<void> read_index(const json& document, Document& out) {
  const auto& entries = member(document, "manifests");
  if (!entries.is_array() && !entries.is_null()) return malformed("an index whose manifests are no list");
  for (const auto& entry : entries) {
    auto reading = read_descriptor(entry);
    if (!reading) return reading.error();
    if (reading->unsupported) {
      ++out.unsupported_entries;
    } else {
      out.manifests.push_back(std::move(reading->descriptor));
    }
  }
  return ok();
}

Result<void> read_layers(const json& document, Document& out) {
  auto config = read_optional(document, "config");
  if (!config) return config.error();
  out.config = std::move(*config);
  const auto& layers = member(document, "layers");
  if (!layers.is_array() && !layers.is_null()) return malformed("a manifest whose layers are no list");
  for (const auto& layer : layers) {
    auto reading = read_descriptor(layer);
    if (!reading) return reading.error();
    if (reading->unsupported) return malformed("a digest algorithm that is not supported");
    out.layers.push_back(std::move(reading->descriptor));
  }
  return ok();
}

// arm64 without a variant is v8 (image-spec, image-index.md, "Platform Variants").
std::string_view effective_variant(const Platform& platform) {
  if (platform.variant.empty() && platform.architecture == "arm64") return "v8";
  return platform.variant;
}

}  // namespace

std::string bare_media_type(std::string_view content_type) {
  return to_lower(trim(content_type.substr(0, content_type.find(';'))));
}

DocumentKind kind_of_media_type(std::string_view content_type) {
  const auto type = bare_media_type(content_type);
  if (type == kOciManifest || type == kDockerManifest) return DocumentKind::manifest;
  if (type == kOciIndex || type == kDockerList) return DocumentKind::index;
  if (type == kDockerSchema1 || type == kDockerSchema1Signed) return DocumentKind::schema1;
  return DocumentKind::unknown;
}

Checked<Platform> Platform::parse(std::string_view text) {
  const auto parts = split(text, '/');
  const bool complete = (parts.size() == 2 || parts.size() == 3) &&
                        std::ranges::none_of(parts, [](std::string_view part) { return part.empty(); });
  if (!complete)
    return Refusal{fmt::format("'{}' is no platform: os/architecture[/variant] as in linux/arm64/v8", text)};
  return Platform{std::string(parts[0]), std::string(parts[1]),
                  std::string(parts.size() == 3 ? parts[2] : "")};
}

std::string Platform::text() const {
  return variant.empty() ? os + "/" + architecture : os + "/" + architecture + "/" + variant;
}

bool Descriptor::foreign() const {
  return media_type.find("nondistributable") != std::string::npos ||
         media_type.find("rootfs.foreign") != std::string::npos;
}

Result<Document> parse_manifest(std::string_view body, std::string_view content_type) {
  if (body.size() > kMaxManifestSize) return malformed("a manifest of more than 4 MiB");
  const auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object()) return malformed("a manifest that is no JSON object");
  Document document;
  const std::string own_type = text_member(*parsed, "mediaType");
  document.media_type = bare_media_type(own_type.empty() ? content_type : own_type);
  document.kind = kind_of(*parsed, content_type, own_type);
  if (member(*parsed, "schemaVersion") == 1) document.kind = DocumentKind::schema1;
  if (document.kind == DocumentKind::schema1) return document;

  document.artifact_type = text_member(*parsed, "artifactType");
  auto subject = read_optional(*parsed, "subject");
  if (!subject) return subject.error();
  document.subject = std::move(*subject);
  Result<void> read = ok();
  if (document.kind == DocumentKind::index) read = read_index(*parsed, document);
  if (document.kind == DocumentKind::manifest) read = read_layers(*parsed, document);
  if (!read) return read.error();
  return document;
}

std::vector<const Descriptor*> candidates(const Document& index, const Platform& platform) {
  std::vector<const Descriptor*> exact;
  std::vector<const Descriptor*> loose;
  std::vector<const Descriptor*> nested;
  for (const auto& entry : index.manifests) {
    const bool is_index = kind_of_media_type(entry.media_type) == DocumentKind::index;
    if (entry.platform && entry.platform->os == platform.os &&
        entry.platform->architecture == platform.architecture) {
      if (effective_variant(*entry.platform) == effective_variant(platform)) {
        exact.push_back(&entry);
      } else if (platform.variant.empty()) {
        loose.push_back(&entry);
      }
    } else if (is_index && !entry.platform) {
      nested.push_back(&entry);
    }
  }
  exact.insert(exact.end(), loose.begin(), loose.end());
  exact.insert(exact.end(), nested.begin(), nested.end());
  if (exact.empty() && index.manifests.size() == 1 && !index.manifests.front().platform) {
    exact.push_back(&index.manifests.front());
  }
  return exact;
}

}  // namespace plimsoll::oci
