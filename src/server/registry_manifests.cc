// Manifests and tags (distribution-spec, "Pulling manifests", "Pushing Manifests", "Deleting tags/Manifests").
#include <fmt/format.h>

#include "oci/manifest.h"
#include "oci/reference.h"
#include "server/registry_exchange.h"

namespace plimsoll::server {
namespace {

// The body whole, or why not.
net::Task<Result<std::string, RegistryError>> read_body(http::BodyReader& body, std::uint64_t limit) {
  const RegistryError too_large{413, "SIZE_INVALID", fmt::format("a manifest may have {} bytes here", limit)};
  const auto length = body.length();
  if (length && *length > limit) co_return too_large;
  std::string bytes;
  bytes.reserve(length.value_or(0));
  for (;;) {
    const auto piece = co_await body.read();
    if (!piece) co_return RegistryError{400, "MANIFEST_INVALID", "the manifest did not arrive whole"};
    if (piece->empty()) co_return bytes;
    if (bytes.size() + piece->size() > limit) co_return too_large;
    bytes.append(*piece);
  }
}

struct Target {
  oci::Digest digest;
  std::vector<std::string> tags;
};

// What a manifest is put under: by tag its sha256, by digest that one, which its bytes must have.
Result<Target, RegistryError> find_target(const std::string& reference, const Query& query,
                                          std::string_view bytes) {
  Target target;
  if (!reference.contains(':')) {
    if (!oci::is_tag(reference)) {
      return RegistryError{400, "MANIFEST_INVALID", fmt::format("not a tag: {}", reference)};
    }
    target.digest = oci::Digest::of(bytes);
    target.tags.push_back(reference);
    return target;
  }
  const auto digest = parse_digest(reference);
  if (!digest) return digest.error();
  target.digest = oci::Digest::of(bytes, digest->algorithm());
  if (target.digest != *digest) {
    return digest_invalid(fmt::format("the manifest's digest is {}", target.digest.text()));
  }
  for (const auto tag : query.find_all("tag")) {
    if (!oci::is_tag(tag)) return RegistryError{400, "MANIFEST_INVALID", fmt::format("not a tag: {}", tag)};
    target.tags.emplace_back(tag);
  }
  return target;
}

// All Via fields as one list.
std::string via_of(const http::RequestHead& request) {
  std::string via;
  request.headers.for_each("Via", [&](std::string_view value) {
    if (!via.empty()) via += ", ";
    via += value;
  });
  return via;
}

}  // namespace

net::Task<Outcome> Registry::get_manifest(Exchange& exchange) {
  const std::string& reference = exchange.reference();
  if (!oci::is_manifest_reference(reference)) co_return manifest_unknown(reference);
  Checked<void> refreshed;
  if (source_ != nullptr) {
    refreshed = co_await source_->refresh(exchange.call.loop, exchange.repository(), reference,
                                          via_of(exchange.request()));
  }
  const auto digest = oci::Digest::parse(reference);
  const auto found = digest ? store_.manifest(exchange.repository(), *digest)
                            : store_.manifest(exchange.repository(), std::string_view(reference));
  if (!found && found.error().fault == StoreFault::unknown) {
    if (!refreshed) co_return upstream_failed(refreshed.error().message);
    if (!store_.has_repository(exchange.repository())) co_return name_unknown(exchange.repository());
    co_return manifest_unknown(reference);
  }
  if (!found) co_return storage_failed(found.error());
  const std::string text = found->digest.text();
  http::ServerAnswer& answer = exchange.answer();
  answer.add("Content-Type", found->media_type);
  answer.add("Docker-Content-Digest", text);
  answer.add("ETag", "\"" + text + "\"");
  if (is_unchanged(exchange.request(), text)) {
    answer.status = 304;
  } else {
    answer.body = found->content;
  }
  co_return Outcome{};
}

net::Task<Outcome> Registry::put_manifest(Exchange& exchange) {
  const std::string& reference = exchange.reference();
  // What can be refused before the body comes.
  if (reference.contains(':')) {
    if (const auto digest = parse_digest(reference); !digest) co_return digest.error();
  } else if (!oci::is_tag(reference)) {
    co_return RegistryError{400, "MANIFEST_INVALID", fmt::format("not a tag: {}", reference)};
  }
  auto bytes = co_await read_body(exchange.call.body, options_.max_manifest);
  if (!bytes) co_return bytes.error();
  const auto content_type = exchange.request().headers.find("Content-Type");
  std::string media_type = content_type ? oci::bare_media_type(*content_type) : media_type_field(*bytes);
  if (media_type.empty()) co_return RegistryError{400, "MANIFEST_INVALID", "the manifest has no media type"};
  auto facts = read_manifest_facts(*bytes, media_type);
  if (!facts) co_return RegistryError{400, "MANIFEST_INVALID", facts.error().message};
  const auto target = find_target(reference, exchange.query, *bytes);
  if (!target) co_return target.error();
  std::string subject;
  if (facts->referrer) subject = facts->referrer->subject.text();
  const auto put = [&] {
    return store_.put_manifest(exchange.repository(), target->digest, *bytes, std::move(*facts),
                               target->tags);
  };
  const auto stored = store_.durable() ? co_await workers_.run(exchange.call.loop, put) : put();
  if (!stored) co_return storage_failed(stored.error());
  http::ServerAnswer& answer = exchange.answer();
  answer.status = 201;
  const std::string digest = target->digest.text();
  answer.add("Location", fmt::format("/v2/{}/manifests/{}", exchange.repository(), digest));
  answer.add("Docker-Content-Digest", digest);
  if (!subject.empty()) answer.add("OCI-Subject", subject);
  for (const auto tag : exchange.query.find_all("tag")) answer.add("OCI-Tag", tag);
  co_return Outcome{};
}

net::Task<Outcome> Registry::delete_manifest(Exchange& exchange) {
  const std::string& reference = exchange.reference();
  if (!oci::is_manifest_reference(reference)) co_return manifest_unknown(reference);
  const auto digest = oci::Digest::parse(reference);
  const auto remove = [&] {
    return digest ? store_.remove_manifest(exchange.repository(), *digest)
                  : store_.remove_tag(exchange.repository(), reference);
  };
  const auto removed = store_.durable() ? co_await workers_.run(exchange.call.loop, remove) : remove();
  if (!removed && removed.error().fault == StoreFault::unknown) co_return manifest_unknown(reference);
  if (!removed) co_return storage_failed(removed.error());
  exchange.answer().status = 202;
  co_return Outcome{};
}

}  // namespace plimsoll::server
