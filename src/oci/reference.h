// How images are named (distribution-spec, "Pulling manifests"; `docker pull` conventions for what is left
// out).
//
// Names are checked before anything is sent: a registry that is handed a bad name answers 400, 404 or HTML,
// as it pleases.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oci/digest.h"

namespace plimsoll::oci {

// Many clients and registries hold host + "/" + name to this.
inline constexpr std::size_t kMaxNameLength = 255;
inline constexpr std::size_t kMaxTagLength = 128;

// <name> of the specification: path components of lower-case letters and digits, joined inside by ".", "_",
// "__" or dashes. The length limit is on the name alone; `fits_with_host` holds the one on both.
bool is_repository_name(std::string_view name);
bool fits_with_host(std::string_view host, std::string_view name);

// [a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}
bool is_tag(std::string_view tag);

// What a manifest is asked for by: the last path segment of /v2/<name>/manifests/<reference>.
bool is_manifest_reference(std::string_view reference);

// Why a name is none, in one line that shows the accepted form; nothing if it is one.
std::optional<Refusal> refuse_repository_name(std::string_view name);

// An image somewhere: "registry.example:5000/team/app:1.2@sha256:...".
//
// A tag and a digest may both be given; then the digest decides and the tag is for people.
struct Reference {
  std::string host;        // "registry.example:5000", "[::1]:5000"; empty where the text names none
  std::string repository;  // "team/app"
  std::string tag;         // empty where none is given
  std::optional<Digest> digest;

  // The digest if there is one, else the tag, else "latest".
  std::string manifest_reference() const;
  std::string text() const;

  // The first component is a host if it holds a "." or ":", is "localhost", is a bracketed IPv6 address, or
  // has an upper-case letter (which no repository name may have). A reference without a host is left so:
  // which registry it means is the caller's to say.
  static Checked<Reference> parse(std::string_view text);
};

// Docker Hub is named docker.io, index.docker.io or not at all; its API lives elsewhere and its official
// images under "library/". Fills that in; references to other registries are unchanged.
Reference with_docker_hub_names(Reference reference);

// The tag that a client keeps referrers under where the registry has no referrers API: "<alg>-<encoded>",
// each part cut to 32 and 64 characters (distribution-spec, "Referrers Tag Schema").
std::string referrers_tag(const Digest& subject);

}  // namespace plimsoll::oci
