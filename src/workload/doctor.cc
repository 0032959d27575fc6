#include "workload/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workload/doctor_state.h"

namespace plimsoll::workload {

void Witness::step(oci::Step step, const oci::StepReport& report) {
  statuses_[step].push_back(report.status);
  if (step == oci::Step::token) token_time_ = report.done - report.sent;
}

void Witness::forget() {
  statuses_.clear();
  notes_.clear();
}

int Witness::first(oci::Step step) const {
  const auto at = statuses_.find(step);
  return at == statuses_.end() || at->second.empty() ? 0 : at->second.front();
}

bool Witness::saw(oci::Step step, int status) const {
  const auto at = statuses_.find(step);
  return at != statuses_.end() && std::ranges::find(at->second, status) != at->second.end();
}

std::string Looks::evidence(std::string_view prefix_good, std::string_view prefix_bad) const {
  std::string text;
  if (!good_.empty()) text.append(prefix_good).append(good_);
  if (!bad_.empty()) text.append(text.empty() ? "" : "; ").append(prefix_bad).append(bad_);
  return text;
}

Doctor::Doctor(net::Loop& loop, const RegistryTarget& target, const ExaminationOptions& options,
               Examination& result)
    : loop_(loop),
      target_(target),
      options_(options),
      connectors_(target.connectors(0)),
      authenticator_(loop, *connectors_, target.options.base, target.credentials),
      client_(loop, *connectors_, authenticator_, target.options, &witness_, nullptr),
      path_(loop, *connectors_, authenticator_, target.options, &witness_, nullptr),
      text_(oci::kMaxManifestSize),
      result_(result),
      repository_(target.repository(0, 0)),
      other_(target.repository(0, 1)) {}

net::Task<void> Doctor::examine() {
  co_await reach();
  co_await list_catalog();
  if (options_.read_only) {
    std::string reference;
    if (co_await find_image(reference)) {
      co_await pull(reference, false);
      co_await look_at_heads(reference);
      co_await look_at_ranges();
      co_await look_at_absence();
      co_await ask_referrers();
    }
    tell_limits();
    co_return;
  }
  co_await try_uploads();
  co_await try_mounts();
  co_await push_image();
  if (result_.plain_push) {
    co_await pull("a", true);
    co_await look_at_heads("a");
    co_await look_at_ranges();
    co_await look_at_absence();
    co_await push_again();
    co_await try_types();
    co_await list_tags();
    co_await ask_referrers();
  }
  co_await remove_all();
  tell_limits();
}

void Doctor::say(std::string id, std::string supported, std::string evidence, std::string spec) {
  result_.capabilities.push_back({std::move(id), std::move(supported), std::move(evidence), std::move(spec)});
}

void Doctor::say(std::string id, const Looks& looks, std::string_view good, std::string_view bad,
                 std::string spec) {
  say(std::move(id), looks.supported(), looks.evidence(good, bad), std::move(spec));
}

void Doctor::stray(std::string id, std::string summary, std::string spec) {
  result_.findings.push_back({.id = std::move(id),
                              .severity = "warning",
                              .summary = std::move(summary),
                              .evidence = {},
                              .context = {{"spec", std::move(spec)}}});
}

void Doctor::take_notes(const std::string& where, const std::string& spec) {
  for (const auto& [kind, detail] : witness_.notes()) {
    const std::string summary = fmt::format("{}: {}", where, detail.text);
    const bool told = std::ranges::any_of(
        result_.findings, [&](const stats::Finding& finding) { return finding.summary == summary; });
    if (!told) stray(std::string(name(kind)), summary, spec);
  }
  witness_.forget();
}

std::string Doctor::why(const Error& error) const {
  const std::string& text = client_.detail().text;
  return text.empty() ? describe(error) : text;
}

oci::Call Doctor::call(oci::Step step, http::Method method, std::string_view repository,
                       std::string_view tail, oci::Right right) const {
  http::Url url = path_.ping_url();
  url.target.append(repository).append("/").append(tail);
  return {.step = step,
          .method = method,
          .url = std::move(url),
          .access = {.right = right, .repository = repository}};
}

net::Task<Result<oci::Reply>> Doctor::ask(oci::Call call) {
  text_.begin(oci::kMaxManifestSize);
  call.sink = &text_;
  co_return co_await path_.run(std::move(call));
}

std::string Doctor::answer_of(const Result<oci::Reply>& reply, const oci::Call& asked) {
  if (reply) {
    oci::Call shown = asked;
    shown.sink = &text_;
    static_cast<void>(path_.refused(*reply, shown));
  }
  const std::string& text = path_.detail().text;
  return reply || !text.empty() ? text : describe(reply.error());
}

std::string Doctor::next_content() {
  return fmt::format("plimsoll doctor {} {:x} {}", target_.run_id, target_.nonce, ++contents_);
}

Examination examine(net::Loop& loop, const RegistryTarget& target, const ExaminationOptions& options) {
  Examination result;
  Doctor doctor(loop, target, options, result);
  loop.run(doctor.examine());
  return result;
}

}  // namespace plimsoll::workload
