#include "server/sync_origin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "oci/reference.h"

namespace plimsoll::server {
namespace {

constexpr std::string_view kForm =
    "URL[,prefix=NAME][,fresh=DURATION][,timeout=DURATION][,cacert=FILE][,insecure][,auth=USER:PASSWORD]";

Checked<void> take_duration(std::string_view text, Nanos& into) {
  auto duration = parse_duration(text);
  if (!duration) return duration.error();
  into = *duration;
  return {};
}

Checked<void> take_setting(SyncOrigin& origin, std::string_view key, std::string_view value) {
  if (key == "prefix") {
    if (!oci::is_repository_name(value)) {
      return Refusal{fmt::format("'{}' is no repository's name or its beginning", value)};
    }
    origin.prefixes.emplace_back(value);
    return {};
  }
  if (key == "fresh") return take_duration(value, origin.fresh);
  if (key == "timeout") return take_duration(value, origin.timeout);
  if (key == "cacert" && !value.empty()) {
    origin.cacert = value;
    return {};
  }
  if (key == "insecure" && value.empty()) {
    origin.insecure = true;
    return {};
  }
  return Refusal{fmt::format("'{}' is not known; expected {}", key, kForm)};
}

// Whether this machine has the address: then a socket can be bound to it.
bool is_own(net::Address address) {
  address.set_port(0);
  const int fd = socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool bound = bind(fd, address.data(), address.size()) == 0;
  close(fd);
  return bound;
}

bool is_wildcard(const net::Address& address) {
  const std::string ip = address.ip();
  return ip == "0.0.0.0" || ip == "::";
}

}  // namespace

bool SyncOrigin::covers(std::string_view repository) const {
  return prefixes.empty() || std::ranges::any_of(prefixes, [&](const std::string& prefix) {
           return repository.starts_with(prefix) &&
                  (repository.size() == prefix.size() || repository[prefix.size()] == '/');
         });
}

Checked<SyncOrigin> parse_sync_origin(std::string_view text) {
  SyncOrigin origin;
  const auto comma = text.find(',');
  auto url = http::parse_url(text.substr(0, comma));
  if (!url) return Refusal{fmt::format("{} (expected {})", url.error().text, kForm)};
  origin.url = std::move(*url);
  while (origin.url.target.ends_with('/')) origin.url.target.pop_back();
  std::string_view rest = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  while (!rest.empty()) {
    constexpr std::string_view kAuth = "auth=";
    if (rest.starts_with(kAuth)) {
      origin.auth = rest.substr(kAuth.size());
      break;
    }
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const auto equals = std::min(part.find('='), part.size());
    const auto taken =
        take_setting(origin, part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
    if (!taken) return taken.error();
  }
  return origin;
}

bool leads_to(const SyncOrigin& origin, std::span<const net::Address> listening) {
  const bool same_port =
      std::ranges::any_of(listening, [&](const auto& own) { return own.port() == origin.url.port; });
  if (!same_port) return false;
  const auto addresses = net::resolve(origin.url.resolver_name(), origin.url.port);
  if (!addresses) return false;
  return std::ranges::any_of(*addresses, [&](const net::Address& there) {
    return std::ranges::any_of(listening, [&](const net::Address& own) {
      return own.port() == there.port() && (own == there || (is_wildcard(own) && is_own(there)));
    });
  });
}

}  // namespace plimsoll::server
