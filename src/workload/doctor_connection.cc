// Whether there is a registry, how it is spoken to, and who may.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "http/client.h"
#include "oci/challenge.h"
#include "oci/retry_after.h"
#include "workload/doctor_state.h"

namespace plimsoll::workload {
namespace {

constexpr int kBareRequests = 11;
constexpr std::int64_t kSkewAllowed = 5;  // seconds
constexpr Nanos kPatience = std::chrono::seconds(5);
// The client's connection preface and an empty SETTINGS frame (RFC 9113, sections 3.4 and 6.5).
constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr std::size_t kFrameHead = 9;

std::string scheme_text(const oci::Challenge& challenge, Nanos token_time) {
  if (challenge.scheme == "basic") return "Basic";
  const auto realm = http::parse_url(challenge.parameter("realm"));
  std::string text =
      fmt::format("Bearer, tokens from {}", realm ? realm->origin() + std::string(realm->path())
                                                  : std::string(challenge.parameter("realm")));
  if (const auto service = challenge.parameter("service"); !service.empty()) {
    text += fmt::format(", service {}", service);
  }
  if (token_time > Nanos{}) text += fmt::format(", in {:.1f} ms", seconds(token_time) * 1e3);
  return text;
}

}  // namespace

net::Task<void> Doctor::reach() {
  auto ping = co_await client_.ping();
  say("reachable", ping ? "yes" : "no",
      ping ? fmt::format("GET /v2/ answers {}", client_.last_status()) : why(ping.error()), "end-1");
  if (!client_.server().empty()) say("server", "yes", client_.server(), "");

  // Once more as somebody whom the registry has never seen.
  http::Client stranger(loop_, connectors_->to(target_.options.base, oci::Part::registry),
                        {.connect_patience = {.idle = target_.options.timeout}}, nullptr);
  const std::string authority = target_.options.base.authority();
  const std::vector<http::HeaderView> headers = {{"User-Agent", target_.options.user_agent}};
  http::Request request;
  request.target = path_.ping_url().target;
  request.authority = authority;
  request.headers = headers;
  const auto answer = co_await stranger.exchange(request, nullptr, {.idle = target_.options.timeout});
  if (answer) {
    const http::ResponseHead& head = *answer->head;
    say("http-1.1", head.minor_version >= 1 ? "yes" : "no",
        fmt::format("HTTP/1.{}, {}", head.minor_version,
                    head.keep_alive ? "connections are kept" : "each connection serves one request"),
        "RFC 9112");
    result_.tls = stranger.tls_description();
    if (head.status == 401) {
      tell_challenge(head.headers);
    } else {
      say("authentication", "no", fmt::format("none is asked for: {} without credentials", head.status),
          "end-1");
    }
    tell_clock(head.headers);
    keep_limits(head.headers);
  }
  co_await offer_http2();
  co_await time_bare_request();
  witness_.forget();
}

void Doctor::tell_challenge(const http::Headers& headers) {
  const auto fields = headers.find_all("WWW-Authenticate");
  if (fields.empty()) {
    stray("challenge-missing", "a 401 that doesn't say what it asks for (no WWW-Authenticate)",
          "RFC 9110, section 11.6.1");
  }
  const auto challenges = oci::parse_challenges(fields);
  const oci::Challenge* chosen = oci::choose_challenge(challenges);
  const bool let_in = witness_.saw(oci::Step::ping, 200);
  say("authentication", chosen != nullptr ? "yes" : "no",
      fmt::format(
          "{}; {}",
          chosen != nullptr ? scheme_text(*chosen, witness_.token_time()) : "neither Basic nor Bearer",
          let_in ? "we are let in" : "we are not let in"),
      "end-1");
}

void Doctor::tell_clock(const http::Headers& headers) {
  const auto date = headers.find("Date");
  const auto theirs = date ? oci::parse_http_date(*date) : std::nullopt;
  if (!theirs) {
    say("clock", "unknown", date ? fmt::format("Date: {}", *date) : "no Date", "RFC 9110, section 6.6.1");
    return;
  }
  const std::int64_t skew = *theirs - static_cast<std::int64_t>(std::time(nullptr));
  const bool close = std::abs(skew) <= kSkewAllowed;
  say("clock", close ? "yes" : "no",
      skew == 0 ? std::string("agrees with ours") : fmt::format("{:+} s from ours", skew),
      "RFC 9110, section 6.6.1");
  if (!close) {
    stray("clock-skew",
          fmt::format("the registry's clock is {} s {} ours: tokens and signed URLs may be refused",
                      std::abs(skew), skew > 0 ? "ahead of" : "behind"),
          "RFC 9110, section 6.6.1");
  }
}

void Doctor::keep_limits(const http::Headers& headers) {
  for (const http::HeaderView& field : headers) {
    const std::string name = to_lower(field.name);
    if (name.find("ratelimit") == std::string::npos && name != "retry-after") continue;
    const std::string line = fmt::format("{}: {}", name, field.value);
    // The last value of each: what is left goes down.
    const auto at = limits_.find(name + ":");
    if (at != std::string::npos) {
      limits_.replace(at, limits_.find(", ", at) - at, line);
    } else {
      limits_.append(limits_.empty() ? "" : ", ").append(line);
    }
  }
}

void Doctor::tell_limits() {
  say("rate-limits", limits_.empty() ? "no" : "yes", limits_.empty() ? "no field speaks of any" : limits_,
      "not in the spec: RateLimit fields");
}

net::Task<void> Doctor::time_bare_request() {
  std::vector<double> times;
  for (int i = 0; i < kBareRequests; ++i) {
    const Instant start = now();
    if (auto again = co_await client_.ping(); !again) break;
    times.push_back(seconds(now() - start));
  }
  if (times.empty()) co_return;
  std::ranges::sort(times);
  say("bare-request", "yes",
      fmt::format("GET /v2/: median of {} {:.3f} ms, from {:.3f} to {:.3f} ms", times.size(),
                  times[times.size() / 2] * 1e3, times.front() * 1e3, times.back() * 1e3),
      "end-1");
}

net::Task<void> Doctor::offer_http2() {
  constexpr auto kId = "http-2";
  constexpr auto kSpec = "RFC 9113, section 3";
  if (options_.offering_http2 == nullptr) co_return;
  auto connector = options_.offering_http2->connector(target_.options.base, 0);
  if (!connector) co_return;
  auto opened = co_await (*connector)->open(loop_, {.idle = std::min(kPatience, target_.options.timeout)});
  if (!opened) {
    say(kId, "unknown", describe(opened.error()), kSpec);
    co_return;
  }
  net::Stream& stream = *opened->stream;
  const bool secure = target_.options.base.secure();
  if (secure && stream.alpn() != "h2") {
    say(kId, "no",
        stream.alpn().empty() ? "offered by ALPN, and no protocol was chosen"
                              : fmt::format("offered by ALPN, and {} was chosen", stream.alpn()),
        kSpec);
    co_return;
  }
  const auto speaks = co_await speaks_http2(stream);
  const bool yes = speaks && *speaks;
  say(kId, yes ? "yes" : "no",
      fmt::format("{}{}", secure ? "ALPN chose h2" : "asked in clear, by prior knowledge",
                  yes       ? ": it answers with SETTINGS"
                  : !speaks ? ": " + describe(speaks.error())
                            : ": it answers in another protocol"),
      kSpec);
  if (secure && !yes) stray("alpn-without-http-2", "ALPN chose h2, and h2 was not spoken then", kSpec);
}

net::Task<Result<bool>> Doctor::speaks_http2(net::Stream& stream) {
  const net::Patience patience{.idle = std::min(kPatience, target_.options.timeout)};
  if (auto sent = co_await stream.send(kPreface, {}, patience); !sent) co_return sent.error();
  std::string answer;
  while (answer.size() < kFrameHead) {
    const auto piece = co_await stream.receive(patience);
    if (!piece) co_return piece.error();
    if (piece->empty()) co_return false;
    answer.append(*piece);
  }
  // The server's preface is a SETTINGS frame, not an acknowledgement, on the connection's own stream.
  constexpr char kSettings = 4;
  co_return answer[3] == kSettings&& answer[4] == 0 && answer.compare(5, 4, std::string(4, '\0')) == 0;
}

}  // namespace plimsoll::workload
