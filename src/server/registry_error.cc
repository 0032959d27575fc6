#include "server/registry_error.h"

#include <fmt/format.h>

#include <cstring>

#include "server/json_text.h"

namespace plimsoll::server {

RegistryError blob_unknown() {
  return {404, "BLOB_UNKNOWN", "blob unknown to registry"};
}

RegistryError manifest_unknown(std::string_view reference) {
  return {404, "MANIFEST_UNKNOWN", fmt::format("manifest unknown: {}", reference)};
}

RegistryError name_unknown(std::string_view repository) {
  return {404, "NAME_UNKNOWN", fmt::format("repository name not known to registry: {}", repository)};
}

RegistryError name_invalid(std::string_view repository) {
  return {400, "NAME_INVALID", fmt::format("invalid repository name: {}", repository)};
}

RegistryError upload_unknown() {
  return {404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry"};
}

RegistryError digest_invalid(std::string message) {
  return {400, "DIGEST_INVALID", std::move(message)};
}

RegistryError unsupported(std::string message) {
  return {405, "UNSUPPORTED", std::move(message)};
}

RegistryError range_invalid(std::string message) {
  return {416, "RANGE_INVALID", std::move(message)};
}

RegistryError upstream_failed(std::string message) {
  return {502, "UNKNOWN", "an upstream registry failed: " + std::move(message)};
}

RegistryError storage_failed(const StoreError& error) {
  if (error.fault == StoreFault::full) return {507, "UNKNOWN", "the registry's storage is full"};
  return {500, "UNKNOWN", fmt::format("the registry's storage failed: {}", std::strerror(error.code))};
}

void write_error(http::ServerAnswer& answer, const RegistryError& error) {
  answer.status = error.status;
  answer.remove("Content-Type");
  answer.add("Content-Type", "application/json");
  std::string body = R"({"errors":[{"code":")";
  body.append(error.code).append(R"(","message":)");
  append_json_string(body, error.message);
  body += "}]}\n";
  answer.body = http::Payload::of_text(std::move(body));
}

}  // namespace plimsoll::server
