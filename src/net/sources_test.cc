#include "net/sources.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace plimsoll::net {
namespace {

std::vector<std::string> drawn(SourcePool pool, int family, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    const auto address = pool.next(family);
    out.push_back(address ? address->ip() : "none");
  }
  return out;
}

using List = std::vector<std::string>;

TEST(SourcePool, LeavesOutNetworkAndBroadcast) {
  EXPECT_EQ(drawn(*SourcePool::from_cidr("10.1.2.0/30"), AF_INET, 3),
            (List{"10.1.2.1", "10.1.2.2", "10.1.2.1"}));
  EXPECT_EQ(drawn(*SourcePool::from_cidr("10.1.2.5/29"), AF_INET, 1), List{"10.1.2.1"});
}

TEST(SourcePool, UsesTheSmallestNetworksWhole) {
  EXPECT_EQ(drawn(*SourcePool::from_cidr("10.1.2.4/31"), AF_INET, 3),
            (List{"10.1.2.4", "10.1.2.5", "10.1.2.4"}));
  EXPECT_EQ(drawn(*SourcePool::from_cidr("10.1.2.5/32"), AF_INET, 2), (List{"10.1.2.5", "10.1.2.5"}));
}

TEST(SourcePool, CarriesOverBytes) {
  auto pool = *SourcePool::from_cidr("127.0.0.0/8");
  pool.skip(255);
  EXPECT_EQ(pool.next(AF_INET)->ip(), "127.0.1.0");
  pool.skip(16'777'214 - 256 - 1);
  EXPECT_EQ(pool.next(AF_INET)->ip(), "127.255.255.254");
  EXPECT_EQ(pool.next(AF_INET)->ip(), "127.0.0.1");
}

TEST(SourcePool, TakesIpv6Networks) {
  EXPECT_EQ(drawn(*SourcePool::from_cidr("fd00::/64"), AF_INET6, 2), (List{"fd00::", "fd00::1"}));
  EXPECT_EQ(drawn(*SourcePool::from_cidr("fd00::/64"), AF_INET, 1), List{"none"});
}

TEST(SourcePool, TakesCommasAndColons) {
  EXPECT_EQ(drawn(*SourcePool::from_list("127.0.0.2,127.0.0.3"), AF_INET, 3),
            (List{"127.0.0.2", "127.0.0.3", "127.0.0.2"}));
  EXPECT_EQ(drawn(*SourcePool::from_list("127.0.0.2:127.0.0.3"), AF_INET, 2),
            (List{"127.0.0.2", "127.0.0.3"}));
  EXPECT_EQ(drawn(*SourcePool::from_list("::1,127.0.0.3"), AF_INET6, 1), List{"::1"});
}

TEST(SourcePool, RefusesWhatIsNone) {
  for (const char* bad : {"", "1.2.3.4", "1.2.3.4/33", "1.2.3.4/x", "a/8", "::/129", "1.2.3/8"}) {
    EXPECT_FALSE(SourcePool::from_cidr(bad).has_value()) << bad;
  }
  for (const char* bad : {"", "127.0.0.1,", "127.0.0.1:x", "host"}) {
    EXPECT_FALSE(SourcePool::from_list(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace plimsoll::net
