#include "workload/registry_session.h"

#include <fmt/format.h>

#include <utility>

#include "oci/media_types.h"
#include "workload/layer_body.h"

namespace plimsoll::workload {
namespace {

// In `begun_`: the image is that of the class's source.
constexpr std::uint8_t kMounted = 0x80;
// Sessions of failed pushes that are remembered, to be cancelled: a registry that fails for hours leaves more.
constexpr std::size_t kMostAbandoned = 256;

constexpr std::string_view kWaiting = "waiting";

bool may_wait(const oci::RegistryOptions& options) {
  return options.retries > 0 || options.respect_retry_after;
}

}  // namespace

void register_steps(stats::Recorder& recorder, const oci::RegistryOptions& options) {
  if (may_wait(options)) recorder.part_id(kWaiting);
  for (std::size_t i = 0; i < oci::kSteps; ++i) recorder.step_id(name(static_cast<oci::Step>(i)));
}

StepRecorder::StepRecorder(stats::Recorder& recorder, const oci::RegistryOptions& options)
    : recorder_(recorder), ids_() {
  if (may_wait(options)) waiting_ = recorder.part_id(kWaiting);
  for (std::size_t i = 0; i < oci::kSteps; ++i) ids_[i] = recorder.step_id(name(static_cast<oci::Step>(i)));
}

void StepRecorder::step(oci::Step step, const oci::StepReport& report) {
  if (!on_) return;
  recorder_.step(ids_[static_cast<std::size_t>(step)], {.status = report.status,
                                                        .sent = report.sent,
                                                        .first_byte = report.first_byte,
                                                        .done = report.done,
                                                        .bytes = {.sent = report.wire_sent,
                                                                  .received = report.wire_received,
                                                                  .body_sent = report.body_sent,
                                                                  .body_received = report.body_received}});
}

void StepRecorder::note(NoteKind kind, const oci::Detail& detail) {
  if (!on_) return;
  recorder_.note(kind);
  if (recorder_.wants_sample(kind)) recorder_.sample(kind, {detail.text, detail.peer, detail.request});
}

void StepRecorder::opened(Nanos connect, Nanos tls, bool replaces_closed) {
  recorder_.connection_opened(connect, tls > Nanos{} ? std::optional(tls) : std::nullopt, replaces_closed);
}

std::shared_ptr<ThreadRegistry> ThreadRegistries::of(const load::Worker& worker) {
  std::weak_ptr<ThreadRegistry>& mine = of_[static_cast<std::size_t>(worker.thread)];
  std::shared_ptr<ThreadRegistry> shared = mine.lock();
  if (shared == nullptr) {
    shared = std::make_shared<ThreadRegistry>();
    shared->connectors = target_.connectors(worker.thread);
    shared->authenticator = std::make_unique<oci::Authenticator>(worker.loop, *shared->connectors,
                                                                 target_.options.base, target_.credentials);
    mine = shared;
  }
  return shared;
}

RegistrySession::RegistrySession(const load::Worker& worker, const RegistryTarget& target,
                                 const Contents& contents, std::shared_ptr<ThreadRegistry> shared)
    : target_(target),
      contents_(contents),
      shared_(std::move(shared)),
      recorder_(worker.recorder),
      steps_(worker.recorder, target.options),
      client_(worker.loop, *shared_->connectors, *shared_->authenticator, target.options, &steps_, &steps_),
      random_(worker.seed),
      worker_(worker.index),
      source_(content_seed(), static_cast<std::uint64_t>(worker.index),
              target.same_content ? oci::Uniqueness::same : oci::Uniqueness::unique) {}

std::uint64_t RegistrySession::content_seed() const {
  return target_.nonce;
}

net::Task<Checked<void>> RegistrySession::set_up() {
  if (auto connected = co_await client_.connect(); !connected) {
    co_return Refusal{fmt::format("{}: {}", target_.options.base.text(), describe(connected.error()))};
  }
  record_steps(true);
  co_return Checked<void>{};
}

void RegistrySession::begin_repository(std::size_t size_class, bool mounted) {
  repository_ = target_.repository(worker_, begun_.size());
  begun_ += static_cast<char>(static_cast<std::uint8_t>(size_class) | (mounted ? kMounted : 0));
}

const oci::Image& RegistrySession::next_image(std::size_t size_class) {
  begin_repository(size_class, false);
  oci::next_image(source_, contents_.shape(size_class), image_);
  image_class_ = size_class;
  return image_;
}

net::Task<Result<void>> RegistrySession::push(UploadKind kind) {
  for (const oci::Layer& layer : image_.layers) {
    if (auto pushed = co_await push_blob(kind, LayerBody(layer), layer.digest(), oci::BlobRole::layer);
        !pushed) {
      co_return pushed.error();
    }
  }
  const http::TextBody config(image_.config);
  if (auto pushed = co_await push_blob(kind, config, image_.config_digest, oci::BlobRole::config); !pushed) {
    co_return pushed.error();
  }
  co_return co_await client_.put_manifest(repository_, same_tag_, oci::kOciManifest, image_.manifest);
}

net::Task<Result<void>> RegistrySession::push_blob(UploadKind kind, const http::RequestBody& content,
                                                   const oci::Digest& digest, oci::BlobRole role) {
  if (kind == UploadKind::post) co_return co_await client_.post_blob(repository_, content, digest, role);
  auto upload = co_await client_.start_upload(repository_);
  if (!upload) co_return upload.error();
  co_return co_await upload_into(std::move(*upload), kind, content, digest, role);
}

net::Task<Result<void>> RegistrySession::upload_into(oci::Upload upload, UploadKind kind,
                                                     const http::RequestBody& content,
                                                     const oci::Digest& digest, oci::BlobRole role) {
  auto sent = co_await send(upload, kind, content, digest, role);
  const bool left_open = !sent && sent.error().kind != ErrorKind::upload_lost;
  if (left_open && abandoned_.size() < kMostAbandoned) abandoned_.push_back(std::move(upload));
  co_return sent;
}

net::Task<Result<void>> RegistrySession::send(oci::Upload& upload, UploadKind kind,
                                              const http::RequestBody& content, const oci::Digest& digest,
                                              oci::BlobRole role) {
  if (kind == UploadKind::put || kind == UploadKind::post)
    co_return co_await client_.put_blob(upload, content, digest, role);
  auto sent = kind == UploadKind::stream
                  ? co_await client_.stream_blob(upload, content, role)
                  : co_await client_.send_chunks(upload, content, target_.chunk_size, role);
  if (!sent) co_return sent.error();
  co_return co_await client_.finish_upload(upload, digest, role);
}

net::Task<Result<void>> RegistrySession::push_mounted(UploadKind kind, std::size_t size_class) {
  const Source& source = *sources_[size_class];
  const oci::Image& image = source.image;
  begin_repository(size_class, true);
  for (const oci::Layer& layer : image.layers) {
    if (auto there =
            co_await mount_blob(kind, source, LayerBody(layer), layer.digest(), oci::BlobRole::layer);
        !there) {
      co_return there.error();
    }
  }
  const http::TextBody config(image.config);
  if (auto there = co_await mount_blob(kind, source, config, image.config_digest, oci::BlobRole::config);
      !there)
    co_return there.error();
  co_return co_await client_.put_manifest(repository_, same_tag_, oci::kOciManifest, image.manifest);
}

net::Task<Result<void>> RegistrySession::mount_blob(UploadKind kind, const Source& source,
                                                    const http::RequestBody& content,
                                                    const oci::Digest& digest, oci::BlobRole role) {
  const bool anonymous = target_.mount == MountKind::anonymous;
  auto answer =
      co_await client_.mount(repository_, digest, anonymous ? std::string_view() : source.repository);
  if (!answer) co_return answer.error();
  if (answer->mounted) co_return ok();
  if (!answer->upload) co_return co_await push_blob(kind, content, digest, role);
  co_return co_await upload_into(std::move(*answer->upload), kind, content, digest, role);
}

net::Task<Checked<void>> RegistrySession::seed_source(std::size_t size_class) {
  if (auto seeded = co_await seed(size_class); !seeded) co_return seeded.error();
  sources_[size_class] = Source{repository_, image_};
  co_return Checked<void>{};
}

net::Task<void> RegistrySession::cancel_abandoned() {
  for (oci::Upload& upload : std::exchange(abandoned_, {})) {
    const auto cancelled = co_await client_.cancel_upload(upload);
    // A refusal says nothing about the others; a registry that does not answer would be waited for each time.
    if (!cancelled && client_.last_status() == 0) co_return;
  }
}

net::Task<Result<void>> RegistrySession::pull(const PushedImage& image) {
  if (auto head = co_await client_.head_manifest(image.repository, image.tag); !head) co_return head.error();
  auto manifest = co_await client_.get_manifest(image.repository, image.tag);
  if (!manifest) co_return manifest.error();
  // What came under the tag must be what was pushed under it.
  if (target_.options.verify && oci::Digest::of(manifest->body) != image.manifest_digest) {
    co_return Error{ErrorKind::digest_mismatch, 0,
                    "the manifest under the tag is not the one that was pushed"};
  }
  if (auto head = co_await client_.head_blob(image.repository, image.config_digest, oci::BlobRole::config);
      !head) {
    co_return head.error();
  }
  if (auto got = co_await client_.get_blob(image.repository, image.config_digest, image.config_size,
                                           oci::BlobRole::config);
      !got) {
    co_return got.error();
  }
  for (const auto& layer : image.layers) {
    if (auto head = co_await client_.head_blob(image.repository, layer.digest, oci::BlobRole::layer); !head) {
      co_return head.error();
    }
    if (auto got =
            co_await client_.get_blob(image.repository, layer.digest, layer.size, oci::BlobRole::layer);
        !got) {
      co_return got.error();
    }
  }
  co_return ok();
}

net::Task<Checked<PushedImage>> RegistrySession::seed(std::size_t size_class) {
  next_image(size_class);
  record_steps(false);
  auto pushed = co_await push(target_.seed_upload);
  record_steps(true);
  if (!pushed) {
    co_return Refusal{
        fmt::format("seeding the registry failed: {} ({})", describe(pushed.error()), client_.detail().text)};
  }
  co_return described(image_, repository_, same_tag_);
}

PushedImage RegistrySession::described(const oci::Image& image, const std::string& repository,
                                       std::string tag) {
  PushedImage pushed{.repository = repository,
                     .tag = std::move(tag),
                     .manifest_digest = image.manifest_digest,
                     .manifest_size = image.manifest.size(),
                     .config_digest = image.config_digest,
                     .config_size = image.config.size(),
                     .layers = {}};
  for (const oci::Layer& layer : image.layers) pushed.layers.push_back({layer.digest(), layer.size()});
  return pushed;
}

load::Outcome RegistrySession::outcome(const Result<void>& result) {
  load::Outcome outcome{
      .error = {}, .last_status = client_.last_status(), .part = {}, .done = client_.last_byte()};
  if (!result) {
    outcome.error = result.error();
    outcome.done = {};
    if (recorder_.wants_sample(result.error().kind)) {
      const oci::Detail& detail = client_.detail();
      recorder_.sample(result.error().kind, {detail.text, detail.peer, detail.request});
    }
  }
  return outcome;
}

net::Task<void> RegistrySession::clean_up() {
  record_steps(false);
  co_await cancel_abandoned();
  if (target_.skip_cleanup) co_return;
  oci::LayerSource again(content_seed(), static_cast<std::uint64_t>(worker_),
                         target_.same_content ? oci::Uniqueness::same : oci::Uniqueness::unique);
  for (std::size_t n = 0; n < begun_.size(); ++n) {
    const auto begun = static_cast<std::uint8_t>(begun_[n]);
    const bool mounted = (begun & kMounted) != 0;
    const std::size_t size_class = begun & ~kMounted;
    if (!mounted) oci::next_image(again, contents_.shape(size_class), image_);
    co_await remove(
        described(mounted ? sources_[size_class]->image : image_, target_.repository(worker_, n), same_tag_));
  }
}

net::Task<void> RegistrySession::remove(const PushedImage& image) {
  const auto manifest = co_await client_.delete_manifest(image.repository, image.manifest_digest);
  if (!manifest) {
    ++*target_.left_behind;
    co_return;
  }
  if (*manifest == 400 || *manifest == 405) {
    // Where manifests stay, at least the tag may go; blobs that are in use must not.
    const auto tag = co_await client_.delete_tag(image.repository, image.tag);
    if (!tag || *tag != 202) ++*target_.left_behind;
    co_return;
  }
  if (*manifest == 202 && !looked_after_delete_) {
    // Some say 202 and do nothing: the first image speaks for all.
    looked_after_delete_ = true;
    deletes_do_nothing_ = (co_await client_.head_manifest(image.repository, image.tag)).has_value();
  }
  if (deletes_do_nothing_) {
    ++*target_.left_behind;
    co_return;
  }
  for (const auto& layer : image.layers) {
    if (const auto blob = co_await client_.delete_blob(image.repository, layer.digest); !blob) co_return;
  }
  if (const auto blob = co_await client_.delete_blob(image.repository, image.config_digest); !blob) co_return;
}

}  // namespace plimsoll::workload
