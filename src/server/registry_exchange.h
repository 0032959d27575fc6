// What the registry's functions hand to each other: one request, taken apart.
#pragma once

#include "server/ranges.h"
#include "server/registry.h"

namespace plimsoll::server {

struct Registry::Exchange {
  http::Call& call;
  Route route;
  Query query;

  const http::RequestHead& request() const { return call.request; }
  http::ServerAnswer& answer() const { return call.answer; }
  const std::string& repository() const { return route.repository; }
  const std::string& reference() const { return route.reference; }
};

// The digest of a route or query, or the error that says what is wrong with it.
Result<oci::Digest, RegistryError> parse_digest(std::string_view text);

// If-None-Match holds this digest as an entity tag (or is "*"): the answer is 304.
bool is_unchanged(const http::RequestHead& request, std::string_view digest);

}  // namespace plimsoll::server
