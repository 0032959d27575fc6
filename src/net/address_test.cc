#include "net/address.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plimsoll::net {
namespace {

TEST(Address, ReadsAndWritesLiterals) {
  const auto v4 = Address::parse_ip("127.0.0.1", 5000);
  ASSERT_TRUE(v4.has_value());
  EXPECT_EQ(v4->to_string(), "127.0.0.1:5000");
  EXPECT_EQ(v4->ip(), "127.0.0.1");
  EXPECT_EQ(v4->family(), AF_INET);
  const auto v6 = Address::parse_ip("2001:DB8::0001", 443);
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->to_string(), "[2001:db8::1]:443");
  EXPECT_EQ(v6->family(), AF_INET6);
}

TEST(Address, RefusesWhatIsNoLiteral) {
  for (const auto* text : {"", "localhost", "1.2.3", "256.1.1.1", "[::1]", "::g", "1.2.3.4:80", "1.2.3.4 "}) {
    const auto address = Address::parse_ip(text, 1);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_NE(address.error().message.find(text), std::string::npos);
  }
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(Address::parse_ip("127.9.9.9", 1)->is_loopback());
  EXPECT_TRUE(Address::parse_ip("::1", 1)->is_loopback());
  EXPECT_FALSE(Address::parse_ip("128.0.0.1", 1)->is_loopback());
  EXPECT_FALSE(Address::parse_ip("2001:db8::1", 1)->is_loopback());
  EXPECT_TRUE(Address::unix_path("/run/registry.sock")->is_loopback());
}

TEST(Address, TakesPortsAndCompares) {
  auto address = *Address::parse_ip("10.0.0.1", 80);
  const auto same = *Address::parse_ip("10.0.0.1", 80);
  EXPECT_TRUE(address == same);
  address.set_port(81);
  EXPECT_EQ(address.port(), 81);
  EXPECT_FALSE(address == same);
}

TEST(Address, HoldsUnixPathsUpToTheLimit) {
  EXPECT_EQ(Address::unix_path("/tmp/x.sock")->to_string(), "/tmp/x.sock");
  EXPECT_TRUE(Address::unix_path(std::string(107, 'x')).has_value());
  EXPECT_FALSE(Address::unix_path(std::string(108, 'x')).has_value());
  EXPECT_FALSE(Address::unix_path("").has_value());
}

TEST(ParseListen, TakesEveryFormOfTheOption) {
  const auto listen = [](std::string_view text) { return parse_listen(text)->to_string(); };
  EXPECT_EQ(listen("5000"), "127.0.0.1:5000");
  EXPECT_EQ(listen("0"), "127.0.0.1:0");
  EXPECT_EQ(listen("0.0.0.0:80"), "0.0.0.0:80");
  EXPECT_EQ(listen("localhost:80"), "127.0.0.1:80");
  EXPECT_EQ(listen("[::]:8080"), "[::]:8080");
  EXPECT_EQ(listen("[::1]:65535"), "[::1]:65535");
}

TEST(ParseListen, RefusesTheRestInOneLine) {
  for (const auto* text : {"", ":", "80:", "host:80", "::1:80", "::1", "[::1]", "1.2.3.4", "1.2.3.4:65536",
                           "1.2.3.4:-1", "[]:80", "1.2.3.4:http"}) {
    const auto address = parse_listen(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_NE(address.error().message.find("expected ADDR:PORT"), std::string::npos);
    EXPECT_EQ(address.error().message.find('\n'), std::string::npos);
  }
}

TEST(Resolve, FindsLocalhostAndKeepsThePort) {
  const auto addresses = resolve("localhost", 5000);
  ASSERT_TRUE(addresses.has_value());
  EXPECT_TRUE(std::ranges::all_of(
      *addresses, [](const Address& address) { return address.is_loopback() && address.port() == 5000; }));
  for (std::size_t i = 1; i < addresses->size(); ++i) EXPECT_FALSE((*addresses)[i] == (*addresses)[0]);
}

TEST(Resolve, PassesLiteralsThrough) {
  EXPECT_EQ(resolve("::1", 80)->front().to_string(), "[::1]:80");
  EXPECT_EQ(resolve("192.0.2.1", 80)->front().to_string(), "192.0.2.1:80");
}

TEST(Resolve, NamesTheHostThatHasNoAddress) {
  // ".invalid" never resolves (RFC 6761, section 6.4).
  const auto addresses = resolve("nowhere.invalid", 80);
  ASSERT_FALSE(addresses.has_value());
  EXPECT_NE(addresses.error().message.find("nowhere.invalid"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::net
