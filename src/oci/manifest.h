// Manifests and indexes as a registry answers them (image-spec, manifest.md and image-index.md; Docker schema 2).
//
// What the bytes are is decided by the Content-Type (parameters and case ignored), then by the document's own
// mediaType, then by its keys, since registries and builders leave out each of them. Schema 1 is recognised and
// reported, never read. Anything hostile ends in an Error of kind `protocol`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oci/digest.h"

namespace plimsoll::oci {

// Larger manifests are not read. The specification asks registries for 4 MiB; clients stop a little above.
inline constexpr std::size_t kMaxManifestSize = 4'393'216;
// How deep indexes may nest before a pull gives up.
inline constexpr int kMaxIndexDepth = 8;

enum class DocumentKind : std::uint8_t {
  manifest,  // config and layers
  index,     // other manifests
  schema1,   // Docker's first format: not supported
  unknown,   // JSON of another type (artifact manifests and what may come)
};

// The media type alone: "Application/JSON; charset=utf-8" gives "application/json".
std::string bare_media_type(std::string_view content_type);
// By the media type alone; `unknown` for any other.
DocumentKind kind_of_media_type(std::string_view content_type);

struct Platform {
  std::string os = "linux";
  std::string architecture = "amd64";
  std::string variant;  // "v8"; empty matches any

  // "linux/arm64/v8"
  static Checked<Platform> parse(std::string_view text);
  std::string text() const;
};

struct Descriptor {
  std::string media_type;
  Digest digest;
  std::uint64_t size = 0;
  std::optional<Platform> platform;
  std::string artifact_type;
  std::vector<std::string> urls;

  // Layers that a registry need not have: to be skipped on push, and on pull fetched from `urls`.
  bool foreign() const;
};

struct Document {
  DocumentKind kind = DocumentKind::unknown;
  std::string media_type;             // the document's own, else the Content-Type's
  std::optional<Descriptor> config;   // of a manifest; absent in some artifacts
  std::vector<Descriptor> layers;     // of a manifest, base first
  std::vector<Descriptor> manifests;  // of an index
  std::optional<Descriptor> subject;  // what this refers to
  std::string artifact_type;
  // Entries of an index left out because their digest algorithm is not known here.
  std::size_t unsupported_entries = 0;
};

// Errors are of kind `protocol`, and say what is wrong: too large, not JSON, a descriptor without digest or size.
Result<Document> parse_manifest(std::string_view body, std::string_view content_type);

// Which entries of an index to try for a platform, best first: those that match it (in the order of the index, an
// exact variant first), then nested indexes, then, when nothing else is there, a single entry without platform.
// Attestations and the like (os "unknown") never match.
std::vector<const Descriptor*> candidates(const Document& index, const Platform& platform);

}  // namespace plimsoll::oci
