#include "server/site.h"

#include <algorithm>

namespace plimsoll::server {

void Site::add_files(std::unique_ptr<StaticFiles> files) {
  files_.push_back(std::move(files));
  std::ranges::sort(files_, std::ranges::greater{}, [](const auto& entry) { return entry->prefix().size(); });
}

void Site::answer_metrics(http::Call& call) {
  if (call.request.method != http::Method::get && call.request.method != http::Method::head) {
    call.answer.status = 405;
    call.answer.add("Allow", "GET, HEAD");
    return;
  }
  call.answer.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  call.answer.body = http::Payload::of_text(metrics_.text(store_, sessions_));
}

net::Task<void> Site::handle(http::Call& call) {
  const std::string_view path = call.request.path;
  if (path.starts_with("/v2/") || path == "/v2") co_return co_await registry_.handle(call);
  if (path == "/metrics") co_return answer_metrics(call);
  if (path == "/token" && token_service_ != nullptr) co_return co_await token_service_->handle(call);
  for (const auto& files : files_) {
    if (files->covers(path)) co_return co_await files->handle(call);
  }
  if (path == "*" && call.request.method == http::Method::options) {
    call.answer.status = 204;
    co_return;
  }
  call.answer.status = 404;
  call.answer.add("Content-Type", "text/plain; charset=utf-8");
  call.answer.body = http::Payload::of_static("not found: the registry is below /v2/\n");
}

}  // namespace plimsoll::server
