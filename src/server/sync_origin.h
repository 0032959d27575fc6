// Where on-demand sync copies from, as `--sync-from` says it.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/url.h"
#include "net/address.h"

namespace plimsoll::server {

struct SyncOrigin {
  http::Url url;
  std::vector<std::string> prefixes;  // of repositories, by whole components; none: every repository
  std::optional<std::string> auth;    // USER:PASSWORD; without it PLIMSOLL_AUTH and docker's configuration
  std::string cacert;                 // PEM file; empty: the system's store
  bool insecure = false;
  Nanos fresh{};                             // a tag that was looked up is fresh for so long
  Nanos timeout = std::chrono::seconds(30);  // without progress

  bool covers(std::string_view repository) const;
};

// "URL[,prefix=NAME]...[,fresh=DURATION][,timeout=DURATION][,cacert=FILE][,insecure][,auth=USER:PASSWORD]"; `auth`
// comes last and takes all that follows, commas included. The refusal names the accepted form.
Checked<SyncOrigin> parse_sync_origin(std::string_view text);

// The origin is a server that listens on one of these: a copy would ask for itself. Resolves its name, so it blocks;
// a name that does not resolve leads nowhere.
bool leads_to(const SyncOrigin& origin, std::span<const net::Address> listening);

}  // namespace plimsoll::server
