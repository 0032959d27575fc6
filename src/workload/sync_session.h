// On-demand Sync: images are pushed upstream, and pulled from a target that must first copy them.
//
// An operation is the first, cold pull of an image that the target has never seen, so that n operations are n cold
// pulls of n images. After the measure phase each image is pulled once more: those pulls are the part "warm", and
// in no rate.
#pragma once

#include <vector>

#include "workload/registry_session.h"

namespace plimsoll::workload {

class SyncSession final : public RegistrySession {
 public:
  static void register_parts(stats::Recorder& recorder);

  SyncSession(const load::Worker& worker, const RegistryTarget& target, const RegistryTarget& upstream,
              const Contents& contents, std::shared_ptr<ThreadRegistry> shared,
              std::shared_ptr<ThreadRegistry> upstream_shared, std::size_t size_class, std::uint64_t images);

  net::Task<Checked<void>> set_up() override;
  net::Task<load::Outcome> operate(std::uint64_t sequence) override;
  net::Task<void> clean_up() override;

 private:
  // Pushes to the upstream registry; its requests are recorded nowhere.
  class Upstream final : public RegistrySession {
   public:
    using RegistrySession::RegistrySession;
    using RegistrySession::seed;
    net::Task<load::Outcome> operate(std::uint64_t) override { co_return load::Outcome{}; }
  };

  stats::Recorder unread_;  // of the upstream's client
  Upstream upstream_;
  std::size_t size_class_;
  std::uint64_t images_;
  std::vector<PushedImage> pushed_;
  std::size_t pulled_ = 0;
  stats::PartId cold_;
  stats::PartId warm_;
};

}  // namespace plimsoll::workload
