#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "oci/mask.h"
#include "oci/media_types.h"
#include "oci/range.h"
#include "oci/registry_client.h"
#include "oci/registry_state.h"

namespace plimsoll::oci {
namespace {

// How often an upload goes on after a 416 without that anything more was stored.
constexpr int kMostResumes = 3;

// A run of another body.
class PartOfBody final : public http::RequestBody {
 public:
  PartOfBody(const http::RequestBody& whole, std::uint64_t offset, std::optional<std::uint64_t> length)
      : whole_(whole), offset_(offset), length_(length) {}
  std::optional<std::uint64_t> length() const override { return length_; }
  http::BodyPiece piece(std::uint64_t offset) const override {
    http::BodyPiece piece = whole_.piece(offset_ + offset);
    if (length_) piece.bytes = piece.bytes.substr(0, *length_ - std::min(offset, *length_));
    return piece;
  }

 private:
  const http::RequestBody& whole_;
  std::uint64_t offset_;
  std::optional<std::uint64_t> length_;
};

// What is left of a body from `offset` on.
PartOfBody rest_of(const http::RequestBody& whole, std::uint64_t offset) {
  const auto length = whole.length();
  return {whole, offset, length ? std::optional(*length - std::min(offset, *length)) : std::nullopt};
}

// The field that says where a part belongs; none for a whole body, or one of unknown length.
std::string range_of(std::uint64_t offset, std::optional<std::uint64_t> length) {
  if (offset == 0 || !length || *length == 0) return {};
  return fmt::format("{}-{}", offset, offset + *length - 1);
}

std::string digest_query(const Digest& digest) {
  return "digest=" + percent_encode(digest.text());
}

Step put_step(BlobRole role) {
  return role == BlobRole::layer ? Step::layer_put : Step::config_put;
}
Step patch_step(BlobRole role) {
  return role == BlobRole::layer ? Step::layer_patch : Step::config_patch;
}

const http::TextBody kNothing{std::string_view()};

}  // namespace

Result<void> RegistryClient::State::follow_location(Upload& upload, const Reply& reply, const Call& call) {
  const auto location = reply.header("Location");
  if (location.empty()) return ok();
  auto next = http::resolve(reply.url, location);
  if (!next || (reply.url.secure() && !next->secure())) {
    // The Location is what explains it: a registry behind a proxy that doesn't know its own name.
    Error error = path.refused(reply, call);
    error.kind = ErrorKind::protocol;
    error.text = next ? "the upload's Location leads from https to http" : "the upload's Location is no URL";
    return error;
  }
  upload.location = std::move(*next);
  return ok();
}

net::Task<Result<Upload>> RegistryClient::State::open_upload(std::string_view repository, Call call) {
  text.begin(kMaxErrorBody);
  const auto reply = co_await path.run(call);
  if (!reply) co_return reply.error();
  if (!accepts(*reply, call, 202)) co_return path.refused(*reply, call);
  if (reply->header("Location").empty()) {
    co_return path.failed(ErrorKind::protocol, reply->status, "an upload session without a Location", call);
  }
  Upload upload{.repository = std::string(repository), .location = reply->url};
  upload.chunk_minimum = parse_u64(reply->header("OCI-Chunk-Min-Length")).value_or(0);
  if (auto located = follow_location(upload, *reply, call); !located) co_return located.error();
  co_return upload;
}

net::Task<Result<Upload>> RegistryClient::start_upload(std::string_view repository) {
  co_return co_await state_->open_upload(repository,
                                         {.step = Step::upload_post,
                                          .method = http::Method::post,
                                          .url = state_->url(repository, "blobs/uploads/"),
                                          .access = {.right = Right::push, .repository = repository},
                                          .body = &kNothing,
                                          .sink = &state_->text});
}

Call RegistryClient::State::upload_call(Step step, http::Method method, const Upload& upload,
                                        const http::RequestBody& body) {
  text.begin(kMaxErrorBody);
  const bool empty = body.length() == 0U;
  return {.step = step,
          .method = method,
          .url = upload.location,
          .access = {.right = Right::push, .repository = upload.repository},
          .content_type = empty ? std::string_view() : kOctetStream,
          .body = &body,
          .sink = &text,
          .upload = true,
          .repeatable = false};
}

net::Task<Result<void>> RegistryClient::State::close_upload(Upload& upload, const http::RequestBody& body,
                                                            const Digest& digest, Step step) {
  Call call = upload_call(step, http::Method::put, upload, body);
  const std::string range = range_of(upload.offset, body.length());
  call.url = http::append_query(std::move(call.url), digest_query(digest));
  call.content_range = range;
  const auto reply = co_await path.run(call);
  if (!reply) co_return reply.error();
  if (!accepts(*reply, call, 201)) co_return path.refused(*reply, call);
  co_return ok();
}

net::Task<bool> RegistryClient::State::has_blob(std::string_view repository, const Digest& digest) {
  const Call call{.step = Step::layer_head,
                  .method = http::Method::head,
                  .url = url(repository, fmt::format("blobs/{}", digest.text())),
                  .access = {.right = Right::push, .repository = repository},
                  .follow = Follow::none,
                  .sink = &text};
  const auto reply = co_await path.run(call);
  co_return reply && reply->status >= 200 && reply->status < 400;
}

net::Task<Result<void>> RegistryClient::State::resume(Upload& upload, int attempt, const Call& call) {
  if (auto waited = co_await path.wait_to_retry(attempt, call, path.detail().text); !waited) co_return waited;
  const auto offset = co_await status(upload);
  if (!offset) co_return offset.error();
  path.note(NoteKind::resumed, call, fmt::format("from byte {}", *offset));
  co_return ok();
}

net::Task<Result<void>> RegistryClient::put_blob(Upload& upload, const http::RequestBody& content,
                                                 const Digest& digest, BlobRole role) {
  State& s = *state_;
  for (int attempt = 1;; ++attempt) {
    const PartOfBody rest = rest_of(content, upload.offset);
    const auto put = co_await s.close_upload(upload, rest, digest, put_step(role));
    if (put || !s.path.may_pass(put.error()) || attempt > s.path.options().retries) co_return put;
    const Call call = s.upload_call(put_step(role), http::Method::put, upload, rest);
    const auto resumed = co_await s.resume(upload, attempt, call);
    if (resumed) continue;
    if (resumed.error().kind == ErrorKind::cancelled) co_return resumed;
    // The session is gone: the answer may have been lost after the blob was stored.
    if (!co_await s.has_blob(upload.repository, digest)) co_return put;
    s.path.note(NoteKind::resumed, call, "the blob had been stored");
    co_return ok();
  }
}

net::Task<Result<void>> RegistryClient::finish_upload(Upload& upload, const Digest& digest, BlobRole role) {
  State& s = *state_;
  for (int attempt = 1;; ++attempt) {
    const auto put = co_await s.close_upload(upload, kNothing, digest, put_step(role));
    if (put || !s.path.may_pass(put.error()) || attempt > s.path.options().retries) co_return put;
    const Call call = s.upload_call(put_step(role), http::Method::put, upload, kNothing);
    if (auto waited = co_await s.path.wait_to_retry(attempt, call, s.path.detail().text); !waited)
      co_return waited;
    if (!co_await s.has_blob(upload.repository, digest)) continue;
    s.path.note(NoteKind::resumed, call, "the blob had been stored");
    co_return ok();
  }
}

net::Task<Result<void>> RegistryClient::State::send_patch(Upload& upload, const http::RequestBody& body,
                                                          std::string_view content_range, Step step,
                                                          std::uint64_t expected_next) {
  Call call = upload_call(step, http::Method::patch, upload, body);
  call.content_range = content_range;
  call.content_type = kOctetStream;
  const auto reply = co_await path.run(call);
  if (!reply) co_return reply.error();
  if (!accepts(*reply, call, 202)) co_return path.refused(*reply, call);
  if (auto located = follow_location(upload, *reply, call); !located) co_return located.error();
  // The status says that it was taken: a Range that says otherwise is the registry's slip, not ours to follow.
  const auto told = reply->header("Range");
  const auto range = parse_upload_range(told);
  if (!told.empty() && (!range || range->first != 0 || range->next != expected_next)) {
    path.note(NoteKind::range_mismatch, call,
              fmt::format("Range: {}, {} bytes were sent", told, expected_next));
  }
  upload.offset = expected_next;
  co_return ok();
}

net::Task<Result<void>> RegistryClient::stream_blob(Upload& upload, const http::RequestBody& content,
                                                    BlobRole role) {
  State& s = *state_;
  for (int attempt = 1;; ++attempt) {
    const PartOfBody rest = rest_of(content, upload.offset);
    const std::string range = range_of(upload.offset, rest.length());
    // Of a body whose length nobody told, the pieces tell it.
    std::uint64_t end = content.length().value_or(upload.offset);
    if (!content.length()) {
      while (const std::size_t size = content.piece(end).bytes.size()) end += size;
    }
    const auto sent = co_await s.send_patch(upload, rest, range, patch_step(role), end);
    if (sent || !s.path.may_pass(sent.error()) || attempt > s.path.options().retries) co_return sent;
    const Call call = s.upload_call(patch_step(role), http::Method::patch, upload, rest);
    if (auto resumed = co_await s.resume(upload, attempt, call); !resumed) co_return sent;
  }
}

net::Task<Result<void>> RegistryClient::send_chunks(Upload& upload, const http::RequestBody& content,
                                                    std::uint64_t chunk_size, BlobRole role) {
  State& s = *state_;
  if (!content.length()) co_return co_await stream_blob(upload, content, role);
  const std::uint64_t total = *content.length();
  const std::uint64_t step_size = std::max({chunk_size, upload.chunk_minimum, std::uint64_t{1}});
  int attempt = 0;
  int resumes = 0;
  while (upload.offset < total) {
    const std::uint64_t before = upload.offset;
    const std::uint64_t length = std::min(step_size, total - before);
    const PartOfBody chunk(content, before, length);
    const std::string range = fmt::format("{}-{}", before, before + length - 1);
    const auto sent = co_await s.send_patch(upload, chunk, range, patch_step(role), before + length);
    if (sent) {
      resumes = 0;
      continue;
    }
    const Call call = s.upload_call(patch_step(role), http::Method::patch, upload, chunk);
    if (sent.error().code == 416 && resumes < kMostResumes) {
      ++resumes;
      const Detail refusal = s.path.detail();
      const auto offset = co_await s.status(upload);
      // To be sent the same chunk again would be refused again.
      if (!offset || *offset == before || *offset > total) co_return sent;
      s.path.note(NoteKind::resumed, call, fmt::format("{}: from byte {}", refusal.text, *offset));
    } else if (s.path.may_pass(sent.error()) && attempt < s.path.options().retries) {
      if (auto resumed = co_await s.resume(upload, ++attempt, call); !resumed) co_return sent;
    } else {
      co_return sent;
    }
  }
  co_return ok();
}

net::Task<Result<void>> RegistryClient::post_blob(std::string_view repository,
                                                  const http::RequestBody& content, const Digest& digest,
                                                  BlobRole role) {
  State& s = *state_;
  s.text.begin(kMaxErrorBody);
  const Call call{.step = role == BlobRole::layer ? Step::layer_post : Step::config_post,
                  .method = http::Method::post,
                  .url = http::append_query(s.url(repository, "blobs/uploads/"), digest_query(digest)),
                  .access = {.right = Right::push, .repository = repository},
                  .content_type = kOctetStream,
                  .body = &content,
                  .sink = &s.text};
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (reply->status != 202) {
    if (!s.accepts(*reply, call, 201)) co_return s.path.refused(*reply, call);
    co_return ok();
  }
  if (reply->header("Location").empty()) {
    co_return s.path.failed(ErrorKind::protocol, 202, "an upload session without a Location", call);
  }
  Upload upload{.repository = std::string(repository), .location = reply->url};
  if (auto located = s.follow_location(upload, *reply, call); !located) co_return located.error();
  co_return co_await put_blob(upload, content, digest, role);
}

net::Task<Result<std::uint64_t>> RegistryClient::State::status(Upload& upload) {
  Call call = upload_call(Step::upload_get, http::Method::get, upload, kNothing);
  call.body = nullptr;
  call.repeatable = true;
  const auto reply = co_await path.run(call);
  if (!reply) co_return reply.error();
  if (!accepts(*reply, call, 204)) co_return path.refused(*reply, call);
  if (auto located = follow_location(upload, *reply, call); !located) co_return located.error();
  const auto range = parse_upload_range(reply->header("Range"));
  if (!range)
    co_return path.failed(ErrorKind::protocol, reply->status, "an upload's status without a Range", call);
  // "0-0" is one byte only where one byte was acknowledged.
  upload.offset = range->maybe_empty && upload.offset != 1 ? 0 : range->next;
  co_return upload.offset;
}

net::Task<Result<std::uint64_t>> RegistryClient::upload_status(Upload& upload) {
  co_return co_await state_->status(upload);
}

net::Task<Result<void>> RegistryClient::cancel_upload(Upload& upload) {
  State& s = *state_;
  const Call call = s.upload_call(Step::upload_delete, http::Method::del, upload, kNothing);
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (reply->status != 404 && !s.accepts(*reply, call, 204)) co_return s.path.refused(*reply, call);
  co_return ok();
}

net::Task<Result<Mounted>> RegistryClient::mount(std::string_view repository, const Digest& digest,
                                                 std::string_view from) {
  State& s = *state_;
  s.text.begin(kMaxErrorBody);
  Call call{.step = Step::mount_post,
            .method = http::Method::post,
            .url = http::append_query(s.url(repository, "blobs/uploads/"),
                                      "mount=" + percent_encode(digest.text())),
            .access = {.right = Right::push, .repository = repository, .mount_from = from},
            .body = &kNothing,
            .sink = &s.text};
  if (!from.empty()) call.url = http::append_query(std::move(call.url), "from=" + percent_encode(from));
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  Mounted out;
  if (reply->status == 202 && !reply->header("Location").empty()) {
    Upload upload{.repository = std::string(repository), .location = reply->url};
    upload.chunk_minimum = parse_u64(reply->header("OCI-Chunk-Min-Length")).value_or(0);
    if (auto located = s.follow_location(upload, *reply, call); !located) co_return located.error();
    out.upload = std::move(upload);
  } else if (reply->status != 202 && s.accepts(*reply, call, 201)) {
    out.mounted = true;
    co_return out;
  } else if (reply->status == 429 || reply->status >= 500) {
    co_return s.path.refused(*reply, call);
  }
  s.path.note(NoteKind::mount_missed, call, fmt::format("{} in place of 201", reply->status));
  co_return out;
}

}  // namespace plimsoll::oci
