// What the source files of the doctor share. For them only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oci/authenticator.h"
#include "oci/image.h"
#include "oci/registry_client.h"
#include "oci/request_path.h"
#include "workload/doctor.h"

namespace plimsoll::workload {

// Remembers the statuses of each step and what was noted, to tell how an answer came about.
class Witness final : public oci::StepObserver {
 public:
  void step(oci::Step step, const oci::StepReport& report) override;
  void note(NoteKind kind, const oci::Detail& detail) override { notes_.emplace_back(kind, detail); }

  void forget();
  // The status of the first request of that kind; 0 where there was none.
  int first(oci::Step step) const;
  bool saw(oci::Step step, int status) const;
  // What asking for a token took, the last time; zero where nobody asked.
  Nanos token_time() const { return token_time_; }
  const std::vector<std::pair<NoteKind, oci::Detail>>& notes() const { return notes_; }

 private:
  std::map<oci::Step, std::vector<int>> statuses_;
  std::vector<std::pair<NoteKind, oci::Detail>> notes_;
  Nanos token_time_{};
};

// Several looks at one question: "yes" where all were good, "partly" where some were, with what was wrong.
class Looks {
 public:
  void good(std::string_view what) { add(good_, what); }
  void bad(std::string_view what) { add(bad_, what); }
  void look(bool is_good, std::string_view what) { is_good ? good(what) : bad(what); }
  bool any() const { return !good_.empty() || !bad_.empty(); }
  std::string supported() const { return bad_.empty() ? "yes" : good_.empty() ? "no" : "partly"; }
  // "on A, B; not on C"; `none` where nothing was bad or good.
  std::string evidence(std::string_view prefix_good, std::string_view prefix_bad) const;

 private:
  static void add(std::string& list, std::string_view what) {
    if (!list.empty()) list += ", ";
    list += what;
  }
  std::string good_;
  std::string bad_;
};

class Doctor {
 public:
  Doctor(net::Loop& loop, const RegistryTarget& target, const ExaminationOptions& options,
         Examination& result);
  net::Task<void> examine();

 private:
  using Push = net::Task<Result<void>> (Doctor::*)(const http::RequestBody&, const oci::Digest&);

  // --- doctor.cc: what all questions need
  void say(std::string id, std::string supported, std::string evidence, std::string spec);
  void say(std::string id, const Looks& looks, std::string_view good, std::string_view bad, std::string spec);
  void stray(std::string id, std::string summary, std::string spec);
  // Notes of the client since the last look are ways in which an answer strayed.
  void take_notes(const std::string& where, const std::string& spec);
  std::string why(const Error& error) const;
  // A request as it is, for what the client's steps do not ask; its answer's body is in text_. What the call points
  // to stays in place meanwhile.
  oci::Call call(oci::Step step, http::Method method, std::string_view repository, std::string_view tail,
                 oci::Right right) const;
  net::Task<Result<oci::Reply>> ask(oci::Call call);
  // "404 MANIFEST_UNKNOWN: ...", or the error.
  std::string answer_of(const Result<oci::Reply>& reply, const oci::Call& asked);
  std::string next_content();

  // --- doctor_connection.cc
  net::Task<void> reach();
  void tell_challenge(const http::Headers& headers);
  void tell_clock(const http::Headers& headers);
  void keep_limits(const http::Headers& headers);
  void tell_limits();
  net::Task<void> time_bare_request();
  net::Task<void> offer_http2();
  net::Task<Result<bool>> speaks_http2(net::Stream& stream);

  // --- doctor_uploads.cc
  net::Task<void> try_uploads();
  net::Task<void> upload(std::string id, std::string spec, Push push, std::string content,
                         oci::DigestAlgorithm algorithm = oci::DigestAlgorithm::sha256);
  net::Task<Result<void>> push_put(const http::RequestBody& body, const oci::Digest& digest);
  net::Task<Result<void>> push_stream(const http::RequestBody& body, const oci::Digest& digest);
  net::Task<Result<void>> push_stream_unsized(const http::RequestBody& body, const oci::Digest& digest);
  net::Task<Result<void>> push_chunks(const http::RequestBody& body, const oci::Digest& digest);
  net::Task<Result<void>> push_post(const http::RequestBody& body, const oci::Digest& digest);
  net::Task<Result<oci::Upload>> open_session();
  net::Task<void> look_at_session();
  net::Task<void> try_chunk_order();
  net::Task<void> try_large_chunk();
  net::Task<void> try_wrong_digest();
  net::Task<void> try_mounts();
  net::Task<void> mount_from(std::string id, std::string from, oci::Digest digest);

  // --- doctor_content.cc
  net::Task<void> push_image();
  net::Task<Result<void>> push_all(const oci::Image& image);
  net::Task<void> push_again();
  // Reading what is there: manifest_, layer_ and their repository; `whole`: the layer itself as well.
  net::Task<void> pull(std::string reference, bool whole);
  net::Task<void> try_types();
  net::Task<void> try_type(std::string id, std::string spec, std::string media_type, std::string body,
                           oci::DigestAlgorithm algorithm = oci::DigestAlgorithm::sha256);
  // Finds an image to read in a registry that must not be changed.
  net::Task<bool> find_image(std::string& reference);
  net::Task<std::string> first_repository();

  // --- doctor_answers.cc
  net::Task<void> look_at_heads(std::string reference);
  net::Task<void> look_at_ranges();
  net::Task<void> look_at_absence();

  // --- doctor_lists.cc
  net::Task<void> list_catalog();
  net::Task<void> list_tags();
  net::Task<void> ask_referrers();
  net::Task<bool> push_referrer();
  net::Task<void> remove_all();
  net::Task<void> remove_manifests();
  net::Task<void> remove_blobs();
  void tell_delete(std::string id, const Result<int>& status, const std::string& spec);

  net::Loop& loop_;
  const RegistryTarget& target_;
  const ExaminationOptions& options_;
  std::unique_ptr<oci::Connectors> connectors_;
  oci::Authenticator authenticator_;
  Witness witness_;
  oci::RegistryClient client_;
  oci::RequestPath path_;  // beside the client, for questions of our own
  oci::TextSink text_;
  Examination& result_;

  std::string repository_;  // of the image; in read-only mode one that was found
  std::string other_;       // that blobs are mounted into
  int contents_ = 0;
  std::uint64_t chunk_minimum_ = 0;
  std::string limits_;  // rate-limit fields, "name: value"

  std::string manifest_text_;
  std::string manifest_type_;
  oci::Digest manifest_;
  std::string config_text_;
  oci::Digest config_;
  oci::Descriptor layer_;
  std::string layer_text_;
  std::string referrer_type_ = "application/vnd.example.plimsoll";
  oci::Digest referrer_;
  bool has_referrer_ = false;

  // To be removed: manifests in the order of their pushing, blobs of both repositories.
  std::vector<oci::Digest> manifests_;
  std::vector<oci::Digest> blobs_;
  std::vector<oci::Digest> other_blobs_;
};

}  // namespace plimsoll::workload
