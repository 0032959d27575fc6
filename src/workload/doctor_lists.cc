// Catalog, tags, referrers, and the clean-up, whose deletes are questions too (distribution-spec, "Content Discovery"
// and "Content Management").
#include <fmt/format.h>

#include <ranges>
#include <utility>

#include "oci/manifest.h"
#include "oci/media_types.h"
#include "workload/doctor_state.h"

namespace plimsoll::workload {
namespace {

bool is_refusal(int status) {
  return status == 400 || status == 405;
}

}  // namespace

net::Task<void> Doctor::list_catalog() {
  constexpr auto kSpec = "not in the spec: docker's API";
  auto page = co_await client_.catalog(1);
  std::string evidence = page ? fmt::format("{} on a page of 1", page->names.size()) : why(page.error());
  if (page && page->next) evidence += ", and a Link to the next";
  say("catalog", page ? "yes" : "no", std::move(evidence), kSpec);
  if (page && page->names.size() > 1) stray("catalog-page-size", "the catalog ignores n=1", kSpec);
  witness_.forget();
}

net::Task<void> Doctor::list_tags() {
  static_cast<void>(co_await client_.put_manifest(repository_, "b", manifest_type_, manifest_text_));
  auto all = co_await client_.tags(repository_);
  const std::vector<std::string> both = {"a", "b"};
  say("tags",
      all && all->names == both ? "yes"
      : all                     ? "partly"
                                : "no",
      all ? fmt::format("{}", fmt::join(all->names, ", ")) : why(all.error()), "end-8a");
  if (all && all->names != both) {
    stray("tags", fmt::format("of the tags a, b the list has: {}", fmt::join(all->names, ", ")), "end-8a");
  }

  Looks looks;
  auto page = co_await client_.tags(repository_, 1);
  const bool first = page && page->names == std::vector<std::string>{"a"};
  looks.look(first, "n=1");
  looks.look(page && page->next, "Link to the next page");
  if (page && page->next) {
    auto second = co_await client_.next_page(*page->next, oci::Step::tags);
    looks.look(second && second->names == std::vector<std::string>{"b"}, "what it leads to");
  }
  const oci::Call after =
      call(oci::Step::tags, http::Method::get, repository_, "tags/list?n=10&last=a", oci::Right::pull);
  const auto reply = co_await ask(after);
  looks.look(reply && reply->status == 200 && text_.text().find("\"b\"") != std::string_view::npos &&
                 text_.text().find("\"a\"") == std::string_view::npos,
             "last=a");
  say("tags-pagination", looks, "", "not: ", "end-8b");
  if (page && page->names.size() > 1) stray("tags-page-size", "the list of tags ignores n=1", "end-8b");
  if (first && !page->next)
    stray("tags-link", "a page that is not the last has no Link to the next", "end-8b");
  witness_.forget();
}

// A manifest whose subject is the image: tells whether the registry minds (OCI-Subject).
net::Task<bool> Doctor::push_referrer() {
  const std::string body = fmt::format(
      R"({{"schemaVersion":2,"mediaType":"{}","artifactType":"{}","config":{{"mediaType":"{}","digest":"{}","size":{}}},)"
      R"("layers":[{{"mediaType":"{}","digest":"{}","size":{}}}],"subject":{{"mediaType":"{}","digest":"{}","size":{}}}}})",
      oci::kOciManifest, referrer_type_, oci::kOciConfig, config_.text(), config_text_.size(),
      oci::kOciLayerTar, layer_.digest.text(), layer_.size, manifest_type_, manifest_.text(),
      manifest_text_.size());
  referrer_ = oci::Digest::of(body);
  const http::TextBody content(body);
  oci::Call put = call(oci::Step::manifest_put, http::Method::put, repository_,
                       fmt::format("manifests/{}", referrer_.text()), oci::Right::push);
  put.content_type = oci::kOciManifest;
  put.body = &content;
  const auto reply = co_await ask(put);
  has_referrer_ = reply && reply->status == 201;
  if (has_referrer_) manifests_.push_back(referrer_);
  const bool told = has_referrer_ && reply->header("OCI-Subject") == manifest_.text();
  say("subject", told ? "yes" : "no",
      told            ? "201 with OCI-Subject"
      : has_referrer_ ? "201 without OCI-Subject: clients keep a tag with the list"
                      : answer_of(reply, put),
      "end-7, Pushing Manifests with Subject");
  co_return told;
}

net::Task<void> Doctor::ask_referrers() {
  constexpr auto kSpec = "end-12a";
  const bool told_subject = options_.read_only ? false : co_await push_referrer();
  const std::string tail = fmt::format("referrers/{}", manifest_.text());
  const oci::Call get = call(oci::Step::referrers, http::Method::get, repository_, tail, oci::Right::pull);
  const auto reply = co_await ask(get);
  const bool api = reply && reply->status == 200;
  if (!api) {
    const bool absent = reply && reply->status == 404;
    say("referrers", "no", absent ? "404: clients keep a tag with the list" : answer_of(reply, get), kSpec);
    if (!absent) {
      stray("referrers", fmt::format("referrers are answered with {}, not 200 or 404", answer_of(reply, get)),
            kSpec);
    }
    if (told_subject) {
      stray("subject-without-referrers", "OCI-Subject is sent, and there is no list of referrers",
            "end-7, end-12a");
    }
    witness_.forget();
    co_return;
  }
  const std::string type = oci::bare_media_type(reply->header("Content-Type"));
  const auto index = oci::parse_manifest(text_.text(), oci::kOciIndex);
  const auto lists = [&](const Result<oci::Document>& document) {
    return document && std::ranges::any_of(document->manifests,
                                           [&](const auto& entry) { return entry.digest == referrer_; });
  };
  const bool complete = index && (!has_referrer_ || lists(index));
  say("referrers", complete ? "yes" : "partly",
      !index     ? std::string("200, but no index")
      : complete ? fmt::format("200, {} listed", index->manifests.size())
                 : "200, but what refers to the image is not listed",
      kSpec);
  if (!complete) stray("referrers", "the list of referrers is not what it should be", kSpec);
  if (type != oci::kOciIndex) {
    stray("referrers-type", fmt::format("the Content-Type of referrers is '{}'", type), kSpec);
  }
  const oci::Call filtered = call(oci::Step::referrers, http::Method::get, repository_,
                                  tail + "?artifactType=application%2Fvnd.example.other", oci::Right::pull);
  const auto other = co_await ask(filtered);
  const bool applied = other && other->status == 200 &&
                       other->head->headers.list_contains("OCI-Filters-Applied", "artifactType");
  say("referrers-filter", applied ? "yes" : "no",
      applied ? "OCI-Filters-Applied: artifactType" : "not applied: clients filter", "end-12b");
  if (applied && lists(oci::parse_manifest(text_.text(), oci::kOciIndex))) {
    stray("referrers-filter", "a filter that is said to be applied is not", "end-12b");
  }
  witness_.forget();
}

// --- clean-up

net::Task<void> Doctor::remove_all() {
  if (result_.plain_push) {
    const auto tag = co_await client_.delete_tag(repository_, "b");
    tell_delete("delete-tag", tag, "end-9");
    if (tag && *tag == 202) {
      if (auto there = co_await client_.head_manifest(repository_, "b"); there)
        stray("deleted-still-there", "a tag that was deleted is still served", "end-9");
      if (auto kept = co_await client_.head_manifest(repository_, "a"); !kept)
        stray("delete-tag", "with a tag its manifest went as well, and other tags of it", "end-9");
    }
    co_await remove_manifests();
  }
  co_await remove_blobs();
  witness_.forget();
}

// Those that refer to others go first.
net::Task<void> Doctor::remove_manifests() {
  for (const oci::Digest& digest : manifests_ | std::views::reverse) {
    const auto status = co_await client_.delete_manifest(repository_, digest);
    if (digest != manifest_) continue;
    tell_delete("delete-manifest", status, "end-9");
    if (status && *status == 202) {
      if (auto there = co_await client_.head_manifest(repository_, "a"); there)
        stray("deleted-still-there", "a manifest that was deleted is still served", "end-9");
      continue;
    }
    // Where manifests stay, at least the tag may go.
    const auto tag = co_await client_.delete_tag(repository_, "a");
    if (!tag || *tag != 202) ++*target_.left_behind;
  }
}

net::Task<void> Doctor::remove_blobs() {
  for (std::size_t i = 0; i < blobs_.size(); ++i) {
    const auto blob = co_await client_.delete_blob(repository_, blobs_[i]);
    if (i == 0) {
      tell_delete("delete-blob", blob, "end-10");
      if (blob && *blob == 202) {
        if (auto there = co_await client_.head_blob(repository_, blobs_[i], oci::BlobRole::layer); there)
          stray("deleted-still-there", "a blob that was deleted is still served", "end-10");
      }
    }
    if (!blob || is_refusal(*blob)) break;
  }
  for (const oci::Digest& digest : other_blobs_) {
    const auto blob = co_await client_.delete_blob(other_, digest);
    if (!blob || is_refusal(*blob)) break;
  }
}

void Doctor::tell_delete(std::string id, const Result<int>& status, const std::string& spec) {
  const bool yes = status && *status == 202;
  std::string evidence = status ? fmt::format("{}", *status) : why(status.error());
  if (status && is_refusal(*status)) evidence += ": deletes of this kind are switched off";
  if (status && !yes && !is_refusal(*status)) stray(id, fmt::format("{} answers {}", id, *status), spec);
  if (!status) stray(id, fmt::format("{}: {}", id, evidence), spec);
  say(std::move(id), yes ? "yes" : "no", std::move(evidence), spec);
}

}  // namespace plimsoll::workload
