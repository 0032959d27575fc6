// Uploads of blobs in all their forms: whole in one POST, POST and PUT, chunked, streamed, resumed, cancelled,
// mounted (distribution-spec, "Pushing blobs").
#include <fmt/format.h>

#include "base/text.h"
#include "net/scope.h"
#include "server/registry_exchange.h"

namespace plimsoll::server {
namespace {

// "a-b" of an upload's Content-Range, which has neither unit nor total.
struct ChunkRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
std::optional<ChunkRange> parse_chunk_range(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_u64(text.substr(0, dash));
  const auto last = parse_u64(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return ChunkRange{*first, *last};
}

std::string upload_path(const UploadSession& session) {
  return fmt::format("/v2/{}/blobs/uploads/{}", session.repository, session.id);
}

// "0-N" up to the last byte stored; an empty session is "0-0" by convention, which also says one byte.
std::string stored_range(const UploadSession& session) {
  const std::uint64_t size = session.upload->size();
  return fmt::format("0-{}", size == 0 ? 0 : size - 1);
}

void created_blob(http::ServerAnswer& answer, std::string_view repository, std::string_view digest) {
  answer.status = 201;
  answer.add("Location", fmt::format("/v2/{}/blobs/{}", repository, digest));
  answer.add("Docker-Content-Digest", digest);
}

constexpr std::uint64_t kHere = 1024 * 1024;     // of a body: handing it over would cost more than it gains
constexpr std::size_t kHandedOver = 512 * 1024;  // at a time

const RegistryError kBroken{400, "BLOB_UPLOAD_INVALID", "the body did not arrive whole"};

net::Task<void> append_beside(Workers& workers, net::Loop& loop, Upload& upload, const std::string& bytes,
                              Stored<void>& outcome) {
  outcome = co_await workers.run(loop, [&] { return upload.append(bytes); });
}

const RegistryError kBusy{409, "BLOB_UPLOAD_INVALID", "another request is adding to this upload"};

}  // namespace

void Registry::accept_upload(Exchange& exchange, const UploadSession& session, int status) const {
  http::ServerAnswer& answer = exchange.answer();
  answer.status = status;
  answer.add("Location", upload_path(session));
  answer.add("Range", stored_range(session));
  answer.add("Docker-Upload-UUID", session.id);
}

net::Task<Outcome> Registry::receive(Exchange& exchange, Upload& upload) {
  for (std::uint64_t here = 0; here < kHere || !workers_.parallel();) {
    const auto piece = co_await exchange.call.body.read();
    if (!piece) co_return kBroken;
    if (piece->empty()) co_return Outcome{};
    here += piece->size();
    if (const auto appended = upload.append(*piece); !appended) co_return storage_failed(appended.error());
  }
  co_return co_await receive_rest(exchange, upload);
}

net::Task<Outcome> Registry::receive_rest(Exchange& exchange, Upload& upload) {
  std::string arriving;
  std::string storing;
  Stored<void> stored;
  net::TaskScope scope;
  for (;;) {
    const auto piece = co_await exchange.call.body.read();
    if (piece) arriving.append(*piece);
    const bool more = piece && !piece->empty();
    if (more && arriving.size() < kHandedOver) continue;
    co_await scope.join();
    if (!stored) co_return storage_failed(stored.error());
    if (!piece) co_return kBroken;
    if (!more) break;
    std::swap(arriving, storing);
    arriving.clear();
    scope.spawn(append_beside(workers_, exchange.call.loop, upload, storing, stored));
  }
  if (const auto appended = upload.append(arriving); !appended) co_return storage_failed(appended.error());
  co_return Outcome{};
}

net::Task<Outcome> Registry::finish_upload(Exchange& exchange, Upload& upload, const oci::Digest& digest) {
  const bool slow = store_.durable() || upload.must_read_again(digest.algorithm());
  const auto finish = [&]() -> Outcome {
    const auto actual = upload.digest(digest.algorithm());
    if (!actual) return storage_failed(actual.error());
    if (*actual != digest) return digest_invalid(fmt::format("the content's digest is {}", actual->text()));
    const auto committed = store_.commit(upload, exchange.repository(), digest);
    if (!committed) return storage_failed(committed.error());
    return {};
  };
  co_return slow ? co_await workers_.run(exchange.call.loop, finish) : finish();
}

net::Task<Outcome> Registry::post_upload(Exchange& exchange) {
  const Query& query = exchange.query;
  if (const auto mounted = query.find("mount")) {
    const auto digest = parse_digest(*mounted);
    if (!digest) co_return digest.error();
    const auto done = store_.mount(exchange.repository(), *digest, query.find("from"));
    if (done) {
      created_blob(exchange.answer(), exchange.repository(), *mounted);
      co_return Outcome{};
    }
    if (done.error().fault != StoreFault::unknown) co_return storage_failed(done.error());
  } else if (const auto digest = query.find("digest")) {
    co_return co_await post_whole_blob(exchange, *digest);
  }
  auto upload = store_.begin_upload(std::nullopt);
  if (!upload) co_return storage_failed(upload.error());
  if (const auto algorithm = query.find("digest-algorithm")) {
    if (*algorithm == "sha512") {
      (*upload)->expect(oci::DigestAlgorithm::sha512);
    } else if (*algorithm != "sha256") {
      co_return digest_invalid(fmt::format("the digest algorithm is not supported: {}", *algorithm));
    }
  }
  const auto session = sessions_.open(exchange.repository(), std::move(*upload));
  accept_upload(exchange, *session, 202);
  if (options_.chunk_minimum > 0) exchange.answer().add("OCI-Chunk-Min-Length", options_.chunk_minimum);
  co_return Outcome{};
}

net::Task<Outcome> Registry::post_whole_blob(Exchange& exchange, std::string_view digest_text) {
  const auto digest = parse_digest(digest_text);
  if (!digest) co_return digest.error();
  auto upload = store_.begin_upload(exchange.call.body.length());
  if (!upload) co_return storage_failed(upload.error());
  (*upload)->expect(digest->algorithm());
  if (auto received = co_await receive(exchange, **upload); !received) co_return received;
  if (auto finished = co_await finish_upload(exchange, **upload, *digest); !finished) co_return finished;
  created_blob(exchange.answer(), exchange.repository(), digest_text);
  co_return Outcome{};
}

Outcome Registry::get_upload(Exchange& exchange) const {
  const auto session = sessions_.find(exchange.repository(), exchange.reference());
  if (!session) return upload_unknown();
  accept_upload(exchange, *session, 204);
  return {};
}

// Where the chunk begins must be where the upload ends; a request that says nothing adds to the end.
Outcome Registry::check_chunk(Exchange& exchange, UploadSession& session) {
  const auto out_of_order = [&](std::string message) {
    accept_upload(exchange, session, 416);
    return range_invalid(std::move(message));
  };
  const auto length = exchange.call.body.length();
  if (const auto text = exchange.request().headers.find("Content-Range")) {
    const auto range = parse_chunk_range(*text);
    if (!range) return out_of_order("Content-Range is FIRST-LAST here");
    const std::uint64_t size = session.upload->size();
    if (range->first != size) return out_of_order(fmt::format("the next byte of this upload is {}", size));
    if (length && *length != range->last - range->first + 1) {
      return RegistryError{400, "SIZE_INVALID", "Content-Range and Content-Length differ"};
    }
  }
  if (options_.chunk_minimum > 0 && exchange.request().method == http::Method::patch) {
    if (session.short_chunk)
      return out_of_order("only the last chunk may be shorter than OCI-Chunk-Min-Length");
    session.short_chunk = length && *length > 0 && *length < options_.chunk_minimum;
  }
  return {};
}

net::Task<Outcome> Registry::patch_upload(Exchange& exchange) {
  const auto session = sessions_.find(exchange.repository(), exchange.reference());
  if (!session) co_return upload_unknown();
  const auto use = UploadSessions::use(session);
  if (!use) co_return kBusy;
  if (session->closed) co_return upload_unknown();
  if (auto in_order = check_chunk(exchange, *session); !in_order) co_return in_order;
  if (auto received = co_await receive(exchange, *session->upload); !received) co_return received;
  accept_upload(exchange, *session, 202);
  co_return Outcome{};
}

net::Task<Outcome> Registry::put_upload(Exchange& exchange) {
  const auto session = sessions_.find(exchange.repository(), exchange.reference());
  if (!session) co_return upload_unknown();
  const auto text = exchange.query.find("digest");
  if (!text) co_return digest_invalid("the digest parameter is missing");
  const auto digest = parse_digest(*text);
  if (!digest) co_return digest.error();
  const auto use = UploadSessions::use(session);
  if (!use) co_return kBusy;
  if (session->closed) co_return upload_unknown();
  if (auto in_order = check_chunk(exchange, *session); !in_order) co_return in_order;
  session->upload->expect(digest->algorithm());
  if (auto received = co_await receive(exchange, *session->upload); !received) co_return received;
  auto finished = co_await finish_upload(exchange, *session->upload, *digest);
  // A full disk may be helped, and the client come again; wrong content stays wrong.
  if (!finished && finished.error().status >= 500) co_return finished;
  sessions_.close(*session);
  if (!finished) co_return finished;
  created_blob(exchange.answer(), exchange.repository(), *text);
  co_return Outcome{};
}

Outcome Registry::delete_upload(Exchange& exchange) {
  const auto session = sessions_.find(exchange.repository(), exchange.reference());
  if (!session) return upload_unknown();
  sessions_.close(*session);
  exchange.answer().status = 204;
  return {};
}

}  // namespace plimsoll::server
