// What a store knows of one repository: its blobs, manifests, tags and referrers. Plain data; the Store guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "oci/digest.h"
#include "server/digest_map.h"

namespace plimsoll::server {

// What the referrers API says of a manifest that has a subject (distribution-spec, "Listing Referrers").
struct ReferrerFacts {
  oci::Digest subject;
  std::string artifact_type;  // the manifest's, else its config's media type; empty: none
  std::string annotations;    // a JSON object as text; empty: none
};

struct ManifestFacts {
  std::string media_type;
  std::uint64_t size = 0;
  std::optional<ReferrerFacts> referrer;
};

// Reads what a store must know of a manifest. A refusal where bytes of a known type are no JSON object, or where the
// subject is no descriptor; documents of unknown types are taken as they are.
Checked<ManifestFacts> read_manifest_facts(std::string_view bytes, std::string_view media_type);

// The mediaType field of a JSON document; empty where there is none.
std::string media_type_field(std::string_view bytes);

struct Repository {
  DigestMap<std::uint64_t> blobs;  // with their sizes
  DigestMap<ManifestFacts> manifests;
  std::map<std::string, oci::Digest, std::less<>> tags;
  DigestMap<std::set<oci::Digest>> referrers;  // by subject

  bool empty() const { return blobs.empty() && manifests.empty(); }
  void add_manifest(const oci::Digest& digest, ManifestFacts facts);
  void remove_manifest(const oci::Digest& digest);  // and the tags that point to it
};

}  // namespace plimsoll::server
