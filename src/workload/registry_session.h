// What every registry session has: a client whose requests are recorded, content of its own, and the list of what
// it pushed, so that all of it is removed again.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/workload.h"
#include "oci/authenticator.h"
#include "oci/image.h"
#include "oci/registry_client.h"
#include "workload/registry_target.h"

namespace plimsoll::workload {

// The step names of the distribution flows, registered on a thread's recorder before the run; and the part "waiting"
// where the options make clients wait: before a retry, or because Retry-After asked for it.
void register_steps(stats::Recorder& recorder, const oci::RegistryOptions& options);

// Writes what a client does into the recorder of its thread.
class StepRecorder final : public oci::StepObserver, public http::ConnectionObserver {
 public:
  StepRecorder(stats::Recorder& recorder, const oci::RegistryOptions& options);

  void step(oci::Step step, const oci::StepReport& report) override;
  void note(NoteKind kind, const oci::Detail& detail) override;
  void waited(Nanos time) override {
    if (on_ && waiting_) recorder_.part(*waiting_, time);
  }
  void opened(Nanos connect, Nanos tls, bool replaces_closed) override;
  void reused() override {
    if (on_) recorder_.connection_reused();
  }

  // Set-up and clean-up are not part of the figures.
  void record(bool on) { on_ = on; }
  bool recording() const { return on_; }

 private:
  stats::Recorder& recorder_;
  std::array<stats::StepId, oci::kSteps> ids_;
  std::optional<stats::PartId> waiting_;
  bool on_ = false;
};

// What the sessions of one thread share.
struct ThreadRegistry {
  std::unique_ptr<oci::Connectors> connectors;
  std::unique_ptr<oci::Authenticator> authenticator;
};

// Makes them on first use, each thread its own. The sessions own what they share: it goes with the last of them, on
// its own thread, before the loop does.
class ThreadRegistries {
 public:
  ThreadRegistries(const RegistryTarget& target, int threads)
      : target_(target), of_(static_cast<std::size_t>(threads)) {}
  std::shared_ptr<ThreadRegistry> of(const load::Worker& worker);

 private:
  const RegistryTarget& target_;
  std::vector<std::weak_ptr<ThreadRegistry>> of_;
};

// An image that is in the registry.
struct PushedImage {
  std::string repository;
  std::string tag;
  oci::Digest manifest_digest;
  std::uint64_t manifest_size = 0;
  oci::Digest config_digest;
  std::uint64_t config_size = 0;
  struct PushedLayer {
    oci::Digest digest;
    std::uint64_t size = 0;
  };
  std::vector<PushedLayer> layers;
};

class RegistrySession : public load::Session {
 public:
  RegistrySession(const load::Worker& worker, const RegistryTarget& target, const Contents& contents,
                  std::shared_ptr<ThreadRegistry> shared);

  net::Task<Checked<void>> set_up() override;
  net::Task<void> clean_up() override;

 protected:
  oci::RegistryClient& registry() { return client_; }
  stats::Recorder& recorder() { return recorder_; }
  const RegistryTarget& target() const { return target_; }
  Random& random() { return random_; }
  int worker() const { return worker_; }
  bool mounts() const { return target_.mount != MountKind::none; }

  // The next image of a size class, in a repository of its own that is removed at the end.
  const oci::Image& next_image(std::size_t size_class);
  // Where next_image() is to go: repository and tag.
  const std::string& repository() const { return repository_; }
  std::string tag() const { return same_tag_; }

  // The flow of the distribution spec for the image that next_image() gave.
  net::Task<Result<void>> push(UploadKind kind);
  net::Task<Result<void>> push_blob(UploadKind kind, const http::RequestBody& content,
                                    const oci::Digest& digest, oci::BlobRole role);
  // The push of the image that seed_source() left, into the next repository: blobs are mounted where the registry
  // does that (distribution-spec, "Mounting a blob from another repository"), and uploaded where it does not.
  net::Task<Result<void>> push_mounted(UploadKind kind, std::size_t size_class);
  // zb's six requests: HEAD and GET of manifest, configuration and layer.
  net::Task<Result<void>> pull(const PushedImage& image);

  // Pushes an image of that size outside the measured time, and tells what it is.
  net::Task<Checked<PushedImage>> seed(std::size_t size_class);
  // Pushes the image of that size that later pushes mount from.
  net::Task<Checked<void>> seed_source(std::size_t size_class);
  // Ends the upload sessions that failed pushes left open (end-14). Stops where the registry is gone.
  net::Task<void> cancel_abandoned();
  // Deletes manifest, layers and configuration. A refusal is counted, as is a 202 after which the
  // image is still there, and is no error.
  net::Task<void> remove(const PushedImage& image);

  // The outcome of an operation that ended like this; takes the sample of an error.
  load::Outcome outcome(const Result<void>& result);
  void record_steps(bool on) { steps_.record(on); }

 private:
  // What mounting pushes take their blobs from.
  struct Source {
    std::string repository;
    oci::Image image;
  };

  static PushedImage described(const oci::Image& image, const std::string& repository, std::string tag);
  // Names the next repository, for an image of that kind.
  void begin_repository(std::size_t size_class, bool mounted);
  net::Task<Result<void>> upload_into(oci::Upload upload, UploadKind kind, const http::RequestBody& content,
                                      const oci::Digest& digest, oci::BlobRole role);
  net::Task<Result<void>> send(oci::Upload& upload, UploadKind kind, const http::RequestBody& content,
                               const oci::Digest& digest, oci::BlobRole role);
  net::Task<Result<void>> mount_blob(UploadKind kind, const Source& source, const http::RequestBody& content,
                                     const oci::Digest& digest, oci::BlobRole role);
  std::uint64_t content_seed() const;

  const RegistryTarget& target_;
  const Contents& contents_;
  std::shared_ptr<ThreadRegistry> shared_;
  stats::Recorder& recorder_;
  StepRecorder steps_;
  oci::RegistryClient client_;
  Random random_;
  int worker_;
  oci::LayerSource source_;
  oci::Image image_;
  std::size_t image_class_ = 0;
  std::string repository_;
  std::string same_tag_ = "latest";
  bool looked_after_delete_ = false;
  bool deletes_do_nothing_ = false;
  std::array<std::optional<Source>, kSizeClasses.size()> sources_;
  std::vector<oci::Upload> abandoned_;
  // Size class of every image that was begun, one byte each, with kMounted where it is its source's image: content
  // and names are drawn again from these when the
  // registry is cleaned, so that a long run keeps no list of digests.
  std::string begun_;
};

}  // namespace plimsoll::workload
