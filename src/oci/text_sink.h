// Takes the body of an answer: as text within a bound, or through a digest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"
#include "oci/digest.h"
#include "oci/spec_error.h"

namespace plimsoll::oci {

// A sink that can start anew, since one request may take several exchanges (a challenge, a redirect, a retry).
class AnswerSink : public http::BodySink {
 public:
  virtual void begin() = 0;
  // The body, or its beginning.
  virtual std::string_view text() const = 0;
};

class TextSink final : public AnswerSink {
 public:
  explicit TextSink(std::size_t limit) : limit_(limit) {}
  void begin() override { begin(limit_); }
  void begin(std::size_t limit) {
    limit_ = limit;
    text_.clear();
    overflowed_ = false;
  }
  void data(std::string_view bytes) override {
    const std::size_t room = limit_ - text_.size();
    overflowed_ = overflowed_ || bytes.size() > room;
    text_.append(bytes.substr(0, room));
  }
  std::string_view text() const override { return text_; }
  // The body was longer than the limit.
  bool overflowed() const { return overflowed_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::size_t limit_;
  bool overflowed_ = false;
};

// Hashes what streams by, and keeps its beginning for the case that it is an error's text.
class DigestSink final : public AnswerSink {
 public:
  explicit DigestSink(const Digest& wanted) : wanted_(wanted), verifier_(wanted) {}
  void begin() override {
    verifier_ = DigestVerifier(wanted_);
    start_.clear();
  }
  void data(std::string_view bytes) override {
    if (start_.size() < kStart) start_.append(bytes.substr(0, kStart - start_.size()));
    verifier_.update(bytes);
  }
  std::string_view text() const override { return start_; }
  bool matches() const { return verifier_.matches(); }

 private:
  static constexpr std::size_t kStart = 1024;

  Digest wanted_;
  DigestVerifier verifier_;
  std::string start_;
};

}  // namespace plimsoll::oci
