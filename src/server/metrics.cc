#include "server/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace plimsoll::server {
namespace {

void append_figure(std::string& out, std::string_view name, std::string_view kind, std::string_view help,
                   std::uint64_t value) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, kind, help,
                 value);
}

std::uint64_t read(const std::atomic<std::uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t value = 1) {
  counter.fetch_add(value, std::memory_order_relaxed);
}

}  // namespace

void Metrics::served(const http::Served& served) {
  std::size_t kind = kResources;
  if (served.call.request.path.starts_with("/v2")) {
    if (const auto route = find_route(served.call.request.path))
      kind = static_cast<std::size_t>(route->resource);
  }
  const auto status = static_cast<std::size_t>(std::clamp(served.call.answer.status, 100, 599));
  const auto method =
      std::min<std::size_t>(static_cast<std::size_t>(served.call.request.method), kMethods - 1);
  add(classes_[kind][method][status / 100 - 1]);
  add(statuses_[status]);
  const double took = seconds(served.duration);
  add(durations_[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, took) - kBounds.begin())]);
  add(duration_nanos_, static_cast<std::uint64_t>(served.duration.count()));
  add(received_, served.body_received);
  add(sent_, served.body_sent);
  if (!served.complete) add(incomplete_);
}

void Metrics::malformed(int /*status*/) {
  add(malformed_);
}

void Metrics::append_requests(std::string& out) const {
  out += "# HELP plimsoll_requests_total Requests answered.\n# TYPE plimsoll_requests_total counter\n";
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (std::size_t method = 0; method < kMethods; ++method) {
      for (std::size_t status = 0; status < 5; ++status) {
        const auto count = read(classes_[kind][method][status]);
        if (count == 0) continue;
        const auto verb = http::name(static_cast<http::Method>(method));
        fmt::format_to(std::back_inserter(out),
                       "plimsoll_requests_total{{resource=\"{}\",method=\"{}\",class=\"{}xx\"}} {}\n",
                       kind < kResources ? name(static_cast<Resource>(kind)) : "other",
                       verb.empty() ? "other" : verb, status + 1, count);
      }
    }
  }
  out += "# HELP plimsoll_responses_total Answers by status.\n# TYPE plimsoll_responses_total counter\n";
  for (std::size_t status = 0; status < kStatuses; ++status) {
    if (const auto count = read(statuses_[status]); count > 0) {
      fmt::format_to(std::back_inserter(out), "plimsoll_responses_total{{status=\"{}\"}} {}\n", status,
                     count);
    }
  }
}

void Metrics::append_durations(std::string& out) const {
  out +=
      "# HELP plimsoll_request_seconds From the complete head to the last byte of the answer.\n"
      "# TYPE plimsoll_request_seconds histogram\n";
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    count += read(durations_[i]);
    fmt::format_to(std::back_inserter(out), "plimsoll_request_seconds_bucket{{le=\"{}\"}} {}\n", kBounds[i],
                   count);
  }
  count += read(durations_[kBounds.size()]);
  fmt::format_to(std::back_inserter(out),
                 "plimsoll_request_seconds_bucket{{le=\"+Inf\"}} {0}\nplimsoll_request_seconds_sum {1}\n"
                 "plimsoll_request_seconds_count {0}\n",
                 count, static_cast<double>(read(duration_nanos_)) * 1e-9);
}

void Metrics::append_sync(std::string& out) const {
  append_figure(out, "plimsoll_sync_lookups_total", "counter", "Manifests asked for upstream.",
                read(sync_->lookups));
  append_figure(out, "plimsoll_sync_images_total", "counter", "Manifests copied with all they refer to.",
                read(sync_->images));
  append_figure(out, "plimsoll_sync_blobs_total", "counter", "Blobs fetched upstream.", read(sync_->blobs));
  append_figure(out, "plimsoll_sync_bytes_total", "counter", "Bytes of these.", read(sync_->bytes));
  append_figure(out, "plimsoll_sync_failures_total", "counter", "Lookups and copies that failed.",
                read(sync_->failures));
}

std::string Metrics::text(const Store& store, const UploadSessions& sessions) const {
  std::string out;
  append_requests(out);
  append_durations(out);
  append_figure(out, "plimsoll_received_body_bytes_total", "counter", "Bytes of request bodies.",
                read(received_));
  append_figure(out, "plimsoll_sent_body_bytes_total", "counter", "Bytes of answers' bodies.", read(sent_));
  append_figure(out, "plimsoll_connections_total", "counter", "Connections accepted.", read(opened_));
  append_figure(out, "plimsoll_connections", "gauge", "Connections open now.", read(opened_) - read(closed_));
  append_figure(out, "plimsoll_incomplete_total", "counter", "Answers that were not sent whole.",
                read(incomplete_));
  append_figure(out, "plimsoll_malformed_total", "counter",
                "Connections ended for bytes that were no request.", read(malformed_));
  const auto [contents, bytes] = store.totals();
  append_figure(out, "plimsoll_contents", "gauge", "Distinct blobs and manifests stored.", contents);
  append_figure(out, "plimsoll_content_bytes", "gauge", "Bytes of them.", bytes);
  append_figure(out, "plimsoll_upload_sessions", "gauge", "Upload sessions open.", sessions.size());
  if (sync_ != nullptr) append_sync(out);
  if (const auto memory = store.memory()) {
    append_figure(out, "plimsoll_memory_used_bytes", "gauge", "Bytes held in memory, uploads included.",
                  memory->first);
    append_figure(out, "plimsoll_memory_limit_bytes", "gauge", "The limit of that.", memory->second);
  }
  return out;
}

}  // namespace plimsoll::server
