#include "workload/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "oci/authenticator.h"
#include "oci/media_types.h"

namespace plimsoll::workload {
namespace {

// Remembers the statuses of each step and what was noted, to tell how an answer came about.
class Witness final : public oci::StepObserver {
 public:
  void step(oci::Step step, const oci::StepReport& report) override {
    statuses_[step].push_back(report.status);
  }
  void note(NoteKind kind, const oci::Detail& detail) override { notes_.emplace_back(kind, detail); }

  void forget() {
    statuses_.clear();
    notes_.clear();
  }
  bool saw(oci::Step step, int status) const {
    const auto at = statuses_.find(step);
    return at != statuses_.end() && std::ranges::find(at->second, status) != at->second.end();
  }
  // A status of any step from `least` to `most`; 0 where there was none.
  int any_between(int least, int most) const {
    for (const auto& [step, statuses] : statuses_) {
      for (const int status : statuses) {
        if (status >= least && status <= most) return status;
      }
    }
    return 0;
  }
  const std::vector<std::pair<NoteKind, oci::Detail>>& notes() const { return notes_; }

 private:
  std::map<oci::Step, std::vector<int>> statuses_;
  std::vector<std::pair<NoteKind, oci::Detail>> notes_;
};

class Doctor {
 public:
  Doctor(net::Loop& loop, const RegistryTarget& target, Examination& result)
      : target_(target),
        connectors_(target.connectors(0)),
        authenticator_(loop, *connectors_, target.options.base, target.credentials),
        client_(loop, *connectors_, authenticator_, target.options, &witness_, nullptr),
        repository_(target.repository(0, 0)),
        other_(target.repository(0, 1)),
        result_(result) {}

  net::Task<void> examine(bool read_only) {
    co_await reach();
    co_await list_catalog();
    if (read_only) co_return;
    co_await upload("upload-put", "end-4a, end-6", &Doctor::push_put);
    co_await upload("upload-stream", "end-5 without Content-Range", &Doctor::push_stream);
    co_await upload("upload-chunks", "end-5, end-6", &Doctor::push_chunks);
    co_await upload("upload-post", "end-4b", &Doctor::push_post);
    co_await look_at_sessions();
    co_await mount();
    co_await push_and_pull_image();
    co_await list_tags();
    co_await ask_referrers();
    co_await remove();
  }

 private:
  void say(std::string id, std::string supported, std::string evidence, std::string spec) {
    result_.capabilities.push_back(
        {std::move(id), std::move(supported), std::move(evidence), std::move(spec)});
  }
  void stray(std::string id, std::string summary, std::string spec) {
    result_.findings.push_back({.id = std::move(id),
                                .severity = "warning",
                                .summary = std::move(summary),
                                .evidence = {},
                                .context = {{"spec", std::move(spec)}}});
  }
  // Notes of the client since the last look are ways in which an answer strayed.
  void take_notes(const std::string& where, const std::string& spec) {
    for (const auto& [kind, detail] : witness_.notes()) {
      stray(std::string(name(kind)), fmt::format("{}: {}", where, detail.text), spec);
    }
    witness_.forget();
  }
  std::string why(const Error& error) const {
    const std::string& text = client_.detail().text;
    return text.empty() ? describe(error) : text;
  }

  net::Task<void> reach() {
    auto ping = co_await client_.ping();
    say("reachable", ping ? "yes" : "no",
        ping ? fmt::format("GET /v2/ answers {}", client_.last_status()) : why(ping.error()), "end-1");
    const bool challenged = witness_.saw(oci::Step::ping, 401);
    say("authentication", challenged ? "yes" : "no",
        challenged ? (witness_.any_between(200, 299) != 0 ? "401, then let in" : "401, not let in")
                   : "none is asked for",
        "end-1");
    if (!client_.server().empty()) say("server", "yes", client_.server(), "");
    std::vector<double> times;
    for (int i = 0; i < 11; ++i) {
      const Instant start = now();
      if (auto again = co_await client_.ping(); !again) break;
      times.push_back(seconds(now() - start));
    }
    if (!times.empty()) {
      std::ranges::sort(times);
      say("bare-request", "yes",
          fmt::format("median of {}: {:.3f} ms", times.size(), times[times.size() / 2] * 1e3), "");
    }
    witness_.forget();
  }

  net::Task<void> list_catalog() {
    auto page = co_await client_.catalog(1);
    say("catalog", page ? "yes" : "no",
        page ? fmt::format("{} repositories on a page of 1", page->names.size()) : why(page.error()),
        "not in the spec; docker's API");
    if (page && page->names.size() > 1) {
      stray("catalog-page-size", "the catalog ignores n=1", "docker's API");
    }
    witness_.forget();
  }

  // --- uploads: each way with content of its own
  std::string next_content() { return fmt::format("plimsoll doctor {} {}", target_.run_id, ++contents_); }

  net::Task<void> upload(std::string id, std::string spec,
                         net::Task<Result<void>> (Doctor::*push)(const http::RequestBody&,
                                                                 const oci::Digest&)) {
    const std::string content = next_content();
    const http::TextBody body(content);
    const oci::Digest digest = oci::Digest::of(content);
    auto pushed = co_await (this->*push)(body, digest);
    std::string supported = pushed ? "yes" : "no";
    std::string evidence = pushed ? "201" : why(pushed.error());
    if (pushed) {
      if (auto there = co_await client_.head_blob(repository_, digest, oci::BlobRole::layer); !there) {
        supported = "no";
        evidence = "accepted, but not there afterwards";
      }
      blobs_.push_back(digest);
    }
    if (id == "upload-post" && pushed && witness_.saw(oci::Step::layer_put, 201)) {
      supported = "no";
      evidence = "202: the content is to be sent again by PUT";
    }
    take_notes(id, spec);
    say(std::move(id), std::move(supported), std::move(evidence), std::move(spec));
  }

  net::Task<Result<void>> push_put(const http::RequestBody& body, const oci::Digest& digest) {
    auto session = co_await client_.start_upload(repository_);
    if (!session) co_return session.error();
    if (session->chunk_minimum > 0) chunk_minimum_ = session->chunk_minimum;
    co_return co_await client_.put_blob(*session, body, digest, oci::BlobRole::layer);
  }
  net::Task<Result<void>> push_stream(const http::RequestBody& body, const oci::Digest& digest) {
    auto session = co_await client_.start_upload(repository_);
    if (!session) co_return session.error();
    if (auto sent = co_await client_.stream_blob(*session, body, oci::BlobRole::layer); !sent)
      co_return sent.error();
    co_return co_await client_.finish_upload(*session, digest, oci::BlobRole::layer);
  }
  net::Task<Result<void>> push_chunks(const http::RequestBody& body, const oci::Digest& digest) {
    auto session = co_await client_.start_upload(repository_);
    if (!session) co_return session.error();
    const std::uint64_t half = std::max<std::uint64_t>(1, *body.length() / 2);
    if (auto sent = co_await client_.send_chunks(*session, body, half, oci::BlobRole::layer); !sent) {
      co_return sent.error();
    }
    co_return co_await client_.finish_upload(*session, digest, oci::BlobRole::layer);
  }
  net::Task<Result<void>> push_post(const http::RequestBody& body, const oci::Digest& digest) {
    co_return co_await client_.post_blob(repository_, body, digest, oci::BlobRole::layer);
  }

  net::Task<void> look_at_sessions() {
    auto session = co_await client_.start_upload(repository_);
    if (!session) co_return;
    say("chunk-minimum", chunk_minimum_ > 0 ? "yes" : "no",
        chunk_minimum_ > 0 ? fmt::format("OCI-Chunk-Min-Length: {}", chunk_minimum_)
                           : "no OCI-Chunk-Min-Length",
        "end-4a");
    auto status = co_await client_.upload_status(*session);
    say("upload-status", status ? "yes" : "no",
        status ? fmt::format("204, {} bytes", *status) : why(status.error()), "end-13");
    auto cancelled = co_await client_.cancel_upload(*session);
    say("upload-cancel", cancelled ? "yes" : "no", cancelled ? "204" : why(cancelled.error()), "end-14");
    take_notes("upload session", "end-13, end-14");
  }

  net::Task<void> mount() {
    if (blobs_.empty()) co_return;
    co_await mount_from("mount-cross", repository_, blobs_.front());
    co_await mount_from("mount-anonymous", "", blobs_.back());
    auto missing = co_await client_.mount(other_, oci::Digest::of("not there"), repository_);
    if (missing && missing->mounted)
      stray("mount-of-nothing", "a blob that is not there was mounted", "end-11");
    if (missing && missing->upload) static_cast<void>(co_await client_.cancel_upload(*missing->upload));
    witness_.forget();
  }

  net::Task<void> mount_from(std::string id, std::string from, oci::Digest digest) {
    auto mounted = co_await client_.mount(other_, digest, from);
    const bool yes = mounted && mounted->mounted;
    std::string evidence = yes ? "201" : mounted ? "202: the blob is to be uploaded" : why(mounted.error());
    if (yes) other_blobs_.push_back(digest);
    if (mounted && mounted->upload) static_cast<void>(co_await client_.cancel_upload(*mounted->upload));
    witness_.forget();
    say(std::move(id), yes ? "yes" : "no", std::move(evidence), "end-11");
  }

  net::Task<void> push_and_pull_image() {
    auto contents = Contents::of_images({{16 * 1024}}, target_.nonce);
    if (!contents) co_return;
    oci::LayerSource source(target_.nonce, 7);
    oci::Image image;
    oci::next_image(source, contents->shape(0), image);
    Result<void> pushed = co_await push_all(image);
    result_.plain_push = pushed.has_value();
    say("push", pushed ? "yes" : "no", pushed ? "an image of one layer" : why(pushed.error()),
        "end-4a, end-6, end-7");
    witness_.forget();
    if (!pushed) co_return;
    manifest_ = image.manifest_digest;
    blobs_.push_back(image.layers.front().digest());
    blobs_.push_back(image.config_digest);

    auto again = co_await client_.head_blob(repository_, image.layers.front().digest(), oci::BlobRole::layer);
    say("repush-known", again ? "yes" : "no",
        again ? "HEAD says that the layer is there" : "HEAD does not say that the layer is there", "end-2");
    co_await pull(image);
  }

  net::Task<Result<void>> push_all(const oci::Image& image) {
    std::string layer;
    while (layer.size() < image.layers.front().size())
      layer += image.layers.front().piece(layer.size()).bytes;
    const http::TextBody layer_body(layer);
    if (auto pushed = co_await push_put(layer_body, image.layers.front().digest()); !pushed)
      co_return pushed.error();
    const http::TextBody config(image.config);
    if (auto pushed = co_await push_put(config, image.config_digest); !pushed) co_return pushed.error();
    co_return co_await client_.put_manifest(repository_, "a", oci::kOciManifest, image.manifest);
  }

  net::Task<void> pull(const oci::Image& image) {
    auto head = co_await client_.head_manifest(repository_, "a");
    say("manifest-head", head && !witness_.saw(oci::Step::manifest_head, 405) ? "yes" : "no",
        head ? "200" : why(head.error()), "end-3");
    const bool header = head && head->digest.has_value();
    say("digest-header", header ? "yes" : "no",
        header ? "Docker-Content-Digest on HEAD of a manifest" : "missing", "end-3");
    if (header && *head->digest != image.manifest_digest) {
      stray("digest-header-wrong", "Docker-Content-Digest is not the digest of the manifest", "end-3");
    }
    auto manifest = co_await client_.get_manifest(repository_, "a");
    if (manifest && manifest->body != image.manifest)
      stray("manifest-rewritten", "the manifest's bytes were changed", "end-3");
    if (manifest && manifest->media_type != oci::kOciManifest) {
      stray("manifest-type", fmt::format("the manifest's Content-Type is '{}'", manifest->media_type),
            "end-3");
    }
    auto layer = co_await client_.get_blob(repository_, image.layers.front().digest(),
                                           image.layers.front().size(), oci::BlobRole::layer);
    result_.plain_pull = manifest && layer;
    say("pull", result_.plain_pull ? "yes" : "no",
        !manifest ? why(manifest.error())
        : !layer  ? why(layer.error())
                  : "every digest is right",
        "end-2, end-3");
    const bool redirected = witness_.saw(oci::Step::storage, 200);
    say("redirects", redirected ? "yes" : "no",
        redirected ? "blobs come from another URL" : "blobs come from the registry itself", "end-2");
    auto absent = co_await client_.head_manifest(repository_, "no-such-tag");
    if (absent || client_.last_status() != 404) {
      stray("missing-manifest",
            fmt::format("HEAD of a tag that is not there answers {}", client_.last_status()), "end-3");
    }
    take_notes("pull", "end-2, end-3");
  }

  net::Task<void> list_tags() {
    if (!result_.plain_push) co_return;
    auto first = co_await client_.get_manifest(repository_, "a");
    if (first) {
      static_cast<void>(co_await client_.put_manifest(repository_, "b", oci::kOciManifest, first->body));
    }
    auto all = co_await client_.tags(repository_);
    say("tags",
        all && all->names == std::vector<std::string>{"a", "b"} ? "yes"
        : all                                                   ? "partly"
                                                                : "no",
        all ? fmt::format("{}", fmt::join(all->names, ", ")) : why(all.error()), "end-8a");
    auto page = co_await client_.tags(repository_, 1);
    const bool pages = page && page->names.size() == 1 && page->next;
    say("tags-pagination", pages ? "yes" : "no",
        !page                    ? why(page.error())
        : pages                  ? "n=1 gives one tag and a Link"
        : page->names.size() > 1 ? "n=1 is ignored"
                                 : "no Link after a page that is not the last",
        "end-8b");
    witness_.forget();
  }

  net::Task<void> ask_referrers() {
    if (!result_.plain_push) co_return;
    auto referrers = co_await client_.referrers(repository_, manifest_);
    const bool api = referrers && referrers->api;
    say("referrers", api ? "yes" : "no",
        !referrers ? why(referrers.error())
        : api      ? "200"
                   : "404: clients keep a tag with the list",
        "end-12a");
    take_notes("referrers", "end-12a");
  }

  net::Task<void> remove() {
    if (result_.plain_push) {
      auto tag = co_await client_.delete_tag(repository_, "b");
      told_delete("delete-tag", tag);
      auto manifest = co_await client_.delete_manifest(repository_, manifest_);
      told_delete("delete-manifest", manifest);
      if (manifest && *manifest == 202) {
        auto gone = co_await client_.head_manifest(repository_, "a");
        if (gone) stray("deleted-still-there", "a manifest that was deleted is still served", "end-9");
      } else {
        ++*target_.left_behind;
      }
    }
    for (std::size_t i = 0; i < blobs_.size(); ++i) {
      auto blob = co_await client_.delete_blob(repository_, blobs_[i]);
      if (i == 0) told_delete("delete-blob", blob);
      if (!blob || *blob == 405 || *blob == 400) break;
    }
    for (const oci::Digest& digest : other_blobs_) {
      if (auto blob = co_await client_.delete_blob(other_, digest); !blob) break;
    }
    witness_.forget();
  }

  void told_delete(std::string id, const Result<int>& status) {
    const bool yes = status && *status == 202;
    say(id, yes ? "yes" : "no", status ? fmt::format("{}", *status) : why(status.error()),
        id == "delete-blob" ? "end-10" : "end-9");
    if (status && *status != 202 && *status != 404 && *status != 405 && *status != 400) {
      stray(id + "-status", fmt::format("{} answers {}", id, *status),
            id == "delete-blob" ? "end-10" : "end-9");
    }
  }

  const RegistryTarget& target_;
  std::unique_ptr<oci::Connectors> connectors_;
  oci::Authenticator authenticator_;
  Witness witness_;
  oci::RegistryClient client_;
  std::string repository_;
  std::string other_;
  Examination& result_;
  int contents_ = 0;
  std::uint64_t chunk_minimum_ = 0;
  oci::Digest manifest_;
  std::vector<oci::Digest> blobs_;
  std::vector<oci::Digest> other_blobs_;
};

}  // namespace

Examination examine(net::Loop& loop, const RegistryTarget& target, bool read_only) {
  Examination result;
  Doctor doctor(loop, target, result);
  loop.run(doctor.examine(read_only));
  return result;
}

}  // namespace plimsoll::workload
