// Who we are to a registry: from the command line, the environment, or docker's configuration.
//
// Credentials are looked up before a run. Helper programs are started with posix_spawn, without a shell, with every
// descriptor of ours closed, and are killed when they take too long.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace plimsoll::oci {

struct Credentials {
  std::string user;
  std::string password;
  std::string identity_token;  // an OAuth2 refresh token, in place of a password

  bool anonymous() const { return user.empty() && password.empty() && identity_token.empty(); }
  // The value of an Authorization field (RFC 7617).
  std::string basic() const;
};

// "user:password", split at the first colon: a password may hold more of them.
Checked<Credentials> parse_credentials(std::string_view text);

// docker's config.json (docker/cli, "auths", "credsStore", "credHelpers").
class DockerConfig {
 public:
  static Checked<DockerConfig> parse(std::string_view json);
  // $DOCKER_CONFIG/config.json, else $HOME/.docker/config.json; an empty configuration if there is none.
  static Checked<DockerConfig> load();

  // For "host" or "host:port"; Docker Hub by any of its names. The registry's own helper comes first, then the
  // common store, then `auths`. nullopt where nothing is known of the host; a refusal if a helper fails.
  Checked<std::optional<Credentials>> find(std::string_view host,
                                           Nanos timeout = std::chrono::seconds(30)) const;

 private:
  std::map<std::string, Credentials, std::less<>> auths_;    // by host
  std::map<std::string, std::string, std::less<>> helpers_;  // by host
  std::string store_;
};

// `docker-credential-<helper> get` for a host. nullopt if the helper has nothing for it.
Checked<std::optional<Credentials>> ask_credential_helper(std::string_view helper, std::string_view host,
                                                          Nanos timeout);

// In order: `option` (-A) if given, PLIMSOLL_AUTH, docker's configuration; anonymous if none knows the host.
Checked<Credentials> find_credentials(std::optional<std::string_view> option, std::string_view host);

}  // namespace plimsoll::oci
