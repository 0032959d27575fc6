#include "workload/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "net/scope.h"
#include "oci/media_types.h"
#include "workload/layer_body.h"
#include "workload/registry_session.h"

namespace plimsoll::workload {
namespace {

// A client with several connections, over which the blobs of one image are moved side by side.
class CampaignSession : public load::Session {
 public:
  CampaignSession(const load::Worker& worker, const RegistryTarget& target, const Contents& contents,
                  std::shared_ptr<ThreadRegistry> shared, const CampaignOptions& options)
      : target_(target),
        contents_(contents),
        options_(options),
        shared_(std::move(shared)),
        recorder_(worker.recorder),
        steps_(worker.recorder, target.options),
        worker_(worker.index),
        source_(target.nonce, static_cast<std::uint64_t>(worker.index)) {
    const Lanes lanes = lanes_of(options.client, contents.shape(0).layers());
    uploads_ = lanes.uploads;
    downloads_ = lanes.downloads;
    const std::size_t most = std::max(uploads_, downloads_);
    for (std::size_t i = 0; i < most; ++i) {
      clients_.push_back(std::make_unique<oci::RegistryClient>(
          worker.loop, *shared_->connectors, *shared_->authenticator, target.options, &steps_, &steps_));
    }
  }

  net::Task<Checked<void>> set_up() override {
    if (auto connected = co_await first().connect(); !connected) {
      co_return Refusal{fmt::format("{}: {}", target_.options.base.text(), describe(connected.error()))};
    }
    // What later images share with is pushed once, outside the measured time.
    if (options_.reuse > 0) {
      next_image();
      if (auto pushed = co_await push_image(); !pushed) co_return setup_failure(pushed.error());
      shared_layers_ = image_.layers;
      shared_repository_ = pushed_.back().repository;
    }
    steps_.record(true);
    co_return Checked<void>{};
  }

  net::Task<void> clean_up() override {
    steps_.record(false);
    if (target_.skip_cleanup) co_return;
    for (const PushedImage& image : pushed_) co_await remove(image);
  }

 protected:
  oci::RegistryClient& first() { return *clients_.front(); }
  StepRecorder& steps() { return steps_; }
  const CampaignOptions& options() const { return options_; }
  const std::vector<PushedImage>& pushed() const { return pushed_; }

  Refusal setup_failure(const Error& error) {
    return {fmt::format("seeding the registry failed: {} ({})", describe(error), detail().text)};
  }

  void next_image() {
    oci::next_image(source_, contents_.shape(0), image_);
    if (!shared_layers_.empty()) {
      const auto share =
          static_cast<std::size_t>(std::lround(options_.reuse * static_cast<double>(image_.layers.size())));
      kept_ = std::min(share, shared_layers_.size());
      for (std::size_t i = 0; i < kept_; ++i) image_.layers[i] = shared_layers_[i];
      oci::rewrite_documents(image_);
    }
    const std::uint64_t number = pushed_.size();
    PushedImage described{.repository = target_.repository(worker_, options_.many_repositories ? number : 0),
                          .tag = fmt::format("i{}", number),
                          .manifest_digest = image_.manifest_digest,
                          .manifest_size = image_.manifest.size(),
                          .config_digest = image_.config_digest,
                          .config_size = image_.config.size(),
                          .layers = {}};
    for (const oci::Layer& layer : image_.layers) described.layers.push_back({layer.digest(), layer.size()});
    pushed_.push_back(std::move(described));
  }

  // Layers side by side, then the configuration, then the manifest that names them.
  net::Task<Result<void>> push_image() {
    const PushedImage& described = pushed_.back();
    Result<void> layers;
    std::size_t next = 0;
    net::TaskScope lanes;
    for (std::size_t lane = 0; lane < std::min(uploads_, image_.layers.size()); ++lane) {
      lanes.spawn(push_layers(*clients_[lane], described.repository, next, layers));
    }
    co_await lanes.join();
    if (!layers) co_return layers.error();
    const http::TextBody config(image_.config);
    if (auto pushed = co_await push_blob(first(), described.repository, config, image_.config_digest,
                                         oci::BlobRole::config);
        !pushed) {
      failed_ = clients_.front().get();
      co_return pushed.error();
    }
    failed_ = clients_.front().get();
    co_return co_await first().put_manifest(described.repository, described.tag, oci::kOciManifest,
                                            image_.manifest);
  }

  net::Task<Result<void>> pull_image(const PushedImage& image) {
    failed_ = clients_.front().get();
    if (auto head = co_await first().head_manifest(image.repository, image.tag); !head)
      co_return head.error();
    auto manifest = co_await first().get_manifest(image.repository, image.manifest_digest.text());
    if (!manifest) co_return manifest.error();
    if (auto config = co_await first().get_blob(image.repository, image.config_digest, image.config_size,
                                                oci::BlobRole::config);
        !config) {
      co_return config.error();
    }
    Result<void> layers;
    std::size_t next = 0;
    net::TaskScope lanes;
    for (std::size_t lane = 0; lane < std::min(downloads_, image.layers.size()); ++lane) {
      lanes.spawn(pull_layers(*clients_[lane], image, next, layers));
    }
    co_await lanes.join();
    co_return layers;
  }

  load::Outcome outcome(const Result<void>& result) {
    load::Outcome outcome{.error = {}, .last_status = failed_->last_status(), .part = {}};
    if (!result) {
      outcome.error = result.error();
      if (recorder_.wants_sample(result.error().kind)) {
        recorder_.sample(result.error().kind, {detail().text, detail().peer, detail().request});
      }
    }
    return outcome;
  }

 private:
  const oci::Detail& detail() const { return failed_->detail(); }

  net::Task<void> push_layers(oci::RegistryClient& client, const std::string& repository, std::size_t& next,
                              Result<void>& result) {
    while (result && next < image_.layers.size()) {
      const bool held = next < kept_;
      const oci::Layer& layer = image_.layers[next++];
      const LayerBody body(layer);
      auto pushed = held ? co_await push_held_layer(client, repository, body, layer.digest())
                         : co_await push_blob(client, repository, body, layer.digest(), oci::BlobRole::layer);
      if (!pushed && result) {
        result = pushed.error();
        failed_ = &client;
      }
    }
  }

  // A container client asks first: what is there is not sent again.
  net::Task<Result<void>> push_blob(oci::RegistryClient& client, const std::string& repository,
                                    const http::RequestBody& content, const oci::Digest& digest,
                                    oci::BlobRole role) {
    if (options_.client != ClientKind::serial) {
      const auto present = co_await client.head_blob(repository, digest, role);
      if (present) co_return ok();
      if (client.last_status() != 404) co_return present.error();
    }
    auto upload = co_await client.start_upload(repository);
    if (!upload) co_return upload.error();
    co_return co_await client.put_blob(*upload, content, digest, role);
  }

  // A layer that the registry holds: a container client asks, then mounts it from the repository where it knows it to
  // be, and sends it only where neither helps.
  net::Task<Result<void>> push_held_layer(oci::RegistryClient& client, const std::string& repository,
                                          const http::RequestBody& content, const oci::Digest& digest) {
    constexpr auto kLayer = oci::BlobRole::layer;
    if (options_.client == ClientKind::serial)
      co_return co_await push_blob(client, repository, content, digest, kLayer);
    LayerTally& tally = *target_.layers;
    const std::uint64_t one = steps_.recording() ? 1 : 0;
    tally.offered += one;
    const auto present = co_await client.head_blob(repository, digest, kLayer);
    if (present) {
      tally.found += one;
      co_return ok();
    }
    if (client.last_status() != 404) co_return present.error();
    std::optional<oci::Upload> upload;
    if (repository != shared_repository_) {
      auto mounted = co_await client.mount(repository, digest, shared_repository_);
      if (!mounted) co_return mounted.error();
      if (mounted->mounted) {
        tally.found += one;
        co_return ok();
      }
      upload = std::move(mounted->upload);
    }
    if (!upload) {
      auto started = co_await client.start_upload(repository);
      if (!started) co_return started.error();
      upload = std::move(*started);
    }
    co_return co_await client.put_blob(*upload, content, digest, kLayer);
  }

  net::Task<void> pull_layers(oci::RegistryClient& client, const PushedImage& image, std::size_t& next,
                              Result<void>& result) {
    while (result && next < image.layers.size()) {
      const auto& layer = image.layers[next++];
      auto got = co_await client.get_blob(image.repository, layer.digest, layer.size, oci::BlobRole::layer);
      if (!got && result) {
        result = got.error();
        failed_ = &client;
      }
    }
  }

  net::Task<void> remove(const PushedImage& image) {
    const auto manifest = co_await first().delete_manifest(image.repository, image.manifest_digest);
    if (!manifest || *manifest == 400 || *manifest == 405) {
      ++*target_.left_behind;
      co_return;
    }
    for (const auto& layer : image.layers) {
      if (const auto blob = co_await first().delete_blob(image.repository, layer.digest); !blob) co_return;
    }
    if (const auto blob = co_await first().delete_blob(image.repository, image.config_digest); !blob)
      co_return;
  }

  const RegistryTarget& target_;
  const Contents& contents_;
  CampaignOptions options_;
  std::shared_ptr<ThreadRegistry> shared_;
  stats::Recorder& recorder_;
  StepRecorder steps_;
  int worker_;
  oci::LayerSource source_;
  std::size_t uploads_ = 1;
  std::size_t downloads_ = 1;
  std::vector<std::unique_ptr<oci::RegistryClient>> clients_;
  oci::RegistryClient* failed_ = nullptr;  // whose detail explains the last operation
  oci::Image image_;
  std::vector<oci::Layer> shared_layers_;
  std::string shared_repository_;  // where these are
  std::size_t kept_ = 0;           // how many of them the image at hand begins with
  std::vector<PushedImage> pushed_;
};

class CampaignPush final : public CampaignSession {
 public:
  using CampaignSession::CampaignSession;
  net::Task<load::Outcome> operate(std::uint64_t) override {
    next_image();
    const auto pushed = co_await push_image();
    co_return outcome(pushed);
  }
};

class CampaignPull final : public CampaignSession {
 public:
  CampaignPull(const load::Worker& worker, const RegistryTarget& target, const Contents& contents,
               std::shared_ptr<ThreadRegistry> shared, const CampaignOptions& options, std::uint64_t images)
      : CampaignSession(worker, target, contents, std::move(shared), options), images_(images) {}

  net::Task<Checked<void>> set_up() override {
    if (auto ready = co_await CampaignSession::set_up(); !ready) co_return ready;
    steps().record(false);
    first_ = pushed().size();
    for (std::uint64_t i = 0; i < images_; ++i) {
      next_image();
      if (auto seeded = co_await push_image(); !seeded) co_return setup_failure(seeded.error());
    }
    steps().record(true);
    co_return Checked<void>{};
  }

  net::Task<load::Outcome> operate(std::uint64_t) override {
    const PushedImage& image = pushed()[first_ + next_++ % images_];
    const auto pulled = co_await pull_image(image);
    co_return outcome(pulled);
  }

 private:
  std::uint64_t images_;
  std::uint64_t next_ = 0;
  std::size_t first_ = 0;
};

class CampaignWorkload final : public load::Workload {
 public:
  CampaignWorkload(bool push, const RegistryTarget& target, const Contents& contents,
                   const CampaignOptions& options)
      : push_(push),
        target_(target),
        contents_(contents),
        options_(options),
        threads_(target, options.threads) {}

  void prepare(stats::Recorder& recorder) override { register_steps(recorder, target_.options); }

  std::unique_ptr<load::Session> session(const load::Worker& worker) override {
    if (push_)
      return std::make_unique<CampaignPush>(worker, target_, contents_, threads_.of(worker), options_);
    // Warm: each worker pulls one image again and again. Cold: an image an operation.
    const auto workers = static_cast<std::uint64_t>(options_.workers);
    const std::uint64_t images = options_.cold ? (options_.iterations + workers - 1) / workers : 1;
    return std::make_unique<CampaignPull>(worker, target_, contents_, threads_.of(worker), options_, images);
  }

 private:
  bool push_;
  const RegistryTarget& target_;
  const Contents& contents_;
  CampaignOptions options_;
  ThreadRegistries threads_;
};

}  // namespace

std::unique_ptr<load::Workload> make_campaign_push(const RegistryTarget& target, const Contents& contents,
                                                   const CampaignOptions& options) {
  return std::make_unique<CampaignWorkload>(true, target, contents, options);
}

std::unique_ptr<load::Workload> make_campaign_pull(const RegistryTarget& target, const Contents& contents,
                                                   const CampaignOptions& options) {
  return std::make_unique<CampaignWorkload>(false, target, contents, options);
}

}  // namespace plimsoll::workload
