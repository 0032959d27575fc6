#include "http/url.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace plimsoll::http {
namespace {

Url parsed(std::string_view text) {
  const auto url = parse_url(text);
  EXPECT_TRUE(url) << text << ": " << (url ? "" : url.error().text);
  return url.value_or(Url{});
}

TEST(Url, KeepsPathAndQueryByteForByte) {
  const Url url =
      parsed("HTTP://Registry.Example:5000/v2/a%2Fb/../uploads/u1?_state=a%2Bb%3D%3D&x=/?&y#part");
  EXPECT_EQ(url.scheme, "http");
  EXPECT_EQ(url.host, "registry.example");
  EXPECT_EQ(url.port, 5000);
  EXPECT_EQ(url.target, "/v2/a%2Fb/../uploads/u1?_state=a%2Bb%3D%3D&x=/?&y");
  EXPECT_EQ(url.path(), "/v2/a%2Fb/../uploads/u1");
  EXPECT_EQ(url.query(), "_state=a%2Bb%3D%3D&x=/?&y");
  EXPECT_EQ(url.text(), "http://registry.example:5000/v2/a%2Fb/../uploads/u1?_state=a%2Bb%3D%3D&x=/?&y");
}

TEST(Url, FillsInWhatIsLeftOut) {
  EXPECT_EQ(parsed("http://h").target, "/");
  EXPECT_EQ(parsed("http://h?q").target, "/?q");
  EXPECT_EQ(parsed("http://h#f").target, "/");
  EXPECT_EQ(parsed("http://h").port, 80);
  EXPECT_EQ(parsed("https://h").port, 443);
  EXPECT_EQ(parsed("https://h:/x").port, 443);
  EXPECT_EQ(parsed("http://h/\xc3\xa4").target, "/\xc3\xa4");
}

TEST(Url, AuthorityLeavesOutADefaultPort) {
  EXPECT_EQ(parsed("http://h:80/").authority(), "h");
  EXPECT_EQ(parsed("https://h:80/").authority(), "h:80");
  EXPECT_EQ(parsed("https://h:443/").authority(), "h");
}

TEST(Url, Trap34_Ipv6LiteralsKeepTheirBracketsInHostOnly) {
  const Url url = parsed("http://[2001:DB8::1]:5000/v2/");
  EXPECT_EQ(url.host, "2001:db8::1");
  EXPECT_EQ(url.port, 5000);
  EXPECT_EQ(url.authority(), "[2001:db8::1]:5000");
  EXPECT_EQ(url.resolver_name(), "2001:db8::1");
  EXPECT_EQ(parsed("http://[::1]").authority(), "[::1]");
}

TEST(Url, Trap34_ZoneIdsAreNotSent) {
  for (const char* text : {"http://[fe80::1%25eth0]:81/x", "http://[fe80::1%eth0]:81/x"}) {
    const Url url = parsed(text);
    EXPECT_EQ(url.authority(), "[fe80::1]:81");
    EXPECT_EQ(url.text(), "http://[fe80::1]:81/x");
    EXPECT_EQ(url.resolver_name(), "fe80::1%eth0");
  }
  const auto next = resolve(parsed("http://[fe80::1%25eth0]:81/x"), "/y");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->resolver_name(), "fe80::1%eth0");
}

TEST(Url, RefusesWhatIsNotAnHttpUrl) {
  for (const std::string_view text : {"",
                                      "h",
                                      "h:80",
                                      "localhost:5000/v2/",
                                      "//h/",
                                      "http:/h/",
                                      "http:h",
                                      "ftp://h/",
                                      "http://",
                                      "http:///x",
                                      "http://:80/",
                                      "http://h:0/",
                                      "http://h:65536/",
                                      "http://h:-1/",
                                      "http://h:8a/",
                                      "http://h:1:2/",
                                      "http://u:p@h/",
                                      "http://u@h/",
                                      "http://[::1/",
                                      "http://[::g]/",
                                      "http://[]/",
                                      "http://[::1]x/",
                                      "http://[v1.x]/",
                                      "http://[fe80::1%]/",
                                      "http://[fe80::1%a/b]/",
                                      "http://::1/",
                                      "http://a b/",
                                      "http://h/a b",
                                      "http://h/\r\nX: y",
                                      "http://h/\tx",
                                      "http://h/\x7f",
                                      "http://h\\x/",
                                      "http://h%41/",
                                      "http://\xc3\xa4/",
                                      " http://h/",
                                      "http://h/ "}) {
    const auto url = parse_url(text);
    EXPECT_FALSE(url) << text;
    if (!url) {
      EXPECT_EQ(url.error().kind, ErrorKind::protocol);
      EXPECT_STRNE(url.error().text, "");
    }
  }
  EXPECT_FALSE(parse_url(std::string_view("http://h/\0x", 11)));
}

// RFC 3986, sections 5.4.1 and 5.4.2, all of them.
TEST(Url, ResolvesTheExamplesOfTheRfc) {
  const std::vector<std::pair<const char*, const char*>> examples = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q#s"},
      {"g#s", "http://a/b/c/g#s"},
      {"g?y#s", "http://a/b/c/g?y#s"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"g;x?y#s", "http://a/b/c/g;x?y#s"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"g#s/./x", "http://a/b/c/g#s/./x"},
      {"g#s/../x", "http://a/b/c/g#s/../x"},
      {"http:g", "http:g"},
  };
  for (const auto& [reference, expected] : examples) {
    EXPECT_EQ(resolve_reference("http://a/b/c/d;p?q", reference), expected) << reference;
  }
}

TEST(Url, ResolvesEveryFormOfLocation) {
  const Url base = parsed("https://r.example:5000/v2/r/blobs/uploads/");
  const std::vector<std::pair<const char*, const char*>> forms = {
      {"/v2/r/blobs/uploads/u1", "https://r.example:5000/v2/r/blobs/uploads/u1"},
      {"u1", "https://r.example:5000/v2/r/blobs/uploads/u1"},
      {"../u1", "https://r.example:5000/v2/r/blobs/u1"},
      {"//host/x", "https://host/x"},
      {"", "https://r.example:5000/v2/r/blobs/uploads/"},
      {"http://other/x?_state=a%2Bb%3D%3D", "http://other/x?_state=a%2Bb%3D%3D"},
      {"?_state=%7Eb", "https://r.example:5000/v2/r/blobs/uploads/?_state=%7Eb"},
      {"/x#frag", "https://r.example:5000/x"},
  };
  for (const auto& [reference, expected] : forms) {
    const auto url = resolve(base, reference);
    ASSERT_TRUE(url) << reference;
    EXPECT_EQ(url->text(), expected) << reference;
  }
  EXPECT_FALSE(resolve(base, "ftp://x/"));
  EXPECT_FALSE(resolve(base, "/a b"));
  EXPECT_FALSE(resolve(base, "http:g"));
}

TEST(Url, AppendsToAQueryWithoutTouchingIt) {
  EXPECT_EQ(append_query("/u/1", "digest=sha256:ab"), "/u/1?digest=sha256:ab");
  EXPECT_EQ(append_query("/u/1?_state=a%2Bb%3D%3D", "digest=sha256:ab"),
            "/u/1?_state=a%2Bb%3D%3D&digest=sha256:ab");
  EXPECT_EQ(append_query("/u/1?", "d=1"), "/u/1?d=1");
  EXPECT_EQ(append_query("/u/1?a&", "d=1"), "/u/1?a&d=1");
  EXPECT_EQ(append_query(parsed("http://h/u?a=b"), "d=1").text(), "http://h/u?a=b&d=1");
}

TEST(Url, Trap25_OriginIsSchemeHostAndPort) {
  const Url url = parsed("http://h:80/a");
  EXPECT_TRUE(url.same_origin(parsed("http://H/b?c")));
  EXPECT_FALSE(url.same_origin(parsed("https://h:80/a")));
  EXPECT_FALSE(url.same_origin(parsed("http://h:81/a")));
  EXPECT_FALSE(url.same_origin(parsed("http://x.h/a")));
}

}  // namespace
}  // namespace plimsoll::http
