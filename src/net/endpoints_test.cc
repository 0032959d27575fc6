#include "net/endpoints.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "net/engine_fixture.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;

using StreamResult = Result<std::unique_ptr<Stream>>;

// Ports on which connections end as the test wants. All loopback.
class Spread : public Engine {
 protected:
  static Listener listen_on(const char* where) {
    return std::move(*Listener::open(*parse_listen(where), {}));
  }
  // Nobody listens here: a port that was free a moment ago.
  static Address dead(const char* where) { return listen_on(where).address(); }

  static Endpoints spread(const std::vector<Address>& addresses, SourcePool sources = {}) {
    return {addresses, std::move(sources), ""};
  }

  // Opens `count` connections one after the other and keeps them.
  std::vector<StreamResult> open(Endpoints& endpoints, int count, Patience patience = kPatience) {
    std::vector<StreamResult> opened;
    loop().run([](Loop& on, Endpoints& from, int number, Patience limit,
                  std::vector<StreamResult>& into) -> Task<void> {
      for (int i = 0; i < number; ++i) into.push_back(co_await from.open(on, limit));
    }(loop(), endpoints, count, patience, opened));
    return opened;
  }

  // Opens `count` connections at once.
  int open_together(Endpoints& endpoints, int count) {
    int good = 0;
    loop().run([](Loop& on, Endpoints& from, int number, int& into) -> Task<void> {
      TaskScope scope;
      for (int i = 0; i < number; ++i) {
        scope.spawn([](Loop& inner, Endpoints& origin, int& opened) -> Task<void> {
          const auto stream = co_await origin.open(inner, kPatience);
          opened += stream ? 1 : 0;
        }(on, from, into));
      }
      co_await scope.join();
    }(loop(), endpoints, count, good));
    return good;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Spread, kBackends, backend_name);

// A port whose queue of connections is full: further ones hang, as behind a firewall that drops packets.
class Swallower {
 public:
  Swallower() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const Address any = *Address::parse_ip("127.0.0.1", 0);
    EXPECT_EQ(bind(fd_, any.data(), any.size()), 0);
    EXPECT_EQ(::listen(fd_, 0), 0);
    for (int i = 0; i < 8; ++i) {
      fillers_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const Address to = address();
      EXPECT_TRUE(::connect(fillers_.back(), to.data(), to.size()) == 0 || errno == EINPROGRESS);
    }
  }
  Swallower(const Swallower&) = delete;
  Swallower& operator=(const Swallower&) = delete;
  ~Swallower() {
    for (const int filler : fillers_) close(filler);
    close(fd_);
  }
  Address address() const { return Address::local_of(fd_); }

 private:
  int fd_;
  std::vector<int> fillers_;
};

TEST_P(Spread, PutsTheDeadAddressAsideInEitherOrder) {
  const auto alive = listen_on("127.0.0.1:0");
  const Address nobody = dead("[::1]:0");
  for (const auto& addresses : {std::vector{nobody, alive.address()}, std::vector{alive.address(), nobody}}) {
    auto endpoints = spread(addresses);
    const auto opened = open(endpoints, 10);
    for (const auto& stream : opened) EXPECT_TRUE(stream.has_value());
    for (const auto& endpoint : endpoints.endpoints()) {
      const bool is_dead = endpoint.address == nobody;
      EXPECT_EQ(endpoint.aside, is_dead);
      EXPECT_EQ(endpoint.connections, is_dead ? 0U : 10U);
      if (is_dead) EXPECT_EQ(endpoint.problem.kind, ErrorKind::connect_refused);
    }
  }
}

TEST_P(Spread, C54SpreadsEvenlyOverThoseThatAnswer) {
  const auto one = listen_on("127.0.0.1:0");
  const auto two = listen_on("[::1]:0");
  const auto three = listen_on("127.0.0.1:0");
  auto endpoints = spread({one.address(), dead("127.0.0.1:0"), two.address(), three.address()});
  const auto opened = open(endpoints, 30);
  for (const auto& stream : opened) EXPECT_TRUE(stream.has_value());
  std::vector<std::uint64_t> counts;
  for (const auto& endpoint : endpoints.endpoints()) counts.push_back(endpoint.connections);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{10, 0, 10, 10}));
}

TEST_P(Spread, ManyAtOnceAllFindTheAddressThatAnswers) {
  const auto alive = listen_on("127.0.0.1:0");
  auto endpoints = spread({dead("[::1]:0"), dead("127.0.0.1:0"), alive.address()});
  EXPECT_EQ(open_together(endpoints, 100), 100);
  EXPECT_EQ(endpoints.endpoints()[2].connections, 100U);
}

TEST_P(Spread, AnAddressThatSwallowsPacketsHoldsUpOneConnectionForAWhile) {
  const Swallower silent;
  const auto alive = listen_on("127.0.0.1:0");
  auto endpoints = spread({silent.address(), alive.address()});
  const Instant start = now();
  int quick = 0;
  loop().run([](Loop& on, Endpoints& from, Instant began, int& into) -> Task<void> {
    TaskScope scope;
    for (int i = 0; i < 50; ++i) {
      scope.spawn([](Loop& inner, Endpoints& origin, Instant since, int& count) -> Task<void> {
        const auto stream = co_await origin.open(inner, kPatience);
        EXPECT_TRUE(stream.has_value());
        count += now() - since < Endpoints::kProbeLimit ? 1 : 0;
      }(on, from, began, into));
    }
    co_await scope.join();
  }(loop(), endpoints, start, quick));
  EXPECT_EQ(quick, 49);
  EXPECT_LT(now() - start, 10s);
  EXPECT_TRUE(endpoints.endpoints()[0].aside);
  EXPECT_EQ(endpoints.endpoints()[0].problem.kind, ErrorKind::connect_timeout);
  EXPECT_EQ(endpoints.endpoints()[1].connections, 50U);
}

TEST_P(Spread, SaysWhyWhenNobodyAnswers) {
  auto endpoints = spread({dead("[::1]:0"), dead("127.0.0.1:0")});
  for (const auto& stream : open(endpoints, 3)) {
    ASSERT_FALSE(stream.has_value());
    EXPECT_EQ(stream.error().kind, ErrorKind::connect_refused);
  }
  auto none = spread({});
  EXPECT_EQ(open(none, 1).front().error().kind, ErrorKind::resolve);
}

TEST_P(Spread, KeepsAnAddressThatHasAnsweredBefore) {
  auto listener = std::make_unique<Listener>(listen_on("127.0.0.1:0"));
  auto endpoints = spread({listener->address()});
  auto other = spread({listener->address(), dead("[::1]:0")});
  EXPECT_TRUE(open(endpoints, 1).front().has_value());
  EXPECT_TRUE(open(other, 2).back().has_value());
  const std::string at = listener->address().to_string();
  listener.reset();
  EXPECT_EQ(open(endpoints, 1).front().error().kind, ErrorKind::connect_refused);
  EXPECT_EQ(open(other, 1).front().error().kind, ErrorKind::connect_refused);
  EXPECT_FALSE(other.endpoints()[0].aside);
  listener = std::make_unique<Listener>(listen_on(at.c_str()));
  EXPECT_TRUE(open(endpoints, 1).front().has_value());
  EXPECT_TRUE(open(other, 1).front().has_value());
}

TEST_P(Spread, DrawsSourceAddressesInTurnAndByFamily) {
  const auto v4 = listen_on("127.0.0.1:0");
  const auto v6 = listen_on("[::1]:0");
  auto endpoints = spread({v4.address(), v6.address()}, *SourcePool::from_list("127.0.0.2,::1,127.0.0.3"));
  const auto opened = open(endpoints, 8);
  std::vector<std::string> v4_sources;
  for (const auto& stream : opened) {
    ASSERT_TRUE(stream.has_value());
    const Address local = (*stream)->local();
    if (local.family() == AF_INET) v4_sources.push_back(local.ip());
    if (local.family() == AF_INET6) EXPECT_EQ(local.ip(), "::1");
  }
  EXPECT_EQ(v4_sources.size(), 4U);
  EXPECT_NE(std::ranges::find(v4_sources, "127.0.0.2"), v4_sources.end());
  EXPECT_NE(std::ranges::find(v4_sources, "127.0.0.3"), v4_sources.end());
}

TEST_P(Spread, PutsAsideAnAddressWithoutASourceOfItsFamily) {
  const auto v4 = listen_on("127.0.0.1:0");
  const auto v6 = listen_on("[::1]:0");
  auto endpoints = spread({v6.address(), v4.address()}, *SourcePool::from_list("127.0.0.2"));
  for (const auto& stream : open(endpoints, 4)) EXPECT_TRUE(stream.has_value());
  EXPECT_STREQ(endpoints.endpoints()[0].problem.text, "no source address of this family");
  EXPECT_EQ(endpoints.endpoints()[1].connections, 4U);
}

TEST_P(Spread, ASourceThatIsNotThisMachinesSaysSo) {
  const auto v4 = listen_on("127.0.0.1:0");
  // TEST-NET-1 (RFC 5737) is nobody's.
  auto endpoints = spread({v4.address()}, *SourcePool::from_list("192.0.2.77"));
  const auto opened = open(endpoints, 1);
  ASSERT_FALSE(opened.front().has_value());
  EXPECT_EQ(opened.front().error().kind, ErrorKind::connect_refused);
  EXPECT_STREQ(opened.front().error().text, "the source address is not this machine's");
}

TEST_P(Spread, AGivenUpAttemptHoldsNobodyUp) {
  const Swallower silent;
  const Swallower silent_too;
  const auto alive = listen_on("127.0.0.1:0");
  auto endpoints = spread({silent.address(), silent_too.address(), alive.address()});
  loop().run([](Loop& on, Endpoints& from) -> Task<void> {
    const auto opener = [](Loop& inner, Endpoints& origin, bool& done) -> Task<void> {
      done = (co_await origin.open(inner, kPatience)).has_value();
    };
    bool first = false;
    bool second = false;
    bool third = false;
    Held one(opener(on, from, first));
    Held two(opener(on, from, second));
    one.destroy();
    two.destroy();
    const Instant start = now();
    // Two more may be held up at the silent addresses, then the third answers.
    TaskScope scope;
    for (bool* done : {&first, &second, &third}) scope.spawn(opener(on, from, *done));
    co_await scope.join();
    EXPECT_TRUE(first && second && third);
    EXPECT_LT(now() - start, 10s);
  }(loop(), endpoints));
}

}  // namespace
}  // namespace plimsoll::net
