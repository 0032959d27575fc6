#include "workload/registry_session.h"

#include <fmt/format.h>

#include <utility>

#include "oci/media_types.h"
#include "workload/layer_body.h"

namespace plimsoll::workload {
void register_steps(stats::Recorder& recorder) {
  for (std::size_t i = 0; i < oci::kSteps; ++i) recorder.step_id(name(static_cast<oci::Step>(i)));
}

StepRecorder::StepRecorder(stats::Recorder& recorder) : recorder_(recorder), ids_() {
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
      steps_(worker.recorder),
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

const oci::Image& RegistrySession::next_image(std::size_t size_class) {
  repository_ = target_.repository(worker_, begun_.size());
  begun_ += static_cast<char>(size_class);
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
  if (kind == UploadKind::put) co_return co_await client_.put_blob(*upload, content, digest, role);
  auto sent = kind == UploadKind::stream
                  ? co_await client_.stream_blob(*upload, content, role)
                  : co_await client_.send_chunks(*upload, content, target_.chunk_size, role);
  if (!sent) co_return sent.error();
  co_return co_await client_.finish_upload(*upload, digest, role);
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
  auto pushed = co_await push(UploadKind::put);
  record_steps(true);
  if (!pushed) {
    co_return Refusal{
        fmt::format("seeding the registry failed: {} ({})", describe(pushed.error()), client_.detail().text)};
  }
  co_return described(repository_);
}

PushedImage RegistrySession::described(const std::string& repository) const {
  PushedImage image{.repository = repository,
                    .tag = same_tag_,
                    .manifest_digest = image_.manifest_digest,
                    .manifest_size = image_.manifest.size(),
                    .config_digest = image_.config_digest,
                    .config_size = image_.config.size(),
                    .layers = {}};
  for (const oci::Layer& layer : image_.layers) image.layers.push_back({layer.digest(), layer.size()});
  return image;
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
  if (target_.skip_cleanup) co_return;
  oci::LayerSource again(content_seed(), static_cast<std::uint64_t>(worker_),
                         target_.same_content ? oci::Uniqueness::same : oci::Uniqueness::unique);
  for (std::size_t n = 0; n < begun_.size(); ++n) {
    oci::next_image(again, contents_.shape(static_cast<std::size_t>(begun_[n])), image_);
    co_await remove(described(target_.repository(worker_, n)));
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
  for (const auto& layer : image.layers) {
    if (const auto blob = co_await client_.delete_blob(image.repository, layer.digest); !blob) co_return;
  }
  if (const auto blob = co_await client_.delete_blob(image.repository, image.config_digest); !blob) co_return;
}

}  // namespace plimsoll::workload
