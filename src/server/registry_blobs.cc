// Reading and deleting blobs (distribution-spec, "Pulling blobs", "Deleting Blobs").
#include "server/registry_exchange.h"

namespace plimsoll::server {
namespace {

// A blob never changes: what its digest names is cached for as long as anybody likes.
void describe(http::ServerAnswer& answer, std::string_view digest) {
  answer.add("Content-Type", "application/octet-stream");
  answer.add("Docker-Content-Digest", digest);
  std::string etag = "\"";
  etag.append(digest).append("\"");
  answer.add("ETag", etag);
  answer.add("Cache-Control", "max-age=31536000");
}

}  // namespace

Outcome Registry::head_blob(Exchange& exchange) const {
  const auto digest = parse_digest(exchange.reference());
  if (!digest) return digest.error();
  const auto size = store_.blob_size(exchange.repository(), *digest);
  if (!size) return blob_unknown();
  describe(exchange.answer(), exchange.reference());
  if (is_unchanged(exchange.request(), exchange.reference())) {
    exchange.answer().status = 304;
    return {};
  }
  answer_with_content(exchange.request(), exchange.answer(), {.size = *size, .bytes = {}, .owner = {}}, {});
  return {};
}

Outcome Registry::get_blob(Exchange& exchange) const {
  const auto digest = parse_digest(exchange.reference());
  if (!digest) return digest.error();
  const auto content = store_.blob(exchange.repository(), *digest);
  if (!content && content.error().fault == StoreFault::unknown) return blob_unknown();
  if (!content) return storage_failed(content.error());
  describe(exchange.answer(), exchange.reference());
  if (is_unchanged(exchange.request(), exchange.reference())) {
    exchange.answer().status = 304;
    return {};
  }
  answer_with_content(exchange.request(), exchange.answer(), *content, "\"" + exchange.reference() + "\"");
  return {};
}

Outcome Registry::delete_blob(Exchange& exchange) {
  const auto digest = parse_digest(exchange.reference());
  if (!digest) return digest.error();
  const auto removed = store_.remove_blob(exchange.repository(), *digest);
  if (!removed && removed.error().fault == StoreFault::unknown) return blob_unknown();
  if (!removed) return storage_failed(removed.error());
  exchange.answer().status = 202;
  return {};
}

}  // namespace plimsoll::server
