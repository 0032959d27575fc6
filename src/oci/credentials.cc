#include "oci/credentials.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "oci/json.h"

namespace plimsoll::oci {
namespace {

constexpr std::size_t kMaxConfig = 4U << 20U;
constexpr std::string_view kDockerHubKey = "https://index.docker.io/v1/";

// "https://host/v1/" and "host" are the same key; Docker Hub has several names.
std::string host_of_key(std::string_view key) {
  if (const auto scheme = key.find("://"); scheme != std::string_view::npos) key = key.substr(scheme + 3);
  const auto host = to_lower(key.substr(0, key.find('/')));
  const bool hub = host == "docker.io" || host == "index.docker.io" || host == "registry-1.docker.io";
  return hub ? "index.docker.io" : host;
}

std::optional<Credentials> read_auth(const nlohmann::json& entry) {
  Credentials credentials;
  credentials.user = text_member(entry, "username");
  credentials.password = text_member(entry, "password");
  credentials.identity_token = text_member(entry, "identitytoken");
  if (const auto auth = text_member(entry, "auth"); !auth.empty()) {
    const auto decoded = base64_decode(auth);
    if (!decoded) return std::nullopt;
    auto parsed = parse_credentials(*decoded);
    if (!parsed) return std::nullopt;
    credentials.user = std::move(parsed->user);
    credentials.password = std::move(parsed->password);
    // docker writes the password of some stores padded with zero bytes.
    credentials.password.erase(credentials.password.find_last_not_of('\0') + 1);
  }
  return credentials;
}

std::string config_path() {
  if (const char* directory = std::getenv("DOCKER_CONFIG"); directory && *directory) {
    return std::string(directory) + "/config.json";
  }
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.docker/config.json" : std::string();
}

}  // namespace

std::string Credentials::basic() const {
  return "Basic " + base64_encode(user + ":" + password);
}

Checked<Credentials> parse_credentials(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return Refusal{"credentials are given as user:password"};
  return Credentials{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1)), {}};
}

Checked<DockerConfig> DockerConfig::parse(std::string_view json) {
  const auto parsed = parse_json(json);
  if (!parsed || !parsed->is_object()) return Refusal{"docker's config.json is no JSON object"};
  DockerConfig config;
  config.store_ = text_member(*parsed, "credsStore");
  if (const auto& helpers = member(*parsed, "credHelpers"); helpers.is_object()) {
    for (const auto& [key, helper] : helpers.items()) {
      if (helper.is_string()) config.helpers_[host_of_key(key)] = helper.get<std::string>();
    }
  }
  if (const auto& auths = member(*parsed, "auths"); auths.is_object()) {
    for (const auto& [key, entry] : auths.items()) {
      const auto credentials = read_auth(entry);
      if (!credentials)
        return Refusal{fmt::format("docker's config.json: the entry for {} is not readable", key)};
      if (!credentials->anonymous()) config.auths_[host_of_key(key)] = *credentials;
    }
  }
  return config;
}

Checked<DockerConfig> DockerConfig::load() {
  const std::string path = config_path();
  if (path.empty()) return DockerConfig();
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return DockerConfig();
    return Refusal{fmt::format("{}: {}", path, std::strerror(errno))};
  }
  std::string text(kMaxConfig + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.size() > kMaxConfig)
    return Refusal{fmt::format("{}: not readable, or too large", path)};
  auto config = parse(text);
  if (!config) return Refusal{fmt::format("{}: {}", path, config.error().message)};
  return config;
}

Checked<std::optional<Credentials>> DockerConfig::find(std::string_view host, Nanos timeout) const {
  const std::string key = host_of_key(host);
  const std::string_view asked = key == "index.docker.io" ? kDockerHubKey : std::string_view(key);
  if (const auto helper = helpers_.find(key); helper != helpers_.end()) {
    return ask_credential_helper(helper->second, asked, timeout);
  }
  if (!store_.empty()) {
    auto stored = ask_credential_helper(store_, asked, timeout);
    if (!stored || *stored) return stored;
  }
  const auto found = auths_.find(key);
  if (found == auths_.end()) return std::optional<Credentials>();
  return std::optional(found->second);
}

Checked<Credentials> find_credentials(std::optional<std::string_view> option, std::string_view host) {
  if (option) {
    auto parsed = parse_credentials(*option);
    if (!parsed) return Refusal{"-A: " + parsed.error().message};
    return parsed;
  }
  if (const char* environment = std::getenv("PLIMSOLL_AUTH"); environment && *environment) {
    auto parsed = parse_credentials(environment);
    if (!parsed) return Refusal{"PLIMSOLL_AUTH: " + parsed.error().message};
    return parsed;
  }
  const auto config = DockerConfig::load();
  if (!config) return config.error();
  auto found = config->find(host);
  if (!found) return found.error();
  return found->value_or(Credentials());
}

}  // namespace plimsoll::oci
