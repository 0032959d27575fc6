#include "workload/upload_choice.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "workload/registry_session.h"

namespace plimsoll::workload {
namespace {

// No worker has this number: content and names are the trial's own.
constexpr int kTrialWorker = 1 << 24;

class Trial final : public RegistrySession {
 public:
  using RegistrySession::RegistrySession;
  net::Task<load::Outcome> operate(std::uint64_t) override { co_return load::Outcome{}; }

  net::Task<Result<void>> upload(UploadKind kind, std::size_t size_class) {
    next_image(size_class);
    co_return co_await push(kind);
  }
  const std::string& why() { return registry().detail().text; }
};

std::array<UploadKind, 4> order_of(UploadKind preferred) {
  const bool patches = preferred == UploadKind::stream || preferred == UploadKind::chunk;
  if (patches) return {UploadKind::stream, UploadKind::chunk, UploadKind::put, UploadKind::post};
  return {UploadKind::put, UploadKind::post, UploadKind::stream, UploadKind::chunk};
}

}  // namespace

net::Task<Checked<UploadChoice>> choose_upload(net::Loop& loop, const RegistryTarget& target,
                                               const Contents& contents, std::size_t size_class,
                                               UploadKind preferred) {
  stats::Recorder unread;
  register_steps(unread, target.options);
  const load::Worker worker{.loop = loop, .recorder = unread, .index = kTrialWorker, .thread = 0, .seed = 0};
  ThreadRegistries registries(target, 1);
  Trial trial(worker, target, contents, registries.of(worker));
  if (auto ready = co_await trial.set_up(); !ready) co_return ready.error();
  UploadChoice choice;
  bool taken = false;
  for (const UploadKind kind : order_of(preferred)) {
    const auto pushed = co_await trial.upload(kind, size_class);
    if (pushed) {
      choice.kind = kind;
      taken = true;
      break;
    }
    choice.refused += fmt::format("{}{}: {}", choice.refused.empty() ? "" : "; ", name(kind), trial.why());
  }
  co_await trial.clean_up();
  if (!taken) co_return Refusal{fmt::format("--upload auto: the registry takes none ({})", choice.refused)};
  co_return choice;
}

}  // namespace plimsoll::workload
