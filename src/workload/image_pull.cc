#include "workload/image_pull.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "net/scope.h"
#include "workload/registry_session.h"

namespace plimsoll::workload {
namespace {

// Images whose latency is reported apart; more would be a table that nobody reads.
constexpr std::size_t kMostParts = 16;
// Images that are counted singly.
constexpr std::size_t kMostMixes = 1000;

struct Blob {
  oci::Descriptor descriptor;
  oci::BlobRole role;
};

// What an image consists of, as its manifests tell.
struct Contained {
  std::set<oci::Digest> known;  // manifests and blobs
  std::vector<Blob> configs;
  std::vector<Blob> layers;

  void add(const oci::Document& manifest) {
    if (manifest.config && known.insert(manifest.config->digest).second)
      configs.push_back({*manifest.config, oci::BlobRole::config});
    for (const oci::Descriptor& layer : manifest.layers) {
      if (known.insert(layer.digest).second) layers.push_back({layer, oci::BlobRole::layer});
    }
  }
};

// Blobs that lanes take one after the other; the first failure stops them.
struct Queue {
  std::vector<Blob> blobs;
  std::size_t next = 0;
};

// A container client: its connections, and who it is to the registry.
class PullingClient {
 public:
  PullingClient(net::Loop& loop, oci::Connectors& connectors, StepRecorder& steps,
                const RegistryTarget& target, const ImagePullOptions& options, SkippedLayers& skipped)
      : options_(options),
        skipped_(skipped),
        authenticator_(loop, connectors, target.options.base, target.credentials, target.options.timeout) {
    for (std::size_t i = 0; i < connections_of(options.client); ++i) {
      lanes_.push_back(std::make_unique<oci::RegistryClient>(loop, connectors, authenticator_, target.options,
                                                             &steps, &steps));
    }
    failed_ = lanes_.front().get();
  }

  net::Task<Result<void>> pull(const oci::Reference& image) {
    repository_ = image.repository;
    failed_ = lanes_.front().get();
    own_.reset();
    if (options_.client != ClientKind::containerd && !greeted_) {
      if (auto greeted = co_await first().greet(); !greeted) co_return greeted;
      greeted_ = true;
    }
    auto reference = co_await root_of(image);
    if (!reference) co_return reference.error();
    Contained contained;
    const auto collected = co_await collect(*reference, 0, contained);
    if (!collected) {
      const bool told = *reference != image.manifest_reference();
      if (told && collected.error().code == 404)
        co_return stray(ErrorKind::digest_mismatch, "HEAD told a digest that the registry does not have",
                        *reference);
      co_return collected.error();
    }
    if (!*collected)
      co_return stray(ErrorKind::protocol, "the index has no image for this platform", *reference);
    co_return co_await fetch(std::move(contained));
  }

  // Of the last pull: what explains its failure, and the status of the last answer.
  const oci::Detail& detail() const { return own_ ? *own_ : failed_->detail(); }
  int last_status() const { return failed_->last_status(); }

 private:
  oci::RegistryClient& first() { return *lanes_.front(); }

  // What the manifest is asked for by: the digest, where the client looks it up first.
  net::Task<Result<std::string>> root_of(const oci::Reference& image) {
    const bool looks =
        options_.client == ClientKind::containerd || (options_.client == ClientKind::docker && !image.digest);
    std::string reference = image.manifest_reference();
    if (!looks) co_return reference;
    const auto head = co_await first().head_manifest(repository_, reference);
    if (!head) co_return head.error();
    // Where a registry tells another algorithm's digest, it need not know the manifest by it.
    const bool usual = head->digest && head->digest->algorithm() == oci::DigestAlgorithm::sha256;
    if (usual && !image.digest) reference = head->digest->text();
    co_return reference;
  }

  // Adds what a manifest names, or what its index leads to. False: an index without anything for the platform.
  net::Task<Result<bool>> collect(std::string reference, int depth, Contained& contained) {
    auto answer = co_await first().get_manifest(repository_, reference);
    if (!answer) co_return answer.error();
    auto document = oci::parse_manifest(answer->body, answer->media_type);
    if (!document) co_return stray(ErrorKind::protocol, document.error().text, reference);
    switch (document->kind) {
      case oci::DocumentKind::schema1:
        co_return stray(ErrorKind::protocol, "a manifest of schema 1, which is not supported", reference);
      case oci::DocumentKind::manifest:
        contained.add(*document);
        co_return true;
      case oci::DocumentKind::unknown:
        co_return true;  // an artifact of some other type: there is no more that a client could know
      case oci::DocumentKind::index:
        break;
    }
    if (depth == oci::kMaxIndexDepth)
      co_return stray(ErrorKind::protocol, "indexes in indexes, too deep", reference);
    if (options_.platform) {
      for (const oci::Descriptor* entry : oci::candidates(*document, *options_.platform)) {
        const auto found = co_await collect(entry->digest.text(), depth + 1, contained);
        if (!found || *found) co_return found;
      }
      co_return false;
    }
    for (const oci::Descriptor& entry : document->manifests) {
      if (!contained.known.insert(entry.digest).second) continue;
      if (auto child = co_await collect(entry.digest.text(), depth + 1, contained); !child) co_return child;
    }
    co_return true;
  }

  net::Task<Result<void>> fetch(Contained contained) {
    Result<void> result;
    Queue configs{.blobs = std::move(contained.configs)};
    Queue layers{.blobs = std::move(contained.layers)};
    std::size_t lanes = lanes_.size();
    net::TaskScope scope;
    if (options_.client == ClientKind::docker) {
      scope.spawn(work(*lanes_[--lanes], configs, result));
    } else {
      layers.blobs.insert(layers.blobs.begin(), configs.blobs.begin(), configs.blobs.end());
    }
    for (std::size_t i = 0; i < std::min(lanes, layers.blobs.size()); ++i)
      scope.spawn(work(*lanes_[i], layers, result));
    co_await scope.join();
    co_return result;
  }

  net::Task<void> work(oci::RegistryClient& lane, Queue& queue, Result<void>& result) {
    while (result && queue.next < queue.blobs.size()) {
      const Blob& blob = queue.blobs[queue.next++];
      const oci::Descriptor& descriptor = blob.descriptor;
      auto got = co_await lane.get_blob(repository_, descriptor.digest, descriptor.size, blob.role);
      if (got || !result) continue;
      if (got.error().code == 404 && descriptor.foreign()) {
        skipped_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      result = got.error();
      failed_ = &lane;
    }
  }

  // A document that cannot be pulled from.
  Error stray(ErrorKind kind, const char* why, const std::string& reference) {
    own_ =
        oci::Detail{.text = why, .peer = {}, .request = "GET /v2/" + repository_ + "/manifests/" + reference};
    return {kind, 0, why};
  }

  const ImagePullOptions& options_;
  SkippedLayers& skipped_;
  oci::Authenticator authenticator_;
  std::vector<std::unique_ptr<oci::RegistryClient>> lanes_;
  std::string repository_;
  bool greeted_ = false;
  oci::RegistryClient* failed_ = nullptr;  // whose detail explains the last pull
  std::optional<oci::Detail> own_;         // what no client knows
};

// Which image an operation pulls.
class Choice {
 public:
  Choice(const std::vector<ListedImage>& images, bool in_order) : in_order_(in_order) {
    std::uint64_t sum = 0;
    for (const ListedImage& image : images) ends_.push_back(sum += image.weight);
  }
  std::size_t pick(std::uint64_t sequence, Random& random) const {
    if (in_order_) return sequence % ends_.size();
    const std::uint64_t at = random.below(ends_.back());
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin());
  }

 private:
  bool in_order_;
  std::vector<std::uint64_t> ends_;  // weights, summed up
};

class ImageWorkload;

class ImageSession final : public load::Session {
 public:
  ImageSession(const load::Worker& worker, const ImageWorkload& workload,
               std::shared_ptr<oci::Connectors> connectors);
  net::Task<Checked<void>> set_up() override {
    steps_.record(true);
    co_return Checked<void>{};
  }
  net::Task<load::Outcome> operate(std::uint64_t sequence) override;

 private:
  void renew();

  const ImageWorkload& workload_;
  net::Loop& loop_;
  std::shared_ptr<oci::Connectors> connectors_;
  stats::Recorder& recorder_;
  StepRecorder steps_;
  Random random_;
  std::unique_ptr<PullingClient> client_;
};

class ImageWorkload final : public load::Workload {
 public:
  ImageWorkload(const RegistryTarget& target, const std::vector<ListedImage>& images,
                const ImagePullOptions& options, SkippedLayers& skipped)
      : target_(target),
        images_(images),
        options_(options),
        skipped_(skipped),
        choice_(images, options.cold),
        connectors_(static_cast<std::size_t>(options.threads)) {}

  // Names get the same numbers in every recorder, since they are registered in the same order.
  void prepare(stats::Recorder& recorder) override {
    register_steps(recorder, target_.options);
    mixes_.clear();
    parts_.clear();
    if (images_.size() < 2 || images_.size() > kMostMixes) return;
    for (const ListedImage& image : images_) mixes_.push_back(recorder.mix_id(image.reference.text()));
    if (images_.size() > kMostParts) return;
    for (const ListedImage& image : images_) parts_.push_back(recorder.part_id(image.reference.text()));
  }

  std::unique_ptr<load::Session> session(const load::Worker& worker) override {
    std::weak_ptr<oci::Connectors>& mine = connectors_[static_cast<std::size_t>(worker.thread)];
    std::shared_ptr<oci::Connectors> shared = mine.lock();
    if (shared == nullptr) {
      shared = target_.connectors(worker.thread);
      mine = shared;
    }
    return std::make_unique<ImageSession>(worker, *this, std::move(shared));
  }

  // By image; empty where images are not counted, or not timed, singly.
  const std::vector<stats::MixId>& mixes() const { return mixes_; }
  const std::vector<stats::PartId>& parts() const { return parts_; }
  const RegistryTarget& target() const { return target_; }
  const std::vector<ListedImage>& images() const { return images_; }
  const ImagePullOptions& options() const { return options_; }
  SkippedLayers& skipped() const { return skipped_; }
  const Choice& choice() const { return choice_; }

 private:
  const RegistryTarget& target_;
  const std::vector<ListedImage>& images_;
  ImagePullOptions options_;
  SkippedLayers& skipped_;
  Choice choice_;
  std::vector<stats::MixId> mixes_;
  std::vector<stats::PartId> parts_;
  std::vector<std::weak_ptr<oci::Connectors>> connectors_;  // by thread; they go with its last session
};

ImageSession::ImageSession(const load::Worker& worker, const ImageWorkload& workload,
                           std::shared_ptr<oci::Connectors> connectors)
    : workload_(workload),
      loop_(worker.loop),
      connectors_(std::move(connectors)),
      recorder_(worker.recorder),
      steps_(worker.recorder, workload.target().options),
      random_(worker.seed) {}

void ImageSession::renew() {
  if (client_ != nullptr && workload_.options().keep_clients) return;
  client_ = std::make_unique<PullingClient>(loop_, *connectors_, steps_, workload_.target(),
                                            workload_.options(), workload_.skipped());
}

net::Task<load::Outcome> ImageSession::operate(std::uint64_t sequence) {
  const std::size_t chosen = workload_.choice().pick(sequence, random_);
  if (!workload_.mixes().empty()) recorder_.mix(workload_.mixes()[chosen]);
  renew();
  const auto pulled = co_await client_->pull(workload_.images()[chosen].reference);
  constexpr int kOk = 200;
  load::Outcome outcome{.error = {}, .last_status = pulled ? kOk : client_->last_status(), .part = {}};
  if (!workload_.parts().empty()) outcome.part = workload_.parts()[chosen];
  if (!pulled) {
    outcome.error = pulled.error();
    if (recorder_.wants_sample(pulled.error().kind)) {
      const oci::Detail& detail = client_->detail();
      recorder_.sample(pulled.error().kind, {detail.text, detail.peer, detail.request});
    }
  }
  co_return outcome;
}

}  // namespace

std::size_t connections_of(ClientKind client) {
  const std::size_t downloads = lanes_of(client, 1).downloads;
  return client == ClientKind::docker ? downloads + 1 : downloads;
}

std::unique_ptr<load::Workload> make_image_pulls(const RegistryTarget& target,
                                                 const std::vector<ListedImage>& images,
                                                 const ImagePullOptions& options, SkippedLayers& skipped) {
  return std::make_unique<ImageWorkload>(target, images, options, skipped);
}

}  // namespace plimsoll::workload
