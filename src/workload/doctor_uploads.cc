// Every way to upload, what sessions know, and mounts (distribution-spec, "Pushing blobs").
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "oci/mask.h"
#include "workload/doctor_state.h"

namespace plimsoll::workload {
namespace {

constexpr std::uint64_t kLargeChunk = 5U << 20U;  // some registries end at 4 MiB

// A body whose length nobody told: it is sent with chunked coding.
class Unsized final : public http::RequestBody {
 public:
  explicit Unsized(const http::RequestBody& body) : body_(body) {}
  std::optional<std::uint64_t> length() const override { return std::nullopt; }
  http::BodyPiece piece(std::uint64_t offset) const override { return body_.piece(offset); }

 private:
  const http::RequestBody& body_;
};

}  // namespace

net::Task<void> Doctor::try_uploads() {
  co_await upload("upload-put", "end-4a, end-6", &Doctor::push_put, next_content());
  co_await upload("upload-stream", "end-5 without Content-Range", &Doctor::push_stream, next_content());
  co_await upload("upload-stream-chunked", "end-5 without Content-Range; RFC 9112, section 7.1",
                  &Doctor::push_stream_unsized, next_content());
  co_await upload("upload-chunks", "end-5, end-6", &Doctor::push_chunks, next_content());
  co_await upload("upload-post", "end-4b", &Doctor::push_post, next_content());
  co_await upload("upload-empty", "end-4a, end-6", &Doctor::push_put, "");
  co_await upload("upload-sha512", "end-6; image-spec, digests", &Doctor::push_put, next_content(),
                  oci::DigestAlgorithm::sha512);
  co_await look_at_session();
  co_await try_chunk_order();
  co_await try_large_chunk();
  co_await try_wrong_digest();
}

net::Task<void> Doctor::upload(std::string id, std::string spec, Push push, std::string content,
                               oci::DigestAlgorithm algorithm) {
  const http::TextBody body(content);
  const oci::Digest digest = oci::Digest::of(content, algorithm);
  auto pushed = co_await (this->*push)(body, digest);
  std::string supported = pushed ? "yes" : "no";
  std::string evidence = pushed ? "201" : why(pushed.error());
  if (pushed) {
    blobs_.push_back(digest);
    if (auto there = co_await client_.head_blob(repository_, digest, oci::BlobRole::layer); !there) {
      supported = "no";
      evidence = fmt::format("accepted, but not there afterwards: {}", why(there.error()));
      stray(id, fmt::format("{}: what was accepted is not there", id), spec);
    }
  }
  if (id == "upload-post" && pushed && witness_.saw(oci::Step::layer_put, 201)) {
    supported = "no";
    evidence = "202: the content is to be sent again by PUT";
  }
  take_notes(id, spec);
  say(std::move(id), std::move(supported), std::move(evidence), std::move(spec));
}

net::Task<Result<void>> Doctor::push_put(const http::RequestBody& body, const oci::Digest& digest) {
  auto session = co_await client_.start_upload(repository_);
  if (!session) co_return session.error();
  if (session->chunk_minimum > 0) chunk_minimum_ = session->chunk_minimum;
  co_return co_await client_.put_blob(*session, body, digest, oci::BlobRole::layer);
}

net::Task<Result<void>> Doctor::push_stream(const http::RequestBody& body, const oci::Digest& digest) {
  auto session = co_await client_.start_upload(repository_);
  if (!session) co_return session.error();
  if (auto sent = co_await client_.stream_blob(*session, body, oci::BlobRole::layer); !sent)
    co_return sent.error();
  co_return co_await client_.finish_upload(*session, digest, oci::BlobRole::layer);
}

net::Task<Result<void>> Doctor::push_stream_unsized(const http::RequestBody& body,
                                                    const oci::Digest& digest) {
  const Unsized unsized(body);
  co_return co_await push_stream(unsized, digest);
}

net::Task<Result<void>> Doctor::push_chunks(const http::RequestBody& body, const oci::Digest& digest) {
  auto session = co_await client_.start_upload(repository_);
  if (!session) co_return session.error();
  const std::uint64_t half = std::max<std::uint64_t>(1, *body.length() / 2);
  if (auto sent = co_await client_.send_chunks(*session, body, half, oci::BlobRole::layer); !sent) {
    co_return sent.error();
  }
  co_return co_await client_.finish_upload(*session, digest, oci::BlobRole::layer);
}

net::Task<Result<void>> Doctor::push_post(const http::RequestBody& body, const oci::Digest& digest) {
  co_return co_await client_.post_blob(repository_, body, digest, oci::BlobRole::layer);
}

// How the registry names its sessions, which is where clients stumble.
net::Task<Result<oci::Upload>> Doctor::open_session() {
  const http::TextBody nothing{std::string_view()};
  oci::Call post =
      call(oci::Step::upload_post, http::Method::post, repository_, "blobs/uploads/", oci::Right::push);
  post.body = &nothing;
  const auto reply = co_await ask(post);
  if (!reply) co_return reply.error();
  const std::string location(reply->header("Location"));
  auto url = http::resolve(reply->url, location);
  if (reply->status != 202 || !url) co_return path_.refused(*reply, post);
  const bool absolute = location.starts_with("http://") || location.starts_with("https://");
  const std::string query(url->query());
  const bool elsewhere = !url->same_origin(target_.options.base);
  std::string text = fmt::format(
      "{}{}{}",
      absolute                    ? "absolute"
      : location.starts_with("/") ? "a path"
                                  : "relative",
      elsewhere ? ", at " + url->origin() : "",
      query.empty() ? "" : ", with a query that is to come back: " + oci::masked_target("?" + query));
  say("upload-location", "yes", std::move(text), "end-4a");
  co_return oci::Upload{.repository = repository_, .location = std::move(*url)};
}

net::Task<void> Doctor::look_at_session() {
  say("chunk-minimum", chunk_minimum_ > 0 ? "yes" : "no",
      chunk_minimum_ > 0 ? fmt::format("OCI-Chunk-Min-Length: {}", chunk_minimum_)
                         : "no OCI-Chunk-Min-Length",
      "end-4a");
  auto session = co_await open_session();
  if (!session) co_return;
  auto status = co_await client_.upload_status(*session);
  say("upload-status", status ? "yes" : "no",
      status ? fmt::format("204, {} bytes", *status) : why(status.error()), "end-13");
  auto cancelled = co_await client_.cancel_upload(*session);
  say("upload-cancel", cancelled ? "yes" : "no", cancelled ? "204" : why(cancelled.error()), "end-14");
  if (cancelled) {
    if (auto after = co_await client_.upload_status(*session); after) {
      stray("cancelled-still-there", "a session that was cancelled still has a status", "end-13, end-14");
    }
  }
  take_notes("upload session", "end-13, end-14");
}

// A chunk that doesn't begin where the last one ended is refused with 416, and the session lives on.
net::Task<void> Doctor::try_chunk_order() {
  constexpr auto kSpec = "end-5: 416 for chunks out of order";
  const std::uint64_t size = std::max<std::uint64_t>(4, chunk_minimum_);
  const std::string content(2 * size, 'x');
  const http::TextBody chunk(std::string_view(content).substr(size));
  const http::TextBody twice(content);
  auto session = co_await client_.start_upload(repository_);
  if (!session) co_return;
  if (auto sent = co_await client_.send_chunks(*session, chunk, size, oci::BlobRole::layer); !sent) {
    static_cast<void>(co_await client_.cancel_upload(*session));
    co_return;
  }
  const std::string range = fmt::format("{}-{}", size + 10, 2 * size + 9);
  oci::Call patch{.step = oci::Step::layer_patch,
                  .method = http::Method::patch,
                  .url = session->location,
                  .access = {.right = oci::Right::push, .repository = repository_},
                  .content_type = "application/octet-stream",
                  .content_range = range,
                  .body = &chunk,
                  .upload = true};
  const auto reply = co_await ask(patch);
  const bool refused = reply && reply->status == 416;
  if (refused) {
    // The one that fits is taken all the same.
    const auto next = co_await client_.send_chunks(*session, twice, size, oci::BlobRole::layer);
    say("chunk-order", next ? "yes" : "partly",
        next ? "a chunk out of order is refused with 416, and the session lives on"
             : "416, and then for the one that fits: " + why(next.error()),
        kSpec);
    if (!next) stray("chunk-order", "after a 416 the session is lost", kSpec);
  } else {
    const std::string answer =
        reply && reply->status < 300 ? fmt::format("{}", reply->status) : answer_of(reply, patch);
    say("chunk-order", "no", fmt::format("a chunk out of order is answered with {}", answer), kSpec);
    stray("chunk-order", fmt::format("a chunk out of order is answered with {}, not 416", answer), kSpec);
  }
  static_cast<void>(co_await client_.cancel_upload(*session));
  witness_.forget();
}

net::Task<void> Doctor::try_large_chunk() {
  auto session = co_await client_.start_upload(repository_);
  if (!session) co_return;
  const std::string content(std::max(kLargeChunk, chunk_minimum_), 'x');
  const http::TextBody chunk(content);
  auto sent = co_await client_.send_chunks(*session, chunk, content.size(), oci::BlobRole::layer);
  say("chunk-5mib", sent ? "yes" : "no", sent ? "a chunk of 5 MiB is taken" : why(sent.error()), "end-5");
  static_cast<void>(co_await client_.cancel_upload(*session));
  witness_.forget();
}

net::Task<void> Doctor::try_wrong_digest() {
  constexpr auto kSpec = "end-6: 400 for a digest that is not the content's";
  const std::string content = next_content();
  const http::TextBody body(content);
  auto session = co_await client_.start_upload(repository_);
  if (!session) co_return;
  const oci::Digest wrong = oci::Digest::of(content + "!");
  auto pushed = co_await client_.put_blob(*session, body, wrong, oci::BlobRole::layer);
  say("wrong-digest-refused", pushed ? "no" : "yes",
      pushed ? "content was taken under a digest that is not its own" : why(pushed.error()), kSpec);
  if (pushed) {
    blobs_.push_back(wrong);
    stray("wrong-digest", "content was taken under a digest that is not its own", kSpec);
  } else {
    static_cast<void>(co_await client_.cancel_upload(*session));
  }
  witness_.forget();
}

net::Task<void> Doctor::try_mounts() {
  if (blobs_.empty()) co_return;
  co_await mount_from("mount-cross", repository_, blobs_.front());
  const oci::Digest another = blobs_.size() > 1 ? blobs_[1] : blobs_.front();
  co_await mount_from("mount-anonymous", "", another);
  auto missing = co_await client_.mount(other_, oci::Digest::of(next_content()), repository_);
  if (missing && missing->mounted)
    stray("mount-of-nothing", "a blob that is not there was mounted", "end-11");
  if (missing && missing->upload) static_cast<void>(co_await client_.cancel_upload(*missing->upload));
  witness_.forget();
}

net::Task<void> Doctor::mount_from(std::string id, std::string from, oci::Digest digest) {
  auto mounted = co_await client_.mount(other_, digest, from);
  const int status = client_.last_status();
  bool yes = mounted && mounted->mounted;
  std::string evidence = yes             ? "201"
                         : !mounted      ? why(mounted.error())
                         : status == 202 ? "202: the blob is to be uploaded"
                                         : fmt::format("{}", status);
  if (yes) {
    other_blobs_.push_back(digest);
    if (auto there = co_await client_.head_blob(other_, digest, oci::BlobRole::layer); !there) {
      yes = false;
      evidence = "201, but the blob is not there";
      stray(id, "what was mounted is not there", "end-11");
    }
  } else if (mounted && !mounted->upload) {
    stray(id, fmt::format("a mount that is not made is answered with {}, not with 202 and a session", status),
          "end-11");
  }
  if (mounted && mounted->upload) static_cast<void>(co_await client_.cancel_upload(*mounted->upload));
  witness_.forget();
  say(std::move(id), yes ? "yes" : "no", std::move(evidence), "end-11");
}

}  // namespace plimsoll::workload
