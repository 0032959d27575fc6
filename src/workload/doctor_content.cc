// Images: pushing and pulling one, and which other manifests are taken (distribution-spec, "Pulling manifests" and
// "Pushing manifests").
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "oci/media_types.h"
#include "workload/doctor_state.h"
#include "workload/layer_body.h"

namespace plimsoll::workload {
namespace {

constexpr std::uint64_t kLayerSize = 16 * 1024;
constexpr std::size_t kLargeManifest = 3'900'000;  // registries are to take 4 MiB
constexpr std::string_view kEmptyConfig = "{}";

std::string descriptor(std::string_view type, const oci::Digest& digest, std::uint64_t size) {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":{}}})", type, digest.text(), size);
}

// An image's manifest of any kind; `more` is further members, each with a comma before it.
std::string manifest_of(std::string_view type, const std::string& config, const std::string& layer,
                        std::string_view more = {}) {
  return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{}]{}}})", type, config,
                     layer, more);
}

std::string index_of(std::string_view type, std::string_view child_type, const oci::Digest& child,
                     std::size_t size) {
  return fmt::format(
      R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{{"mediaType":"{}","digest":"{}","size":{},)"
      R"("platform":{{"os":"linux","architecture":"amd64"}}}}]}})",
      type, child_type, child.text(), size);
}

}  // namespace

net::Task<void> Doctor::push_image() {
  auto contents = Contents::of_images({{kLayerSize}}, target_.nonce);
  if (!contents) co_return;
  oci::LayerSource source(target_.nonce, 7);
  oci::Image image;
  oci::next_image(source, contents->shape(0), image);
  const oci::Layer& layer = image.layers.front();
  while (layer_text_.size() < layer.size()) layer_text_ += layer.piece(layer_text_.size()).bytes;
  layer_.media_type = oci::kOciLayerTar;
  layer_.digest = layer.digest();
  layer_.size = layer.size();
  config_text_ = image.config;
  config_ = image.config_digest;
  manifest_text_ = image.manifest;
  manifest_type_ = oci::kOciManifest;
  manifest_ = image.manifest_digest;
  const Result<void> pushed = co_await push_all(image);
  result_.plain_push = pushed.has_value();
  say("push", pushed ? "yes" : "no", pushed ? "an image of one layer" : why(pushed.error()),
      "end-4a, end-6, end-7");
  take_notes("push", "end-4a, end-6, end-7");
  if (!pushed) co_return;
  manifests_.push_back(manifest_);
  blobs_.push_back(layer_.digest);
  blobs_.push_back(config_);
}

net::Task<Result<void>> Doctor::push_all(const oci::Image& image) {
  const LayerBody layer(image.layers.front());
  if (auto pushed = co_await push_put(layer, layer_.digest); !pushed) co_return pushed.error();
  const http::TextBody config(image.config);
  if (auto pushed = co_await push_put(config, config_); !pushed) co_return pushed.error();
  co_return co_await client_.put_manifest(repository_, "a", oci::kOciManifest, image.manifest);
}

// What is there already is known, and may be pushed once more.
net::Task<void> Doctor::push_again() {
  constexpr auto kSpec = "end-2, end-6, end-7";
  Looks looks;
  const auto there = co_await client_.head_blob(repository_, layer_.digest, oci::BlobRole::layer);
  looks.look(there.has_value(), "HEAD finds the layer");
  const http::TextBody layer(layer_text_);
  const auto pushed = co_await push_put(layer, layer_.digest);
  looks.look(pushed.has_value(), "the layer may be pushed again");
  const auto manifest = co_await client_.put_manifest(repository_, "a", manifest_type_, manifest_text_);
  looks.look(manifest.has_value(), "the manifest may be pushed again");
  say("repush-known", looks, "", "not: ", kSpec);
  take_notes("pushing again", kSpec);
}

net::Task<void> Doctor::pull(std::string reference, bool whole) {
  auto manifest = co_await client_.get_manifest(repository_, reference);
  if (manifest && manifest->body != manifest_text_)
    stray("manifest-rewritten", "the manifest's bytes were changed", "end-3");
  if (manifest && manifest->media_type != manifest_type_) {
    stray("manifest-type",
          fmt::format("the manifest's Content-Type is '{}', and '{}' was pushed", manifest->media_type,
                      manifest_type_),
          "end-3");
  }
  const auto by_digest = co_await client_.get_manifest(repository_, manifest_.text());
  auto config = co_await client_.get_blob(repository_, config_, std::nullopt, oci::BlobRole::config);
  Result<void> layer = ok();
  if (whole) {
    layer = co_await client_.get_blob(repository_, layer_.digest, layer_.size, oci::BlobRole::layer);
  }
  result_.plain_pull = manifest && by_digest && config && layer;
  say("pull", result_.plain_pull ? "yes" : "no",
      !manifest    ? why(manifest.error())
      : !by_digest ? why(by_digest.error())
      : !config    ? why(config.error())
      : !layer     ? why(layer.error())
                   : "every digest is right",
      "end-2, end-3");
  take_notes("pull", "end-2, end-3");

  oci::Call get = call(oci::Step::layer_get, http::Method::get, repository_,
                       fmt::format("blobs/{}", layer_.digest.text()), oci::Right::pull);
  get.range = "bytes=0-0";
  const auto reply = co_await ask(get);
  const int first = witness_.first(oci::Step::layer_get);
  const bool redirected = reply && reply->redirected;
  say("redirects", redirected ? "yes" : "no",
      redirected ? fmt::format("blobs: {} to {}", first == 401 ? 307 : first, reply->url.origin())
                 : "blobs come from the registry itself",
      "end-2");
  witness_.forget();
}

net::Task<void> Doctor::try_types() {
  constexpr auto kSpec = "end-7; image-spec, media types";
  const http::TextBody empty(kEmptyConfig);
  const oci::Digest empty_digest = oci::Digest::of(kEmptyConfig);
  if (auto pushed = co_await push_put(empty, empty_digest); pushed) blobs_.push_back(empty_digest);
  const std::string layer = descriptor(oci::kOciLayerTar, layer_.digest, layer_.size);
  const std::string config = descriptor(oci::kOciConfig, config_, config_text_.size());

  co_await try_type("type-oci-index", kSpec, std::string(oci::kOciIndex),
                    index_of(oci::kOciIndex, oci::kOciManifest, manifest_, manifest_text_.size()));
  const std::string docker = manifest_of(
      oci::kDockerManifest,
      descriptor("application/vnd.docker.container.image.v1+json", config_, config_text_.size()),
      descriptor("application/vnd.docker.image.rootfs.diff.tar.gzip", layer_.digest, layer_.size));
  co_await try_type("type-docker-manifest", "end-7; docker's manifest v2, schema 2",
                    std::string(oci::kDockerManifest), docker);
  co_await try_type("type-docker-list", "end-7; docker's manifest v2, schema 2",
                    std::string(oci::kDockerList),
                    index_of(oci::kDockerList, oci::kDockerManifest, oci::Digest::of(docker), docker.size()));
  co_await try_type(
      "type-artifact", "end-7; image-spec, guidance for artifacts", std::string(oci::kOciManifest),
      manifest_of(oci::kOciManifest, descriptor(oci::kOciEmpty, empty_digest, kEmptyConfig.size()), layer,
                  fmt::format(R"(,"artifactType":"{}")", referrer_type_)));
  co_await try_type("manifest-sha512", "end-7; image-spec, digests", std::string(oci::kOciManifest),
                    manifest_of(oci::kOciManifest, config, layer, R"(,"annotations":{"a":"sha512"})"),
                    oci::DigestAlgorithm::sha512);
  co_await try_type(
      "manifest-size", "end-7: at least 4 MiB", std::string(oci::kOciManifest),
      manifest_of(oci::kOciManifest, config, layer,
                  fmt::format(R"(,"annotations":{{"a":"{}"}})", std::string(kLargeManifest, 'x'))));
}

net::Task<void> Doctor::try_type(std::string id, std::string spec, std::string media_type, std::string body,
                                 oci::DigestAlgorithm algorithm) {
  const oci::Digest digest = oci::Digest::of(body, algorithm);
  const auto put = co_await client_.put_manifest(repository_, digest.text(), media_type, body);
  if (!put) {
    say(std::move(id), "no", why(put.error()), std::move(spec));
    witness_.forget();
    co_return;
  }
  manifests_.push_back(digest);
  const auto got = co_await client_.get_manifest(repository_, digest.text());
  const bool same = got && got->body == body && got->media_type == media_type;
  say(id, same ? "yes" : "partly",
      same   ? "201, and it comes back as it was"
      : !got ? fmt::format("201, and then: {}", why(got.error()))
             : fmt::format("201, and it comes back as '{}'", got->media_type),
      spec);
  if (!same) stray(id, "a manifest that was taken doesn't come back as it was", spec);
  take_notes(id, spec);
}

// --- read-only

net::Task<std::string> Doctor::first_repository() {
  if (!options_.repository.empty()) co_return options_.repository;
  auto page = co_await client_.catalog();
  std::string found;
  if (!page) co_return found;
  constexpr std::size_t kMost = 20;  // empty repositories are not rare
  for (std::size_t i = 0; i < std::min(page->names.size(), kMost) && found.empty(); ++i) {
    const auto tags = co_await client_.tags(page->names[i]);
    if (tags && !tags->names.empty()) found = page->names[i];
  }
  co_return found;
}

net::Task<bool> Doctor::find_image(std::string& reference) {
  const std::string found = co_await first_repository();
  witness_.forget();
  if (found.empty()) {
    say("pull", "unknown", "there is no image to read: name its repository with --repo", "end-2, end-3");
    co_return false;
  }
  repository_ = found;
  const auto tags = co_await client_.tags(repository_);
  say("tags", tags && !tags->names.empty() ? "yes" : "no",
      tags ? fmt::format("{} of {}", tags->names.size(), repository_) : why(tags.error()), "end-8a");
  if (!tags || tags->names.empty()) co_return false;
  const bool latest = std::ranges::find(tags->names, "latest") != tags->names.end();
  reference = latest ? "latest" : tags->names.back();

  Error failed;
  for (int depth = 0; depth < oci::kMaxIndexDepth; ++depth) {
    auto manifest = co_await client_.get_manifest(repository_, reference);
    if (!manifest) {
      failed = manifest.error();
      break;
    }
    auto document = oci::parse_manifest(manifest->body, manifest->media_type);
    if (!document) {
      failed = document.error();
      break;
    }
    if (document->kind == oci::DocumentKind::index && !document->manifests.empty()) {
      const auto best = oci::candidates(*document, {});
      reference = (best.empty() ? document->manifests.front() : *best.front()).digest.text();
      continue;
    }
    if (!document->config || document->layers.empty()) break;
    const auto config =
        co_await client_.get_blob_text(repository_, document->config->digest, oci::BlobRole::config);
    if (!config) {
      failed = config.error();
      break;
    }
    manifest_text_ = manifest->body;
    manifest_type_ = manifest->media_type;
    manifest_ = oci::Digest::of(manifest_text_);
    config_text_ = *config;
    config_ = document->config->digest;
    layer_ = document->layers.front();
    witness_.forget();
    co_return true;
  }
  result_.plain_pull = false;
  say("pull", "no", fmt::format("{}:{}: {}", repository_, reference, why(failed)), "end-2, end-3");
  co_return false;
}

}  // namespace plimsoll::workload
