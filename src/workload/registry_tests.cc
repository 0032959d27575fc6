#include "workload/registry_tests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "workload/registry_session.h"
#include "workload/sync_session.h"

namespace plimsoll::workload {
namespace {

using Kind = RegistryTestKind;

constexpr std::array<int, 4> kOnly1 = {100, 0, 0, 0};
constexpr std::array<int, 4> kOnly10 = {0, 100, 0, 0};
constexpr std::array<int, 4> kOnly100 = {0, 0, 100, 0};
constexpr std::array<int, 4> kOnly1G = {0, 0, 0, 100};
constexpr std::array<int, 4> kMostly10 = {20, 70, 10, 0};
constexpr std::array<int, 4> kThirds = {33, 33, 33, 0};

constexpr auto put = UploadKind::put;
constexpr auto stream = UploadKind::stream;

constexpr std::array kTests = {
    RegistryTest{"Get Catalog", Kind::catalog, put, kOnly1},
    RegistryTest{"Push Monolith 1MB", Kind::push, put, kOnly1},
    RegistryTest{"Push Monolith 10MB", Kind::push, put, kOnly10},
    RegistryTest{"Push Monolith 100MB", Kind::push, put, kOnly100},
    RegistryTest{"Push Chunk Streamed 1MB", Kind::push, stream, kOnly1},
    RegistryTest{"Push Chunk Streamed 10MB", Kind::push, stream, kOnly10},
    RegistryTest{"Push Chunk Streamed 100MB", Kind::push, stream, kOnly100},
    RegistryTest{"Pull 1MB", Kind::pull, put, kOnly1},
    RegistryTest{"Pull 10MB", Kind::pull, put, kOnly10},
    RegistryTest{"Pull 100MB", Kind::pull, put, kOnly100},
    RegistryTest{"Pull Mixed 20% 1MB, 70% 10MB, 10% 100MB", Kind::pull, put, kMostly10},
    RegistryTest{"Push Monolith Mixed 20% 1MB, 70% 10MB, 10% 100MB", Kind::push, put, kMostly10},
    RegistryTest{"Push Chunk Mixed 33% 1MB, 33% 10MB, 33% 100MB", Kind::push, stream, kThirds},
    RegistryTest{"Pull 75% and Push 25% Mixed 1MB", Kind::mixed, put, kOnly1},
    RegistryTest{"Pull 75% and Push 25% Mixed 10MB", Kind::mixed, put, kOnly10},
    RegistryTest{"Pull 75% and Push 25% Mixed 100MB", Kind::mixed, put, kOnly100},
    RegistryTest{"On-demand Sync 100MB", Kind::sync, put, kOnly100},
    RegistryTest{"On-demand Sync 1GB", Kind::sync, put, kOnly1G},
};

// Draws size classes by their shares.
class SizeDraw {
 public:
  explicit SizeDraw(const std::array<int, 4>& shares) : shares_(shares) {
    for (const int share : shares) total_ += share;
  }

  std::size_t draw(Random& random) const {
    auto left = static_cast<int>(random.below(static_cast<std::uint64_t>(total_)));
    std::size_t size_class = 0;
    while (left >= shares_[size_class]) left -= shares_[size_class++];
    return size_class;
  }

  template <class Visit>
  void for_each_class(Visit&& visit) const {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (shares_[i] > 0) visit(i);
    }
  }

 private:
  std::array<int, 4> shares_;
  int total_ = 0;
};

// The ids under which a session counts what it drew.
struct MixIds {
  // Nothing is registered where nothing is mixed, so that no shares are reported.
  MixIds(stats::Recorder& recorder, bool mixed) {
    if (mixed) sizes = {recorder.mix_id("1MB"), recorder.mix_id("10MB"), recorder.mix_id("100MB"), {}};
  }
  std::array<stats::MixId, 4> sizes{};
};

// --- Get Catalog: the whole list, page by page.
class CatalogSession final : public RegistrySession {
 public:
  CatalogSession(const load::Worker& worker, const RegistryTarget& target, const Contents& contents,
                 std::shared_ptr<ThreadRegistry> shared, std::uint64_t seeds)
      : RegistrySession(worker, target, contents, std::move(shared)),
        seeds_(seeds),
        mix_(worker.recorder, true) {}

  net::Task<Checked<void>> set_up() override {
    if (auto ready = co_await RegistrySession::set_up(); !ready) co_return ready;
    for (std::uint64_t i = 0; i < seeds_; ++i) {
      if (auto seeded = co_await seed(0); !seeded) co_return seeded.error();
    }
    co_return Checked<void>{};
  }

  net::Task<load::Outcome> operate(std::uint64_t) override {
    recorder().mix(mix_.sizes[0]);
    auto page = co_await registry().catalog();
    while (page && page->next) page = co_await registry().next_page(*page->next, oci::Step::catalog);
    co_return outcome(page ? ok() : Result<void>(page.error()));
  }

 private:
  std::uint64_t seeds_;
  MixIds mix_;
};

// --- Push Monolith, Push Chunk Streamed, and their mixes of sizes.
class PushSession final : public RegistrySession {
 public:
  PushSession(const load::Worker& worker, const RegistryTarget& target, const Contents& contents,
              std::shared_ptr<ThreadRegistry> shared, const RegistryTest& test)
      : RegistrySession(worker, target, contents, std::move(shared)),
        upload_(test.upload),
        draw_(test.sizes),
        mixes_(test.mixes_sizes()),
        mix_(worker.recorder, mixes_) {}

  net::Task<Checked<void>> set_up() override {
    auto ready = co_await RegistrySession::set_up();
    if (!ready || !mounts()) co_return ready;
    std::vector<std::size_t> classes;
    draw_.for_each_class([&](std::size_t size_class) { classes.push_back(size_class); });
    for (const std::size_t size_class : classes) {
      if (auto seeded = co_await seed_source(size_class); !seeded) co_return seeded;
    }
    co_return Checked<void>{};
  }

  net::Task<load::Outcome> operate(std::uint64_t) override {
    const std::size_t size_class = draw_.draw(random());
    if (mixes_) recorder().mix(mix_.sizes[size_class]);
    if (mounts()) {
      const auto pushed = co_await push_mounted(upload_, size_class);
      co_return outcome(pushed);
    }
    next_image(size_class);
    const auto pushed = co_await push(upload_);
    co_return outcome(pushed);
  }

 private:
  UploadKind upload_;
  SizeDraw draw_;
  bool mixes_;
  MixIds mix_;
};

// --- Pull, and its mix of sizes: each worker pulls what it has pushed before.
class PullSession final : public RegistrySession {
 public:
  PullSession(const load::Worker& worker, const RegistryTarget& target, const Contents& contents,
              std::shared_ptr<ThreadRegistry> shared, const RegistryTest& test)
      : RegistrySession(worker, target, contents, std::move(shared)),
        draw_(test.sizes),
        mixes_(test.mixes_sizes()),
        mix_(worker.recorder, mixes_) {}

  net::Task<Checked<void>> set_up() override {
    if (auto ready = co_await RegistrySession::set_up(); !ready) co_return ready;
    std::vector<std::size_t> classes;
    draw_.for_each_class([&](std::size_t size_class) { classes.push_back(size_class); });
    for (const std::size_t size_class : classes) {
      auto seeded = co_await seed(size_class);
      if (!seeded) co_return seeded.error();
      images_[size_class] = std::move(*seeded);
    }
    co_return Checked<void>{};
  }

  net::Task<load::Outcome> operate(std::uint64_t) override {
    const std::size_t size_class = draw_.draw(random());
    if (mixes_) recorder().mix(mix_.sizes[size_class]);
    const auto pulled = co_await pull(images_[size_class]);
    co_return outcome(pulled);
  }

 private:
  SizeDraw draw_;
  bool mixes_;
  MixIds mix_;
  std::array<PushedImage, kSizeClasses.size()> images_;
};

// --- Pull 75% and Push 25%.
class MixedSession final : public RegistrySession {
 public:
  MixedSession(const load::Worker& worker, const RegistryTarget& target, const Contents& contents,
               std::shared_ptr<ThreadRegistry> shared, const RegistryTest& test)
      : RegistrySession(worker, target, contents, std::move(shared)),
        upload_(test.upload),
        size_class_(SizeDraw(test.sizes).draw(random())),
        pulls_(worker.recorder.mix_id("Pull")),
        pushes_(worker.recorder.mix_id("Push")) {}

  net::Task<Checked<void>> set_up() override {
    if (auto ready = co_await RegistrySession::set_up(); !ready) co_return ready;
    auto seeded = co_await seed(size_class_);
    if (!seeded) co_return seeded.error();
    image_ = std::move(*seeded);
    if (mounts()) co_return co_await seed_source(size_class_);
    co_return Checked<void>{};
  }

  net::Task<load::Outcome> operate(std::uint64_t) override {
    constexpr std::uint64_t kPullsOf100 = 75;
    if (random().below(100) < kPullsOf100) {
      recorder().mix(pulls_);
      const auto pulled = co_await pull(image_);
      co_return outcome(pulled);
    }
    recorder().mix(pushes_);
    if (mounts()) {
      const auto pushed = co_await push_mounted(upload_, size_class_);
      co_return outcome(pushed);
    }
    next_image(size_class_);
    const auto pushed = co_await push(upload_);
    co_return outcome(pushed);
  }

 private:
  UploadKind upload_;
  std::size_t size_class_;
  stats::MixId pulls_;
  stats::MixId pushes_;
  PushedImage image_;
};

class RegistryWorkload final : public load::Workload {
 public:
  RegistryWorkload(const RegistryTest& test, const RegistryTarget& target, const Contents& contents,
                   const RegistryTestPlan& plan)
      : test_(test), target_(target), contents_(contents), plan_(plan), threads_(target, plan.threads) {
    if (plan.upstream != nullptr) upstreams_.emplace(*plan.upstream, plan.threads);
  }

  void prepare(stats::Recorder& recorder) override {
    register_steps(recorder, target_.options);
    if (test_.kind == Kind::mixed) {
      recorder.mix_id("Pull");
      recorder.mix_id("Push");
    } else if (test_.mixes_sizes() || test_.kind == Kind::catalog) {
      for (const char* label : {"1MB", "10MB", "100MB"}) recorder.mix_id(label);
    } else if (test_.kind == Kind::sync) {
      SyncSession::register_parts(recorder);
    }
  }

  std::unique_ptr<load::Session> session(const load::Worker& worker) override {
    auto shared = threads_.of(worker);
    switch (test_.kind) {
      case Kind::catalog:
        return std::make_unique<CatalogSession>(worker, target_, contents_, std::move(shared),
                                                seeds_of(worker.index));
      case Kind::push:
        return std::make_unique<PushSession>(worker, target_, contents_, std::move(shared), test_);
      case Kind::pull:
        return std::make_unique<PullSession>(worker, target_, contents_, std::move(shared), test_);
      case Kind::mixed:
        return std::make_unique<MixedSession>(worker, target_, contents_, std::move(shared), test_);
      case Kind::sync:
        break;
    }
    return std::make_unique<SyncSession>(worker, target_, *plan_.upstream, contents_, std::move(shared),
                                         upstreams_->of(worker), first_class(), images_of(worker.index));
  }

 private:
  std::size_t first_class() const {
    std::size_t first = 0;
    while (test_.sizes[first] == 0) ++first;
    return first;
  }
  // A catalog worth listing, without the hours that one image an operation would take to seed.
  std::uint64_t seeds_of(int worker) const {
    constexpr std::uint64_t kMost = 100;
    return share(plan_.requests == 0 ? kMost : std::min(plan_.requests, kMost), worker);
  }
  // Every cold pull needs an image that the target has never seen.
  std::uint64_t images_of(int worker) const { return share(plan_.requests, worker); }
  std::uint64_t share(std::uint64_t total, int worker) const {
    const auto workers = static_cast<std::uint64_t>(plan_.workers);
    return total / workers + (static_cast<std::uint64_t>(worker) < total % workers ? 1 : 0);
  }

  const RegistryTest& test_;
  const RegistryTarget& target_;
  const Contents& contents_;
  RegistryTestPlan plan_;
  ThreadRegistries threads_;
  std::optional<ThreadRegistries> upstreams_;
};

}  // namespace

bool RegistryTest::mixes_sizes() const {
  return std::ranges::count_if(sizes, [](int share) { return share > 0; }) > 1;
}

std::string_view RegistryTest::action() const {
  switch (kind) {
    case Kind::catalog:
      return "catalog";
    case Kind::push:
      return "push";
    case Kind::pull:
      return "pull";
    case Kind::mixed:
      return "mixed";
    case Kind::sync:
      break;
  }
  return "sync";
}

unsigned RegistryTest::size_classes() const {
  unsigned classes = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 0) classes |= 1U << i;
  }
  return classes;
}

std::span<const RegistryTest> registry_tests() {
  return kTests;
}

std::unique_ptr<load::Workload> make_workload(const RegistryTest& test, const RegistryTarget& target,
                                              const Contents& contents, const RegistryTestPlan& plan) {
  return std::make_unique<RegistryWorkload>(test, target, contents, plan);
}

}  // namespace plimsoll::workload
