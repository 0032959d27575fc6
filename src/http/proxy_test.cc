#include "http/proxy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/text.h"

namespace plimsoll::http {
namespace {

ProxyRules::Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  };
}

// The proxy's origin, or "" where there is none.
std::string proxy_of(const ProxyRules& rules, std::string_view url) {
  const Proxy* proxy = rules.of(*parse_url(url));
  return proxy == nullptr ? "" : proxy->url.origin();
}

TEST(ProxyRules, EachSchemeHasItsVariables) {
  const auto rules =
      *ProxyRules::of_environment(environment({{"http_proxy", "a:1"}, {"HTTPS_PROXY", "http://b:2/"}}));
  EXPECT_EQ(proxy_of(rules, "http://x/"), "http://a:1");
  EXPECT_EQ(proxy_of(rules, "https://x/"), "http://b:2");
  const auto all =
      *ProxyRules::of_environment(environment({{"ALL_PROXY", "[::1]:3128"}, {"https_proxy", "c"}}));
  EXPECT_EQ(proxy_of(all, "http://x/"), "http://[::1]:3128");
  EXPECT_EQ(proxy_of(all, "https://x/"), "http://c");
  const auto httpoxy =
      *ProxyRules::of_environment(environment({{"HTTP_PROXY", "evil:1"}, {"http_proxy", ""}}));
  EXPECT_EQ(proxy_of(httpoxy, "http://x/"), "");
  EXPECT_EQ(proxy_of(ProxyRules(), "https://x/"), "");
}

TEST(ProxyRules, NoProxySparesHostsDomainsAndPorts) {
  const auto rules = *ProxyRules::of_environment(environment(
      {{"all_proxy", "p:1"}, {"no_proxy", "localhost, .Example.org,host:8080,10.0.0.1,::1,[fe80::1]:5,,"}}));
  for (const char* url :
       {"http://localhost/", "https://localhost:5000/", "http://example.org/", "http://a.example.org/",
        "http://host:8080/", "http://10.0.0.1:5/", "http://[::1]/", "http://[fe80::1]:5/"}) {
    EXPECT_EQ(proxy_of(rules, url), "") << url;
  }
  for (const char* url : {"http://notlocalhost/", "http://badexample.org/", "http://host/",
                          "https://host:8081/", "http://10.0.0.10/", "http://[fe80::1]:6/"}) {
    EXPECT_EQ(proxy_of(rules, url), "http://p:1") << url;
  }
  const auto none = *ProxyRules::of_environment(environment({{"all_proxy", "p:1"}, {"NO_PROXY", "*"}}));
  EXPECT_EQ(proxy_of(none, "http://anything/"), "");
}

TEST(ProxyRules, CredentialsStandInTheProxysUrl) {
  const auto rules = *ProxyRules::always("http://ann:p%40ss%3A@proxy:3128");
  const Proxy* proxy = rules.of(*parse_url("https://x/"));
  ASSERT_NE(proxy, nullptr);
  EXPECT_EQ(proxy->url.origin(), "http://proxy:3128");
  EXPECT_EQ(proxy->authorization, "Basic " + base64_encode("ann:p@ss:"));
  auto other = *ProxyRules::always("proxy:3128");
  other.authorize("bob:x");
  EXPECT_EQ(other.of(*parse_url("http://x/"))->authorization, "Basic " + base64_encode("bob:x"));
}

TEST(ProxyRules, RefusesOtherFormsAndTellsNoPassword) {
  for (const char* text :
       {"https://p:1", "socks5://p:1", "http://", "p:0", "p:99999", "p q", "ann:secret@p:x", "a%zz@p"}) {
    const auto rules = ProxyRules::always(text);
    ASSERT_FALSE(rules) << text;
    EXPECT_TRUE(rules.error().message.contains("HOST:PORT")) << text;
    EXPECT_FALSE(rules.error().message.contains("secret")) << text;
  }
  const auto rules = ProxyRules::of_environment(environment({{"HTTPS_PROXY", "ftp://x"}}));
  ASSERT_FALSE(rules);
  EXPECT_TRUE(rules.error().message.starts_with("https_proxy: "));
}

}  // namespace
}  // namespace plimsoll::http
