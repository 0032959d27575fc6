// Lists: tags, referrers, and Docker's catalog (distribution-spec, "Listing Tags", "Listing Referrers").
#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "base/text.h"
#include "oci/media_types.h"
#include "server/json_text.h"
#include "server/registry_exchange.h"

namespace plimsoll::server {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

struct PageRequest {
  std::size_t limit = kAll;
  std::string_view last;
};

Result<PageRequest, RegistryError> page_request(const Query& query, std::size_t most) {
  PageRequest page{.limit = most == 0 ? kAll : most, .last = query.find("last").value_or("")};
  if (const auto text = query.find("n")) {
    const auto n = parse_u64(*text);
    if (!n) return RegistryError{400, "PAGINATION_NUMBER_INVALID", "n is a number of names, 0 or more"};
    page.limit = std::min<std::size_t>(page.limit, *n);
  }
  return page;
}

// RFC 8288; relative, as the specification shows it.
void link_next(http::ServerAnswer& answer, std::string_view path, const PageRequest& page,
               const NamePage& names) {
  if (!names.more || names.names.empty()) return;
  answer.add("Link", fmt::format("<{}?n={}&last={}>; rel=\"next\"", path, page.limit,
                                 percent_encode(names.names.back())));
}

void append_names(std::string& out, const NamePage& page) {
  out += '[';
  for (std::size_t i = 0; i < page.names.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, page.names[i]);
  }
  out += ']';
}

void append_descriptor(std::string& out, const Referrer& referrer) {
  out += R"({"mediaType":)";
  append_json_string(out, referrer.media_type);
  out += R"(,"digest":")";
  referrer.digest.append_to(out);
  fmt::format_to(std::back_inserter(out), R"(","size":{})", referrer.size);
  if (!referrer.artifact_type.empty()) {
    out += R"(,"artifactType":)";
    append_json_string(out, referrer.artifact_type);
  }
  if (!referrer.annotations.empty()) out.append(R"(,"annotations":)").append(referrer.annotations);
  out += '}';
}

}  // namespace

Outcome Registry::get_catalog(Exchange& exchange) const {
  const auto page = page_request(exchange.query, options_.page);
  if (!page) return page.error();
  const NamePage names = store_.repositories(page->last, page->limit);
  http::ServerAnswer& answer = exchange.answer();
  link_next(answer, "/v2/_catalog", *page, names);
  answer.add("Content-Type", "application/json");
  std::string body = R"({"repositories":)";
  append_names(body, names);
  body += "}\n";
  answer.body = http::Payload::of_text(std::move(body));
  return {};
}

Outcome Registry::get_tags(Exchange& exchange) const {
  const auto page = page_request(exchange.query, options_.page);
  if (!page) return page.error();
  const auto names = store_.tags(exchange.repository(), page->last, page->limit);
  if (!names) return name_unknown(exchange.repository());
  http::ServerAnswer& answer = exchange.answer();
  link_next(answer, fmt::format("/v2/{}/tags/list", exchange.repository()), *page, *names);
  answer.add("Content-Type", "application/json");
  std::string body = R"({"name":)";
  append_json_string(body, exchange.repository());
  body += R"(,"tags":)";
  append_names(body, *names);
  body += "}\n";
  answer.body = http::Payload::of_text(std::move(body));
  return {};
}

Outcome Registry::get_referrers(Exchange& exchange) const {
  const auto digest = parse_digest(exchange.reference());
  if (!digest) return digest.error();
  const auto wanted = exchange.query.find("artifactType");
  http::ServerAnswer& answer = exchange.answer();
  answer.add("Content-Type", oci::kOciIndex);
  if (wanted) answer.add("OCI-Filters-Applied", "artifactType");
  std::string body =
      R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[)";
  bool first = true;
  for (const auto& referrer : store_.referrers(exchange.repository(), *digest)) {
    if (wanted && referrer.artifact_type != *wanted) continue;
    if (!std::exchange(first, false)) body += ',';
    append_descriptor(body, referrer);
  }
  body += "]}";
  answer.body = http::Payload::of_text(std::move(body));
  return {};
}

}  // namespace plimsoll::server
