#include "oci/registry_client.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "oci/json.h"
#include "oci/link_header.h"
#include "oci/media_types.h"
#include "oci/reference.h"
#include "oci/registry_state.h"

namespace plimsoll::oci {
namespace {

constexpr std::size_t kMaxPage = 32U << 20U;

// "/v2/team/app/tags/list" speaks of team/app.
std::string_view repository_of_tags_path(std::string_view path) {
  constexpr std::string_view kEnd = "/tags/list";
  const auto begin = path.find("/v2/");
  if (begin == std::string_view::npos || !path.ends_with(kEnd) || path.size() < begin + 4 + kEnd.size())
    return {};
  return path.substr(begin + 4, path.size() - begin - 4 - kEnd.size());
}

// HEAD is refused here, which says nothing about GET.
bool refuses_method(int status) {
  return status == 401 || status == 403 || status == 405 || status == 501;
}

bool is_redirect(int status) {
  return status >= 301 && status <= 308 && status != 304 && status != 305 && status != 306;
}

}  // namespace

RegistryClient::State::State(net::Loop& loop, Connectors& connectors, Authenticator& authenticator,
                             const RegistryOptions& options, StepObserver* observer,
                             http::ConnectionObserver* connections)
    : path(loop, connectors, authenticator, options, observer, connections), text(kMaxErrorBody) {}

http::Url RegistryClient::State::url(std::string_view repository, std::string_view tail) const {
  http::Url url = path.ping_url();
  url.target += repository;
  if (!repository.empty()) url.target += '/';
  url.target += tail;
  return url;
}

http::Url RegistryClient::State::read_url(std::string_view repository, std::string_view tail) const {
  http::Url read = url(repository, tail);
  const std::string& origin = path.options().mirror_of;
  return origin.empty() ? read : http::append_query(std::move(read), "ns=" + percent_encode(origin));
}

bool RegistryClient::State::accepts(const Reply& reply, const Call& call, int specified) {
  if (reply.status == specified) return true;
  if (reply.status < 200 || reply.status > 299) return false;
  path.note(NoteKind::nonstandard_status, call, fmt::format("{} in place of {}", reply.status, specified));
  return true;
}

void RegistryClient::State::note_coding(const Reply& reply, const Call& call) {
  const auto coding = reply.header("Content-Encoding");
  if (coding.empty() || iequals(coding, "identity")) return;
  path.note(NoteKind::content_coding_ignored, call, fmt::format("Content-Encoding: {}", coding));
}

std::optional<Digest> RegistryClient::State::digest_of(const Reply& reply) {
  return Digest::parse(reply.header("Docker-Content-Digest"));
}

RegistryClient::RegistryClient(net::Loop& loop, Connectors& connectors, Authenticator& authenticator,
                               const RegistryOptions& options, StepObserver* observer,
                               http::ConnectionObserver* connections)
    : state_(std::make_unique<State>(loop, connectors, authenticator, options, observer, connections)) {}

RegistryClient::~RegistryClient() = default;

const Detail& RegistryClient::detail() const {
  return state_->path.detail();
}
int RegistryClient::last_status() const {
  return state_->path.last_status();
}
Instant RegistryClient::last_byte() const {
  return state_->path.last_byte();
}
std::string_view RegistryClient::protocol() const {
  return state_->path.protocol();
}
const std::string& RegistryClient::server() const {
  return state_->path.server();
}
net::Loop& RegistryClient::loop() {
  return state_->path.loop();
}
net::Task<Result<void>> RegistryClient::connect() {
  co_return co_await state_->path.connect();
}

net::Task<Result<std::string>> RegistryClient::ping() {
  State& s = *state_;
  s.text.begin(kMaxErrorBody);
  const Call call{.step = Step::ping, .method = http::Method::get, .url = s.path.ping_url(), .sink = &s.text};
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (reply->status != 200) co_return s.path.refused(*reply, call);
  co_return s.text.take();
}

net::Task<Result<void>> RegistryClient::greet() {
  State& s = *state_;
  s.text.begin(kMaxErrorBody);
  const Call call{.step = Step::ping,
                  .method = http::Method::get,
                  .url = s.path.ping_url(),
                  .sink = &s.text,
                  .answer_challenge = false};
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  // Some registries don't know the path and serve images all the same.
  if (reply->status == 429 || reply->status >= 500) co_return s.path.refused(*reply, call);
  co_return ok();
}

// --- manifests

net::Task<Result<Reply>> RegistryClient::State::manifest(http::Method method, std::string_view repository,
                                                         std::string_view reference) {
  text.begin(kMaxManifestSize);
  const bool head = method == http::Method::head;
  Call call{.step = head ? Step::manifest_head : Step::manifest_get,
            .method = method,
            .url = read_url(repository, fmt::format("manifests/{}", reference)),
            .access = {.right = Right::pull, .repository = repository},
            .follow = head ? Follow::registry_only : Follow::anywhere,
            .accept = kAcceptManifests,
            .sink = &text};
  auto reply = co_await path.run(call);
  if (!reply) co_return reply.error();
  // A HEAD that is sent elsewhere has found something.
  const bool found = reply->status == 200 || (head && is_redirect(reply->status));
  if (!found) co_return path.refused(*reply, call);
  co_return std::move(*reply);
}

Result<ManifestAnswer> RegistryClient::State::manifest_answer(const Reply& reply, const Call& call,
                                                              std::string_view reference) {
  note_coding(reply, call);
  ManifestAnswer answer{.status = reply.status,
                        .media_type = bare_media_type(reply.header("Content-Type")),
                        .digest = digest_of(reply),
                        .size = reply.head->content_length,
                        .body = {}};
  if (!answer.digest) path.note(NoteKind::digest_header_missing, call, "no Docker-Content-Digest");
  if (call.method == http::Method::head) return answer;

  if (text.overflowed())
    return path.failed(ErrorKind::protocol, reply.status, "a manifest of more than 4 MiB", call);
  answer.body = text.take();
  answer.size = answer.body.size();
  const auto agrees = [&](const Digest& digest) {
    return Digest::of(answer.body, digest.algorithm()) == digest;
  };
  if (path.options().verify) {
    const auto wanted = Digest::parse(reference);
    if ((wanted && !agrees(*wanted)) || (answer.digest && !agrees(*answer.digest))) {
      return path.failed(ErrorKind::digest_mismatch, reply.status, "the manifest is not what its digest says",
                         call);
    }
  }
  if (!answer.digest) answer.digest = Digest::of(answer.body);
  return answer;
}

net::Task<Result<ManifestAnswer>> RegistryClient::head_manifest(std::string_view repository,
                                                                std::string_view reference) {
  State& s = *state_;
  const auto reply = co_await s.manifest(http::Method::head, repository, reference);
  const Call call{
      .step = Step::manifest_head, .method = http::Method::head, .url = s.url(repository, "manifests/")};
  if (reply) co_return s.manifest_answer(*reply, call, reference);
  if (!refuses_method(reply.error().code)) co_return reply.error();
  const Detail refusal = s.path.detail();
  auto got = co_await get_manifest(repository, reference);
  if (!got) co_return got.error();
  s.path.note(NoteKind::head_unsupported, call, refusal.text);
  got->body.clear();
  co_return got;
}

net::Task<Result<ManifestAnswer>> RegistryClient::get_manifest(std::string_view repository,
                                                               std::string_view reference) {
  State& s = *state_;
  const auto reply = co_await s.manifest(http::Method::get, repository, reference);
  if (!reply) co_return reply.error();
  const Call call{.step = Step::manifest_get, .method = http::Method::get, .url = reply->url};
  co_return s.manifest_answer(*reply, call, reference);
}

net::Task<Result<void>> RegistryClient::put_manifest(std::string_view repository, std::string_view reference,
                                                     std::string_view media_type, std::string_view body) {
  State& s = *state_;
  s.text.begin(kMaxErrorBody);
  const http::TextBody content(body);
  const Call call{.step = Step::manifest_put,
                  .method = http::Method::put,
                  .url = s.url(repository, fmt::format("manifests/{}", reference)),
                  .access = {.right = Right::push, .repository = repository},
                  .content_type = media_type,
                  .body = &content,
                  .sink = &s.text};
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (!s.accepts(*reply, call, 201)) co_return s.path.refused(*reply, call);
  const auto stored = State::digest_of(*reply);
  if (stored && Digest::of(body, stored->algorithm()) != *stored) {
    co_return s.path.failed(ErrorKind::digest_mismatch, reply->status, "the registry stored another manifest",
                            call);
  }
  co_return ok();
}

// --- blobs

net::Task<Result<void>> RegistryClient::head_blob(std::string_view repository, const Digest& digest,
                                                  BlobRole role) {
  State& s = *state_;
  s.text.begin(kMaxErrorBody);
  Call call{.step = role == BlobRole::layer ? Step::layer_head : Step::config_head,
            .method = http::Method::head,
            .url = s.read_url(repository, fmt::format("blobs/{}", digest.text())),
            .access = {.right = Right::pull, .repository = repository},
            .follow = Follow::none,
            .sink = &s.text};
  auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (is_redirect(reply->status) || s.accepts(*reply, call, 200)) co_return ok();
  if (!refuses_method(reply->status)) co_return s.path.refused(*reply, call);

  const int refused_with = reply->status;
  call.method = http::Method::get;
  call.step = role == BlobRole::layer ? Step::layer_get : Step::config_get;
  call.range = "bytes=0-0";
  reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  // 416: a blob of no bytes.
  const bool there =
      is_redirect(reply->status) || reply->status == 200 || reply->status == 206 || reply->status == 416;
  if (!there) co_return s.path.refused(*reply, call);
  s.path.note(NoteKind::head_unsupported, call,
              fmt::format("HEAD: {}, GET: {}", refused_with, reply->status));
  co_return ok();
}

net::Task<Result<void>> RegistryClient::get_blob(std::string_view repository, const Digest& digest,
                                                 std::optional<std::uint64_t> size, BlobRole role) {
  State& s = *state_;
  const bool verify = s.path.options().verify;
  DigestSink sink(digest);
  const Call call{.step = role == BlobRole::layer ? Step::layer_get : Step::config_get,
                  .method = http::Method::get,
                  .url = s.read_url(repository, fmt::format("blobs/{}", digest.text())),
                  .access = {.right = Right::pull, .repository = repository},
                  .sink = verify ? &sink : nullptr,
                  .bulk = true};
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (reply->status != 200) co_return s.path.refused(*reply, call);
  s.note_coding(*reply, call);
  if (size && reply->body_received < *size) {
    co_return s.path.failed(ErrorKind::short_body, reply->status, "a blob shorter than its descriptor says",
                            call);
  }
  if ((size && reply->body_received > *size) || (verify && !sink.matches())) {
    co_return s.path.failed(ErrorKind::digest_mismatch, reply->status, "the blob is not what its digest says",
                            call);
  }
  const auto told = State::digest_of(*reply);
  if (told && told->algorithm() == digest.algorithm() && *told != digest) {
    co_return s.path.failed(ErrorKind::digest_mismatch, reply->status, "Docker-Content-Digest is another one",
                            call);
  }
  co_return ok();
}

net::Task<Result<void>> RegistryClient::read_blob(std::string_view repository, const Digest& digest,
                                                  BlobRole role, AnswerSink& sink) {
  State& s = *state_;
  const Call call{.step = role == BlobRole::layer ? Step::layer_get : Step::config_get,
                  .method = http::Method::get,
                  .url = s.read_url(repository, fmt::format("blobs/{}", digest.text())),
                  .access = {.right = Right::pull, .repository = repository},
                  .sink = &sink,
                  .bulk = true};
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (reply->status != 200) co_return s.path.refused(*reply, call);
  s.note_coding(*reply, call);
  co_return ok();
}

net::Task<Result<std::string>> RegistryClient::get_blob_text(std::string_view repository,
                                                             const Digest& digest, BlobRole role) {
  State& s = *state_;
  s.text.begin(kMaxManifestSize);
  const Call call{.step = role == BlobRole::layer ? Step::layer_get : Step::config_get,
                  .method = http::Method::get,
                  .url = s.read_url(repository, fmt::format("blobs/{}", digest.text())),
                  .access = {.right = Right::pull, .repository = repository},
                  .sink = &s.text};
  const auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  if (reply->status != 200) co_return s.path.refused(*reply, call);
  if (s.text.overflowed()) {
    co_return s.path.failed(ErrorKind::protocol, reply->status, "a blob too large to be read as text", call);
  }
  s.note_coding(*reply, call);
  if (s.path.options().verify && Digest::of(s.text.text(), digest.algorithm()) != digest) {
    co_return s.path.failed(ErrorKind::digest_mismatch, reply->status, "the blob is not what its digest says",
                            call);
  }
  co_return s.text.take();
}

// --- lists

net::Task<Result<Page>> RegistryClient::State::page(Call call, const char* key) {
  text.begin(kMaxPage);
  call.accept = "application/json";
  call.sink = &text;
  const auto reply = co_await path.run(call);
  if (!reply) co_return reply.error();
  if (reply->status != 200) co_return path.refused(*reply, call);
  const auto parsed = text.overflowed() ? std::nullopt : parse_json(text.text());
  if (!parsed || !parsed->is_object()) {
    co_return path.failed(ErrorKind::protocol, reply->status, "a listing that is no JSON object", call);
  }
  Page page;
  if (const auto& names = member(*parsed, key); names.is_array()) {
    for (const auto& name : names) {
      if (name.is_string()) page.names.push_back(name.get<std::string>());
    }
  }
  const auto link = next_link(reply->head->headers.find_all("Link"));
  if (!link) co_return page;
  auto next = http::resolve(reply->url, *link);
  if (!next)
    co_return path.failed(ErrorKind::protocol, reply->status, "the next page has no valid URL", call);
  pages.insert(call.url.text());
  if (pages.contains(next->text())) {
    co_return path.failed(ErrorKind::redirect_loop, reply->status, "pages that lead in a circle", call);
  }
  page.next = std::move(*next);
  co_return page;
}

net::Task<Result<Page>> RegistryClient::catalog(std::uint64_t page_size) {
  state_->pages.clear();
  http::Url url = state_->url({}, "_catalog");
  if (page_size > 0) url = http::append_query(std::move(url), fmt::format("n={}", page_size));
  co_return co_await state_->page({.step = Step::catalog,
                                   .method = http::Method::get,
                                   .url = std::move(url),
                                   .access = {.right = Right::catalog}},
                                  "repositories");
}

net::Task<Result<Page>> RegistryClient::tags(std::string_view repository, std::uint64_t page_size) {
  state_->pages.clear();
  http::Url url = state_->url(repository, "tags/list");
  if (page_size > 0) url = http::append_query(std::move(url), fmt::format("n={}", page_size));
  co_return co_await state_->page({.step = Step::tags,
                                   .method = http::Method::get,
                                   .url = std::move(url),
                                   .access = {.right = Right::pull, .repository = repository}},
                                  "tags");
}

net::Task<Result<Page>> RegistryClient::next_page(const http::Url& next, Step step) {
  const auto repository = repository_of_tags_path(next.path());
  const Access access = step == Step::catalog ? Access{.right = Right::catalog}
                        : repository.empty()  ? Access{}
                                              : Access{.right = Right::pull, .repository = repository};
  co_return co_await state_->page({.step = step, .method = http::Method::get, .url = next, .access = access},
                                  step == Step::catalog ? "repositories" : "tags");
}

net::Task<Result<Referrers>> RegistryClient::referrers(std::string_view repository, const Digest& subject,
                                                       std::string_view artifact_type) {
  State& s = *state_;
  s.text.begin(kMaxManifestSize);
  Call call{.step = Step::referrers,
            .method = http::Method::get,
            .url = s.url(repository, fmt::format("referrers/{}", subject.text())),
            .access = {.right = Right::pull, .repository = repository},
            .accept = kOciIndex,
            .sink = &s.text};
  if (!artifact_type.empty()) {
    call.url = http::append_query(std::move(call.url), "artifactType=" + percent_encode(artifact_type));
  }
  auto reply = co_await s.path.run(call);
  if (!reply) co_return reply.error();
  Referrers out;
  if (reply->status == 404) {
    out.api = false;
    auto fallback = co_await s.manifest(http::Method::get, repository, referrers_tag(subject));
    if (!fallback && fallback.error().code == 404) co_return out;
    if (!fallback) co_return fallback.error();
    reply = std::move(fallback);
  } else if (reply->status != 200) {
    co_return s.path.refused(*reply, call);
  }
  if (s.text.overflowed())
    co_return s.path.failed(ErrorKind::protocol, 0, "more than 4 MiB of referrers", call);
  auto index = parse_manifest(s.text.text(), kOciIndex);
  if (!index) co_return s.path.failed(index.error().kind, reply->status, index.error().text, call);
  out.manifests = std::move(index->manifests);
  out.filtered = reply->head->headers.list_contains("OCI-Filters-Applied", "artifactType");
  if (const auto link = next_link(reply->head->headers.find_all("Link"))) {
    if (auto next = http::resolve(reply->url, *link)) out.next = std::move(*next);
  }
  co_return out;
}

// --- deletes

net::Task<Result<int>> RegistryClient::State::remove(Step step, std::string_view repository,
                                                     std::string tail) {
  text.begin(kMaxErrorBody);
  const Call call{.step = step,
                  .method = http::Method::del,
                  .url = url(repository, tail),
                  .access = {.right = Right::all, .repository = repository},
                  .sink = &text};
  const auto reply = co_await path.run(call);
  if (!reply) co_return reply.error();
  const int status = reply->status;
  const bool told = status == 400 || status == 404 || status == 405;
  if (!told && !accepts(*reply, call, 202)) co_return path.refused(*reply, call);
  co_return status;
}

net::Task<Result<int>> RegistryClient::delete_manifest(std::string_view repository, const Digest& digest) {
  co_return co_await state_->remove(Step::manifest_delete, repository,
                                    fmt::format("manifests/{}", digest.text()));
}

net::Task<Result<int>> RegistryClient::delete_tag(std::string_view repository, std::string_view tag) {
  co_return co_await state_->remove(Step::tag_delete, repository, fmt::format("manifests/{}", tag));
}

net::Task<Result<int>> RegistryClient::delete_blob(std::string_view repository, const Digest& digest) {
  co_return co_await state_->remove(Step::blob_delete, repository, fmt::format("blobs/{}", digest.text()));
}

}  // namespace plimsoll::oci
