// What one server answers, by path: the registry below /v2/, /metrics, the token service, then directories of files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/server.h"
#include "server/metrics.h"
#include "server/registry.h"
#include "server/static_files.h"

namespace plimsoll::server {

class Site final : public http::Handler {
 public:
  // `registry`: what answers /v2/: the registry, or what stands before it. All outlive the site.
  Site(http::Handler& registry, Metrics& metrics, const Store& store, const UploadSessions& sessions)
      : registry_(registry), metrics_(metrics), store_(store), sessions_(sessions) {}

  void add_files(std::unique_ptr<StaticFiles> files);
  void set_token_service(http::Handler* service) { token_service_ = service; }

  net::Task<void> handle(http::Call& call) override;

 private:
  void answer_metrics(http::Call& call);

  http::Handler& registry_;
  Metrics& metrics_;
  const Store& store_;
  const UploadSessions& sessions_;
  http::Handler* token_service_ = nullptr;
  std::vector<std::unique_ptr<StaticFiles>> files_;  // longest prefix first
};

// Tells several.
class Observers final : public http::Observer {
 public:
  void add(http::Observer& observer) { all_.push_back(&observer); }
  void served(const http::Served& served) override {
    for (auto* observer : all_) observer->served(served);
  }
  void connected() override {
    for (auto* observer : all_) observer->connected();
  }
  void disconnected() override {
    for (auto* observer : all_) observer->disconnected();
  }
  void malformed(int status) override {
    for (auto* observer : all_) observer->malformed(status);
  }

 private:
  std::vector<http::Observer*> all_;
};

}  // namespace plimsoll::server
