#include "oci/credentials.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plimsoll::oci {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A folder of its own that stands first on the PATH; the environment is put back at the end.
class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-credentials-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = std::getenv("PATH");
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    setenv("DOCKER_CONFIG", folder_.c_str(), 1);
    unsetenv("PLIMSOLL_AUTH");
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("DOCKER_CONFIG");
    unsetenv("PLIMSOLL_AUTH");
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  void helper(const std::string& name, const std::string& script) {
    write("docker-credential-" + name, "#!/bin/sh\n" + script);
    chmod((folder_ / ("docker-credential-" + name)).c_str(), 0755);
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST(Credentials, SplitAtTheFirstColon) {
  EXPECT_EQ(parse_credentials("me:pass:word")->user, "me");
  EXPECT_EQ(parse_credentials("me:pass:word")->password, "pass:word");
  EXPECT_EQ(parse_credentials("me:")->password, "");
  EXPECT_EQ(parse_credentials(":token")->password, "token");
  EXPECT_FALSE(parse_credentials("me"));
  EXPECT_EQ(parse_credentials("Aladdin:open sesame")->basic(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST_F(CredentialsTest, AuthsAreFoundByHost) {
  const auto config = DockerConfig::parse(R"({"auths":{
    "reg.example:5000":{"auth":"bWU6cGFzczp3b3Jk"},
    "https://other.example/v1/":{"username":"u","password":"p"},
    "https://index.docker.io/v1/":{"auth":"aHViOnB3"},
    "token.example":{"auth":"dTo=","identitytoken":"it"},
    "empty.example":{}},"HttpHeaders":{"X":"y"}})");
  ASSERT_TRUE(config);
  EXPECT_EQ((*config->find("reg.example:5000"))->password, "pass:word");
  EXPECT_EQ((*config->find("REG.example:5000"))->user, "me");
  EXPECT_EQ((*config->find("other.example"))->user, "u");
  EXPECT_EQ((*config->find("registry-1.docker.io"))->user, "hub");
  EXPECT_EQ((*config->find("docker.io"))->user, "hub");
  EXPECT_EQ((*config->find("token.example"))->identity_token, "it");
  EXPECT_FALSE(*config->find("empty.example"));
  EXPECT_FALSE(*config->find("reg.example"));
}

TEST_F(CredentialsTest, UnreadableConfigurationsAreRefused) {
  EXPECT_FALSE(DockerConfig::parse("nonsense"));
  EXPECT_FALSE(DockerConfig::parse("[]"));
  const auto refused = DockerConfig::parse(R"({"auths":{"reg.example":{"auth":"***"}}})");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("reg.example"), std::string::npos);
  EXPECT_FALSE(DockerConfig::parse(R"({"auths":{"reg.example":{"auth":"bWU="}}})"));
  EXPECT_TRUE(DockerConfig::parse(R"({"auths":[],"credHelpers":7,"credsStore":null})"));
}

TEST_F(CredentialsTest, HelpersGetTheHostAndAnswer) {
  helper("good", R"(read host; [ "$1" = get ] || exit 9
printf '{"ServerURL":"%s","Username":"user of %s","Secret":"s:1"}' "$host" "$host")");
  helper("token", R"(echo '{"Username":"<token>","Secret":"refresh"}')");
  helper("none", "echo 'credentials not found in native keychain'; exit 1");
  const auto config = DockerConfig::parse(
      R"({"credsStore":"good","credHelpers":{"token.example":"token","none.example":"none"},
          "auths":{"none.example":{"auth":"bWU6cA=="}}})");
  ASSERT_TRUE(config);
  EXPECT_EQ((*config->find("a.example:1"))->user, "user of a.example:1");
  EXPECT_EQ((*config->find("a.example:1"))->password, "s:1");
  EXPECT_EQ((*config->find("docker.io"))->user, "user of https://index.docker.io/v1/");
  EXPECT_EQ((*config->find("token.example"))->identity_token, "refresh");
  EXPECT_TRUE((*config->find("token.example"))->user.empty());
  EXPECT_FALSE(*config->find("none.example"));
}

TEST_F(CredentialsTest, StoreWithoutAnEntryFallsBackToAuths) {
  helper("none", "cat >/dev/null; echo 'credentials not found in native keychain'; exit 1");
  const auto config =
      DockerConfig::parse(R"({"credsStore":"none","auths":{"a.example":{"auth":"bWU6cA=="}}})");
  EXPECT_EQ((*config->find("a.example"))->user, "me");
}

TEST_F(CredentialsTest, HelpersThatFailAreRefusedInOneLine) {
  helper("broken", "echo no; exit 3");
  helper("html", "echo '<html>'");
  helper("deaf", "exec 0<&-; exit 2");
  for (const auto* name : {"broken", "html", "deaf", "missing", "../evil", "a/b", ""}) {
    const auto found = ask_credential_helper(name, "a.example", seconds(10));
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(CredentialsTest, SilentHelpersAreKilled) {
  helper("silent", "exec sleep 100");
  helper("endless", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done");
  helper("lingering", "exec 1>&- 0<&-; exec sleep 100");
  const Instant start = now();
  for (const auto* name : {"silent", "endless", "lingering"}) {
    const auto found = ask_credential_helper(name, "a.example", milliseconds(300));
    ASSERT_FALSE(found) << name;
    EXPECT_NE(found.error().message.find("in time"), std::string::npos) << found.error().message;
  }
  EXPECT_LT(now() - start, seconds(20));
}

TEST_F(CredentialsTest, HelpersInheritNoDescriptor) {
  write("marker", "");
  const int open_here = open((folder_ / "marker").c_str(), O_RDONLY);  // without close-on-exec
  helper("curious", R"sh(cat >/dev/null; n=0
for f in /proc/$$/fd/*; do case $(readlink $f) in */marker) n=$((n + 1));; esac; done
printf '{"Username":"u","Secret":"%s"}' $n)sh");
  const auto found = ask_credential_helper("curious", "a.example", seconds(10));
  close(open_here);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->password, "0");
}

TEST_F(CredentialsTest, TheOptionComesFirstThenTheEnvironmentThenTheFile) {
  write("config.json", R"({"auths":{"a.example":{"auth":"ZmlsZTpw"}}})");
  EXPECT_EQ(find_credentials(std::nullopt, "a.example")->user, "file");
  EXPECT_TRUE(find_credentials(std::nullopt, "b.example")->anonymous());
  setenv("PLIMSOLL_AUTH", "environment:p:q", 1);
  EXPECT_EQ(find_credentials(std::nullopt, "a.example")->password, "p:q");
  EXPECT_EQ(find_credentials("option:p", "a.example")->user, "option");
  EXPECT_FALSE(find_credentials("no-colon", "a.example"));
  setenv("PLIMSOLL_AUTH", "no-colon", 1);
  EXPECT_EQ(find_credentials(std::nullopt, "a.example").error().message.find("PLIMSOLL_AUTH"), 0U);
}

TEST_F(CredentialsTest, NoConfigurationMeansAnonymous) {
  EXPECT_TRUE(find_credentials(std::nullopt, "a.example")->anonymous());
  write("config.json", "broken");
  const auto refused = find_credentials(std::nullopt, "a.example");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("config.json"), std::string::npos);
}

TEST_F(CredentialsTest, SecretsStandInNoRefusal) {
  const auto config = DockerConfig::parse(R"({"auths":{"a.example":{"auth":"c2VjcmV0"}}})");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message.find("c2VjcmV0"), std::string::npos);
  EXPECT_EQ(find_credentials("topsecret", "a.example").error().message.find("topsecret"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::oci
