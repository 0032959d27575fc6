// Media types of manifests, configurations and layers (image-spec, media-types.md; Docker's schema 2).
#pragma once

#include <string_view>

namespace plimsoll::oci {

inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kOciConfig = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kOciLayerTar = "application/vnd.oci.image.layer.v1.tar";
inline constexpr std::string_view kOciEmpty = "application/vnd.oci.empty.v1+json";
inline constexpr std::string_view kDockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kDockerList = "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view kDockerSchema1 = "application/vnd.docker.distribution.manifest.v1+json";
inline constexpr std::string_view kDockerSchema1Signed =
    "application/vnd.docker.distribution.manifest.v1+prettyjws";
inline constexpr std::string_view kOctetStream = "application/octet-stream";

// What a manifest is asked for with: the four types that real clients of today send first, and anything else
// so that artifacts are not refused. A registry that answers by Accept gives schema 1 or 404 to less.
inline constexpr std::string_view kAcceptManifests =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json, */*";

}  // namespace plimsoll::oci
