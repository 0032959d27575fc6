#include "server/registry.h"

#include <fmt/format.h>

#include "base/text.h"
#include "oci/reference.h"
#include "server/registry_exchange.h"

namespace plimsoll::server {

Result<oci::Digest, RegistryError> parse_digest(std::string_view text) {
  if (const auto digest = oci::Digest::parse(text)) return *digest;
  if (oci::digest_syntax(text) == oci::DigestSyntax::unsupported) {
    return digest_invalid(fmt::format("the digest algorithm is not supported: {}", text));
  }
  return digest_invalid(fmt::format("not a digest: {}", text));
}

bool is_unchanged(const http::RequestHead& request, std::string_view digest) {
  bool same = false;
  request.headers.for_each("If-None-Match", [&](std::string_view value) {
    http::ListMembers members(value);
    while (auto member = members.next()) {
      if (member->starts_with("W/")) member->remove_prefix(2);
      same |= *member == "*" ||
              (member->size() == digest.size() + 2 && member->substr(1, digest.size()) == digest);
    }
  });
  return same;
}

net::Task<void> Registry::handle(http::Call& call) {
  http::ServerAnswer& answer = call.answer;
  answer.add("Docker-Distribution-API-Version", "registry/2.0");
  if (!options_.warning.empty()) answer.add("Warning", fmt::format("299 - \"{}\"", options_.warning));
  auto route = find_route(call.request.path);
  if (!route) {
    write_error(answer, {404, "UNKNOWN", "no such resource in the distribution API"});
    co_return;
  }
  if (!route->repository.empty() && !oci::is_repository_name(route->repository)) {
    write_error(answer, name_invalid(route->repository));
    co_return;
  }
  Exchange exchange{.call = call, .route = std::move(*route), .query = Query(call.request.query)};
  const auto outcome = co_await dispatch(exchange);
  if (!outcome) write_error(answer, outcome.error());
}

namespace {

bool reads(http::Method method) {
  return method == http::Method::get || method == http::Method::head;
}

RegistryError method_not_allowed(http::ServerAnswer& answer, std::string_view allowed) {
  answer.add("Allow", allowed);
  return unsupported("the method is not one of this resource");
}

}  // namespace

net::Task<Outcome> Registry::dispatch(Exchange& exchange) {
  using http::Method;
  const Method method = exchange.request().method;
  http::ServerAnswer& answer = exchange.answer();
  const Resource resource = exchange.route.resource;
  if (options_.read_only && !reads(method)) co_return unsupported("the registry is read-only");
  if (resource == Resource::blob) {
    if (method == Method::get) co_return get_blob(exchange);
    if (method == Method::head) co_return head_blob(exchange);
    if (method == Method::del) co_return delete_blob(exchange);
    co_return method_not_allowed(answer, "GET, HEAD, DELETE");
  }
  if (resource == Resource::manifest) {
    if (reads(method)) co_return co_await get_manifest(exchange);
    if (method == Method::put) co_return co_await put_manifest(exchange);
    if (method == Method::del) co_return co_await delete_manifest(exchange);
    co_return method_not_allowed(answer, "GET, HEAD, PUT, DELETE");
  }
  if (resource == Resource::upload_start) {
    if (method == Method::post) co_return co_await post_upload(exchange);
    co_return method_not_allowed(answer, "POST");
  }
  if (resource == Resource::upload) {
    if (method == Method::patch) co_return co_await patch_upload(exchange);
    if (method == Method::put) co_return co_await put_upload(exchange);
    if (reads(method)) co_return get_upload(exchange);
    if (method == Method::del) co_return delete_upload(exchange);
    co_return method_not_allowed(answer, "GET, HEAD, PATCH, PUT, DELETE");
  }
  if (!reads(method)) co_return method_not_allowed(answer, "GET, HEAD");
  if (resource == Resource::catalog) co_return get_catalog(exchange);
  if (resource == Resource::tags) co_return get_tags(exchange);
  if (resource == Resource::referrers) co_return get_referrers(exchange);
  answer.add("Content-Type", "application/json");
  answer.body = http::Payload::of_static("{}");
  co_return Outcome{};
}

}  // namespace plimsoll::server
