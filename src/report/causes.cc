#include "report/causes.h"

#include <array>
#include <string_view>
#include <utility>

namespace plimsoll::report {
namespace {

// One place per id; those of concurrency-ceiling depend on what it is and on which side.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kCauses = {{
    {"drift",
     "something grows or wears while the campaign runs: what is stored, a cache, a log, a neighbour"},
    {"warm-up", "caches, connections or a just-in-time compiler that the first operations fill"},
    {"stalls",
     "what stops everything for a while: garbage collection, a flush to disk, a lock, a lost packet"},
    {"outliers",
     "rare events that hit single operations: retransmission, a slow disk access, a rescheduled task"},
    {"two-humped",
     "two ways through the system, such as a cache that hits or misses, or two unequal servers"},
    {"generator-bound",
     "the machine of the generator: give it more cores, threads or network, or lower the load"},
    {"concurrency-not-reached",
     "operations that end before others start: too few of them, refused connections, or a slow generator"},
    {"too-few-samples", "the run was short: raise the number of operations"},
    {"throttled", "a limit on the rate of requests in the registry or in what stands before it"},
    {"redirects", "the registry sends its clients elsewhere, as to a storage service"},
    {"connections-closed", "an idle timeout or a limit on requests a connection, in the registry or a proxy"},
    {"retries", "refusals or lost connections that a client would have hidden from its user"},
    {"reupload", "the registry answers a question about a layer that it holds as if it held none"},
    {"mounts-refused", "the registry does not mount across repositories, or not for these credentials"},
    {"chunks-refused", "the registry wants chunks of another size or in another order"},
}};

std::string_view cause_of_ceiling(const std::string& kind, const std::string& side) {
  if (kind == "shared")
    return "something that all operations share is used up (processor, disk, network or a lock): see which "
           "of the "
           "machines is busy";
  if (side == "client")
    return "a limit on transfers at once in the client, such as a Docker daemon's max-concurrent-uploads and "
           "max-concurrent-downloads";
  if (side == "registry") return "a pool or a limit in the registry or in what stands before it";
  return "a pool or a limit on transfers at once; not found yet on which side";
}

}  // namespace

std::string cause_of(const stats::Finding& finding) {
  const auto context = [&](const char* key) {
    const auto found = finding.context.find(key);
    return found == finding.context.end() ? std::string() : found->second;
  };
  if (finding.id == "concurrency-ceiling")
    return std::string(cause_of_ceiling(context("kind"), context("side")));
  for (const auto& [id, cause] : kCauses) {
    if (id == finding.id) return std::string(cause);
  }
  return "";
}

void name_causes(std::vector<stats::Finding>& findings) {
  for (stats::Finding& finding : findings) {
    if (std::string cause = cause_of(finding); !cause.empty()) finding.context["cause"] = std::move(cause);
  }
}

}  // namespace plimsoll::report
