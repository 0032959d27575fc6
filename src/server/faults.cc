#include "server/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "server/registry_error.h"
#include "server/route.h"

namespace plimsoll::server {
namespace {

// Holds every character that must come back as it was given.
constexpr std::string_view kState = "_state=a%2Bb%3D%3D";

std::string route_of(std::string_view path) {
  if (path == "/token") return "token";
  if (path.starts_with("/v2")) {
    const auto route = find_route(path);
    return route ? std::string(name(route->resource)) : std::string();
  }
  return "files";
}

void replace_field(http::ServerAnswer& answer, std::string_view name, std::string_view value) {
  answer.remove(name);
  answer.add(name, value);
}

void bend_range(http::Call& call, const std::string& form) {
  http::ServerAnswer& answer = call.answer;
  const auto range = answer.find("Range");
  if (!range) return;
  const auto last = parse_u64(range->substr(range->find('-') + 1)).value_or(0);
  if (form == "missing") {
    answer.remove("Range");
  } else if (form == "bytes") {
    replace_field(answer, "Range", fmt::format("bytes=0-{}", last));
  } else if (form == "off_by_one") {
    replace_field(answer, "Range", fmt::format("0-{}", last + 1));
  } else if (form == "stuck" || form == "zero") {
    replace_field(answer, "Range", "0-0");
  } else if (form == "last_chunk") {
    const auto length = call.request.content_length.value_or(0);
    replace_field(answer, "Range", length == 0 ? std::string("0--1") : fmt::format("0-{}", length - 1));
  }
}

void bend_challenge(http::ServerAnswer& answer, const std::string& form) {
  const auto found = answer.find("WWW-Authenticate");
  if (!found) return;
  std::string challenge(*found);
  answer.remove("WWW-Authenticate");
  if (form == "missing") return;
  if (form == "unquoted") std::erase(challenge, '"');
  if (form == "lowercase") challenge[0] = to_lower(challenge[0]);
  if (form == "no_scope") {
    const auto scope = challenge.find(",scope=");
    if (scope != std::string::npos) challenge.erase(scope, challenge.find('"', scope + 8) + 1 - scope);
  }
  if (form == "two_fields") answer.add("WWW-Authenticate", "Basic realm=\"other, \\\"quoted\\\"\"");
  if (form == "negotiate") answer.add("WWW-Authenticate", "Negotiate");
  if (form == "one_field") challenge = "Basic realm=\"other, one\", " + challenge;
  answer.add("WWW-Authenticate", challenge);
}

void bend_digest(http::ServerAnswer& answer, const std::string& form) {
  constexpr std::string_view kField = "Docker-Content-Digest";
  if (!answer.find(kField)) return;
  answer.remove(kField);
  if (form == "wrong") answer.add(kField, "sha256:" + std::string(64, '0'));
  if (form == "sha512")
    answer.add(kField, oci::Digest::of(answer.body.bytes, oci::DigestAlgorithm::sha512).text());
}

void bend_link(http::Call& call, const std::string& form) {
  http::ServerAnswer& answer = call.answer;
  const auto found = answer.find("Link");
  if (!found) return;
  const std::string link(*found);
  answer.remove("Link");
  const auto target = link.substr(1, link.find('>') - 1);
  const auto origin = fmt::format("{}://{}", call.secure ? "https" : "http", call.request.authority);
  if (form == "absolute") answer.add("Link", fmt::format("<{}{}>; rel=\"next\"", origin, target));
  if (form == "unquoted") answer.add("Link", fmt::format("<{}>; rel=next", target));
  if (form == "several") {
    answer.add("Link",
               fmt::format("</v2/>; rel=\"first\", <{}>; title=\"a, b\"; rel=\"prefetch next\"", target));
  }
}

void bend_token(http::ServerAnswer& answer, const std::string& form) {
  std::string body(answer.body.bytes);
  const auto cut = [&](std::string_view key, std::string_view replacement) {
    const auto begin = body.find(fmt::format("\"{}\":", key));
    if (begin == std::string::npos) return;
    const auto end = body.find_first_of(",}", begin);
    body.replace(begin, end + 1 - begin, replacement);
  };
  if (form == "token") cut("access_token", "");
  if (form == "access_token") cut("token", "");
  if (form == "no_expiry") cut("expires_in", "");
  if (form == "zero_expiry") cut("expires_in", "\"expires_in\":0,");
  if (form == "text_expiry") cut("expires_in", "\"expires_in\":\"300\",");
  answer.body = http::Payload::of_text(std::move(body));
}

void set_delivery(http::Call& call, const FaultRule& fault) {
  http::ServerAnswer& answer = call.answer;
  if (fault.close_after > 0 && call.request_index + 1 >= fault.close_after) answer.close = true;
  if (!fault.chunked && !fault.no_length && !fault.http10 && !fault.stop_after && !fault.reset &&
      fault.rate == 0)
    return;
  auto delivery = std::make_unique<http::Delivery>();
  using Framing = http::Delivery::Framing;
  if (fault.chunked) delivery->framing = Framing::chunked;
  if (fault.no_length && call.request.method != http::Method::head) delivery->framing = Framing::until_close;
  delivery->no_length = fault.no_length;
  delivery->chunk = fault.chunk;
  delivery->trailers = fault.trailers;
  delivery->http10 = fault.http10;
  delivery->stop_after = fault.stop_after;
  delivery->reset = fault.reset;
  delivery->bytes_per_second = fault.rate;
  if (fault.http10) answer.close = true;
  answer.delivery = std::move(delivery);
}

// Later rules win; lists add up.
void merge(FaultRule& into, const FaultRule& rule) {
  const auto take = [](auto& target, const auto& source, bool given) {
    if (given) target = source;
  };
  take(into.latency, rule.latency, rule.latency.has_value());
  take(into.freeze, rule.freeze, rule.freeze.count() > 0);
  take(into.freeze_period, rule.freeze_period, rule.freeze.count() > 0);
  into.mount_miss |= rule.mount_miss;
  into.reject_authorization |= rule.reject_authorization;
  take(into.page, rule.page, rule.page.has_value());
  take(into.status, rule.status, rule.status.has_value());
  take(into.as_status, rule.as_status, rule.as_status.has_value());
  for (std::string FaultRule::* field :
       {&FaultRule::redirect, &FaultRule::body, &FaultRule::retry_after, &FaultRule::location,
        &FaultRule::range, &FaultRule::challenge, &FaultRule::digest, &FaultRule::link, &FaultRule::token}) {
    take(into.*field, rule.*field, !(rule.*field).empty());
  }
  into.headers.insert(into.headers.end(), rule.headers.begin(), rule.headers.end());
  into.without.insert(into.without.end(), rule.without.begin(), rule.without.end());
  take(into.chunk, rule.chunk, rule.chunked);
  into.trailers += rule.trailers;
  into.chunked |= rule.chunked;
  into.no_length |= rule.no_length;
  into.http10 |= rule.http10;
  into.reset |= rule.reset;
  take(into.stop_after, rule.stop_after, rule.stop_after.has_value());
  take(into.close_after, rule.close_after, rule.close_after > 0);
  take(into.rate, rule.rate, rule.rate > 0);
}

}  // namespace

Faults::Faults(http::Handler& next, const FaultScript& script)
    : next_(next), script_(script), random_(script.seed()), seen_(script.rules().size()) {}

bool Faults::chooses(std::size_t index) {
  const FaultRule& rule = script_.rules()[index];
  const std::lock_guard lock(mutex_);
  const std::uint64_t turn = seen_[index].matched++;
  if (turn < rule.skip || turn - rule.skip >= rule.count) return false;
  if ((turn - rule.skip) % rule.every != 0) return false;
  return rule.share >= 1 || random_.uniform() < rule.share;
}

bool Faults::admit() {
  for (std::size_t i = 0; i < script_.rules().size(); ++i) {
    if (script_.rules()[i].refuse && chooses(i)) return false;
  }
  return true;
}

FaultRule Faults::gather(const http::Call& call, std::string_view route) {
  FaultRule all;
  for (std::size_t i = 0; i < script_.rules().size(); ++i) {
    const FaultRule& rule = script_.rules()[i];
    if (rule.refuse || (!rule.route.empty() && rule.route != route)) continue;
    if (!rule.methods.empty() &&
        std::ranges::find(rule.methods, call.request.method_text) == rule.methods.end())
      continue;
    if (!rule.path.empty() && !call.request.path.contains(rule.path)) continue;
    if (!rule.host.empty() && rule.host != call.request.authority) continue;
    if (chooses(i)) merge(all, rule);
  }
  return all;
}

net::Task<void> Faults::wait(http::Call& call, const FaultRule& fault) {
  Instant due = now();
  if (fault.latency) {
    const std::lock_guard lock(mutex_);
    const Latency& latency = *fault.latency;
    if (latency.other_share > 0 && random_.uniform() < latency.other_share) {
      due += latency.other;
    } else {
      due += latency.low + from_seconds(seconds(latency.high - latency.low) * random_.uniform());
    }
  }
  if (fault.freeze.count() > 0) {
    const Nanos into = (due - start_) % fault.freeze_period;
    if (into < fault.freeze) due += fault.freeze - into;
  }
  while (now() < due && !call.draining) {
    co_await call.loop.sleep_until(std::min(due, now() + std::chrono::milliseconds(50)));
  }
}

net::Task<bool> Faults::answer_instead(http::Call& call, const FaultRule& fault, std::string_view route) {
  http::ServerAnswer& answer = call.answer;
  if (fault.reject_authorization && call.request.headers.contains("Authorization")) {
    write_error(answer, {400, "UNKNOWN", "only one auth mechanism is allowed"});
    co_return true;
  }
  if (!state_is_right(call, fault)) {
    write_error(answer, upload_unknown());
    co_return true;
  }
  const bool reads = call.request.method == http::Method::get || call.request.method == http::Method::head;
  if (!fault.redirect.empty() && reads && route == "blob") {
    answer.status = fault.as_status.value_or(307);
    answer.add("Location", fault.redirect + std::string(call.request.target));
    co_return true;
  }
  if (!fault.status) co_return false;
  if (fault.body.empty() && *fault.status >= 400) {
    write_error(answer,
                {*fault.status, *fault.status == 429 ? "TOOMANYREQUESTS" : "UNKNOWN", "a fault on cue"});
  } else {
    answer.status = *fault.status;
    answer.body = http::Payload::of_text(fault.body);
  }
  co_return true;
}

// With location=query or rotating, an upload's URL is good only with the state that was given last.
bool Faults::state_is_right(const http::Call& call, const FaultRule& fault) {
  if (fault.location != "query" && fault.location != "rotating") return true;
  const auto route = find_route(call.request.path);
  if (!route || route->resource != Resource::upload) return true;
  const std::string_view query = call.request.query.value_or("");
  if (fault.location == "query") return query == kState || query.starts_with(std::string(kState) + "&");
  const std::lock_guard lock(mutex_);
  const std::string wanted = fmt::format("{}.{}", kState, turns_[std::string(call.request.path)]);
  return query == wanted || query.starts_with(wanted + "&");
}

void Faults::bend_location(http::Call& call, const FaultRule& fault) {
  http::ServerAnswer& answer = call.answer;
  const auto found = answer.find("Location");
  if (!found || fault.location.empty()) return;
  const std::string path(*found);
  const std::string& form = fault.location;
  const std::string_view authority = call.request.authority;
  const bool of_upload = path.contains("/blobs/uploads/");
  std::string bent = path;
  if (form == "absolute") bent = fmt::format("{}://{}{}", call.secure ? "https" : "http", authority, path);
  if (form == "https") bent = fmt::format("https://{}{}", authority, path);
  if (form == "network") bent = fmt::format("//{}{}", authority, path);
  if (form.starts_with("http://")) bent = form + path;
  if (form == "relative" || form == "dotted") {
    // Relative to the request's own directory: .../blobs/uploads/.
    const auto slash = call.request.path.find_last_of('/');
    const auto directory = call.request.path.substr(0, slash + 1);
    if (path.starts_with(directory)) bent = path.substr(directory.size());
    if (form == "dotted" && path.starts_with(directory)) {
      const auto parent = directory.substr(0, directory.size() - 1);
      bent = fmt::format("../{}/{}", parent.substr(parent.find_last_of('/') + 1), bent);
    }
  }
  if (form == "query" && of_upload) bent = fmt::format("{}?{}", path, kState);
  if (form == "rotating" && of_upload) {
    const std::lock_guard lock(mutex_);
    bent = fmt::format("{}?{}.{}", path, kState, ++turns_[path]);
  }
  answer.remove("Location");
  if (form != "missing") answer.add("Location", form == "empty" ? std::string() : bent);
}

net::Task<void> Faults::answer_through(http::Call& call, const FaultRule& fault, std::string_view route) {
  // The registry sees the request as the rule wants it seen.
  http::RequestHead request = call.request;
  std::string query;
  if (fault.mount_miss && route == "upload_start") request.query = std::nullopt;
  if (fault.page && (route == "tags" || route == "catalog")) {
    const Query given(request.query);
    const auto n = parse_u64(given.find("n").value_or("")).value_or(*fault.page);
    query = fmt::format("n={}", std::min(n, *fault.page));
    if (const auto last = given.find("last")) query += "&last=" + percent_encode(*last);
    request.query = query;
  }
  http::Call seen{.request = request,
                  .body = call.body,
                  .answer = call.answer,
                  .loop = call.loop,
                  .peer = call.peer,
                  .draining = call.draining,
                  .secure = call.secure,
                  .connection = call.connection,
                  .request_index = call.request_index};
  co_await next_.handle(seen);
  call.user = seen.user;
}

net::Task<void> Faults::handle(http::Call& call) {
  const std::string route = route_of(call.request.path);
  const FaultRule fault = gather(call, route);
  co_await wait(call, fault);
  http::ServerAnswer& answer = call.answer;
  const bool instead = co_await answer_instead(call, fault, route);
  if (!instead) {
    co_await answer_through(call, fault, route);
    if (fault.as_status) answer.status = *fault.as_status;
    bend_location(call, fault);
    bend_range(call, fault.range);
    if (!fault.challenge.empty()) bend_challenge(answer, fault.challenge);
    if (!fault.digest.empty()) bend_digest(answer, fault.digest);
    if (!fault.link.empty()) bend_link(call, fault.link);
    if (!fault.token.empty() && route == "token") bend_token(answer, fault.token);
  }
  for (const auto& name : fault.without) answer.remove(name);
  for (const auto& [name, value] : fault.headers) answer.add(name, value);
  if (fault.retry_after.starts_with("date:")) {
    const auto delay = parse_u64(std::string_view(fault.retry_after).substr(5)).value_or(0);
    answer.add("Retry-After", http::http_date(std::time(nullptr) + static_cast<std::int64_t>(delay)));
  } else if (!fault.retry_after.empty()) {
    answer.add("Retry-After", fault.retry_after);
  }
  set_delivery(call, fault);
}

}  // namespace plimsoll::server
