// What answers about an image say of themselves: digests, lengths, ranges, and that something is not there.
#include <fmt/format.h>

#include <utility>

#include "oci/media_types.h"
#include "workload/doctor_state.h"

namespace plimsoll::workload {

// Docker-Content-Digest, Content-Length and Content-Type of every way to ask for what is there.
net::Task<void> Doctor::look_at_heads(std::string reference) {
  struct Question {
    const char* what;
    oci::Step step;
    http::Method method;
    std::string tail;
    oci::Digest digest;
    std::uint64_t size;
  };
  const std::string manifest = fmt::format("manifests/{}", reference);
  const std::string config = fmt::format("blobs/{}", config_.text());
  const Question questions[] = {
      {"manifest HEAD", oci::Step::manifest_head, http::Method::head, manifest, manifest_,
       manifest_text_.size()},
      {"manifest GET", oci::Step::manifest_get, http::Method::get, manifest, manifest_,
       manifest_text_.size()},
      {"blob HEAD", oci::Step::config_head, http::Method::head, config, config_, config_text_.size()},
      {"blob GET", oci::Step::config_get, http::Method::get, config, config_, config_text_.size()}};
  Looks answers;
  Looks digests;
  Looks lengths;
  for (const Question& question : questions) {
    oci::Call asked = call(question.step, question.method, repository_, question.tail, oci::Right::pull);
    asked.accept = question.digest == manifest_ ? oci::kAcceptManifests : std::string_view();
    if (question.method == http::Method::head) asked.follow = oci::Follow::none;
    const auto reply = co_await ask(asked);
    const bool moved = reply && reply->status >= 301 && reply->status <= 308;
    if (question.method == http::Method::head)
      answers.look(reply && (reply->status == 200 || moved), question.what);
    if (!reply || reply->status != 200) continue;
    keep_limits(reply->head->headers);
    const auto told = reply->header("Docker-Content-Digest");
    const auto digest = oci::Digest::parse(told);
    digests.look(!told.empty(), question.what);
    if (digest && digest->algorithm() == question.digest.algorithm() && *digest != question.digest) {
      stray("digest-header-wrong",
            fmt::format("{}: Docker-Content-Digest is {}, and the content's digest {}", question.what, told,
                        question.digest.text()),
            "end-2, end-3");
    }
    lengths.look(reply->head->content_length == question.size, question.what);
  }
  say("head", answers, "", "not: ", "end-2, end-3");
  say("digest-header", digests, "Docker-Content-Digest on ", "not on ", "end-2, end-3");
  say("content-length", lengths, "right on ", "missing or wrong on ", "end-2, end-3");

  const oci::Call plain =
      call(oci::Step::manifest_get, http::Method::get, repository_, manifest, oci::Right::pull);
  const auto reply = co_await ask(plain);
  const bool given = reply && reply->status == 200 && text_.text() == manifest_text_;
  say("manifest-without-accept", given ? "yes" : "no",
      given ? "200, the same bytes"
      : reply && reply->status == 200
          ? fmt::format("200, another manifest: {}", reply->header("Content-Type"))
          : answer_of(reply, plain),
      "end-3: clients SHOULD send Accept");
  witness_.forget();
}

net::Task<void> Doctor::look_at_ranges() {
  constexpr auto kSpec = "end-2; RFC 9110, section 14";
  const std::uint64_t size = layer_.size;
  if (size < 16) co_return;
  struct Part {
    std::string range;
    std::uint64_t first;
    std::uint64_t length;
  };
  const Part parts[] = {{"bytes=2-5", 2, 4},
                        {fmt::format("bytes={}-", size - 6), size - 6, 6},
                        {"bytes=-4", size - 4, 4},
                        {fmt::format("bytes={}-{}", size - 2, size + 100), size - 2, 2}};
  Looks looks;
  bool ignored = false;
  const std::string tail = fmt::format("blobs/{}", layer_.digest.text());
  for (const Part& part : parts) {
    oci::Call get = call(oci::Step::layer_get, http::Method::get, repository_, tail, oci::Right::pull);
    get.range = part.range;
    const auto reply = co_await ask(get);
    ignored = ignored || (reply && reply->status == 200);
    const std::string wanted = fmt::format("bytes {}-{}/", part.first, part.first + part.length - 1);
    bool good = reply && reply->status == 206 && text_.text().size() == part.length;
    good = good && reply->header("Content-Range").starts_with(wanted);
    // In read-only mode the layer itself is not fetched.
    if (good && !layer_text_.empty()) good = text_.text() == layer_text_.substr(part.first, part.length);
    looks.look(good, part.range.substr(6));
    if (reply && reply->status == 206 && !good) {
      stray("range", fmt::format("{} is answered with 206 and other bytes", part.range), kSpec);
    }
  }
  oci::Call beyond = call(oci::Step::layer_get, http::Method::get, repository_, tail, oci::Right::pull);
  const std::string range = fmt::format("bytes={}-", size + 10);
  beyond.range = range;
  const auto reply = co_await ask(beyond);
  looks.look(reply ? reply->status == 416 : reply.error().code == 416, "416 beyond the end");
  if (!reply && reply.error().code == 416) {
    stray("range-body", "the 416 for a range beyond the end has less of a body than it says", kSpec);
  }
  if (ignored) {
    say("ranges", looks.supported(), "ignored: 200 with the whole blob", kSpec);
  } else {
    say("ranges", looks, "", "not: ", kSpec);
  }
  witness_.forget();
}

net::Task<void> Doctor::look_at_absence() {
  const std::string nothing = oci::Digest::of(next_content()).text();
  struct Question {
    const char* what;
    oci::Step step;
    http::Method method;
    std::string tail;
  };
  const Question questions[] = {
      {"blob HEAD", oci::Step::layer_head, http::Method::head, "blobs/" + nothing},
      {"blob GET", oci::Step::layer_get, http::Method::get, "blobs/" + nothing},
      {"manifest HEAD", oci::Step::manifest_head, http::Method::head, "manifests/no-such-tag-of-anybody"},
      {"manifest GET by tag", oci::Step::manifest_get, http::Method::get, "manifests/no-such-tag-of-anybody"},
      {"manifest GET by digest", oci::Step::manifest_get, http::Method::get, "manifests/" + nothing}};
  Looks looks;
  Looks bodies;
  for (const Question& question : questions) {
    oci::Call asked = call(question.step, question.method, repository_, question.tail, oci::Right::pull);
    const auto reply = co_await ask(asked);
    const bool absent = reply && reply->status == 404;
    looks.look(absent, question.what);
    if (!absent) {
      stray("absent-is-404",
            fmt::format("{} of what is not there answers {}", question.what, answer_of(reply, asked)),
            "end-2, end-3");
    } else if (question.method == http::Method::get) {
      const oci::SpecError error = oci::parse_spec_error(text_.text());
      bodies.look(error.standard, fmt::format("{} {}", question.what, error.code));
    }
  }
  say("absent-is-404", looks, "", "not: ", "end-2, end-3");
  if (bodies.any()) say("error-codes", bodies, "", "no list of errors: ", "Error Codes");
  witness_.forget();
}

}  // namespace plimsoll::workload
