// What only io_uring has: systems that refuse it, and buffers that run out.
#include "net/uring_backend.h"

#include <sys/socket.h>

#include <cerrno>

#include "net/engine_fixture.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;

template <int kError>
int refuse(unsigned /*entries*/, io_uring* /*ring*/, io_uring_params* /*params*/) {
  return -kError;
}

// A kernel before 6.1 and 5.19: it knows none of the newer flags.
int old_kernel(unsigned entries, io_uring* ring, io_uring_params* params) {
  constexpr unsigned kKnown = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  if ((params->flags & ~kKnown) != 0) return -EINVAL;
  return io_uring_queue_init_params(entries, ring, params);
}

std::string refusal_of(UringRing::QueueInit queue_init) {
  const auto backend = make_uring_backend(queue_init);
  return backend ? std::string("accepted") : backend.error().message;
}

TEST(UringBackend, ARefusalNamesItsCause) {
  EXPECT_EQ(refusal_of(&refuse<ENOSYS>), "io_uring cannot be used: this kernel has none (ENOSYS)");
  EXPECT_EQ(refusal_of(&refuse<EPERM>),
            "io_uring cannot be used: it is forbidden here, by a container's profile or by "
            "kernel.io_uring_disabled (EPERM)");
  EXPECT_NE(refusal_of(&refuse<ENOMEM>).find("locked memory"), std::string::npos);
  EXPECT_NE(refusal_of(&refuse<EINVAL>).find("too old"), std::string::npos);
  EXPECT_NE(refusal_of(&refuse<EMFILE>).find("EMFILE"), std::string::npos);
}

class UringEngine : public testing::Test {
 protected:
  void SetUp() override {
    if (auto backend = make_uring_backend(); !backend) GTEST_SKIP() << backend.error().message;
  }
};

TEST_F(UringEngine, RunsOnAKernelWithoutTheNewerFlags) {
  EXPECT_EQ(refusal_of(&old_kernel), "accepted");
}

TEST_F(UringEngine, KeysSurvivePacking) {
  const UringKey key{.slot = (1U << 28) - 1, .generation = 0xfedcba98, .op = UringOp::watch};
  const UringKey again = UringKey::unpack(key.pack());
  EXPECT_EQ(again.slot, key.slot);
  EXPECT_EQ(again.generation, key.generation);
  EXPECT_EQ(again.op, key.op);
}

// Connections get more bytes in one turn than there are buffers: the kernel says ENOBUFS, more buffers are given to
// it, and nothing is lost.
TEST_F(UringEngine, SurvivesRunningOutOfBuffers) {
  const auto loop = std::move(*Loop::create(IoKind::uring));
  auto& ring = dynamic_cast<UringBackend&>(loop->backend()).ring();
  ASSERT_EQ(ring.buffers(), UringRing::kFirstBuffers);
  auto listener = std::move(*Listener::open(*parse_listen("0"), {}));
  const std::string bytes = pattern(60'000);
  int complete = 0;
  loop->run([](Loop& on, Listener& at, const std::string& sent, int& count) -> Task<void> {
    TaskScope scope;
    std::vector<std::unique_ptr<Stream>> servers;
    for (int i = 0; i < 200; ++i) {
      auto client = co_await connect(on, at.address(), {}, kPatience);
      auto server = co_await at.accept(on);
      EXPECT_TRUE(client.has_value() && server.has_value());
      servers.push_back(std::move(*server));
      scope.spawn([](std::unique_ptr<Stream> own, const std::string& expected, int& done) -> Task<void> {
        const std::string got = co_await receive_all(*own, expected.size());
        done += got == expected ? 1 : 0;
      }(std::move(*client), sent, count));
    }
    co_await on.sleep_for(5ms);  // all receives are under way
    for (const auto& server : servers) {
      scope.spawn([](Stream& to, const std::string& all) -> Task<void> {
        EXPECT_TRUE((co_await to.send(all, {}, kPatience)).has_value());
      }(*server, sent));
    }
    co_await scope.join();
  }(*loop, listener, bytes, complete));
  EXPECT_EQ(complete, 200);
  EXPECT_GT(ring.buffers(), UringRing::kFirstBuffers);
}

// A connection that is closed with its receive under way must not linger in the kernel.
TEST_F(UringEngine, ClosingEndsWhatIsUnderWay) {
  const auto loop = std::move(*Loop::create(IoKind::uring));
  auto listener = std::move(*Listener::open(*parse_listen("0"), {}));
  loop->run([](Loop& on, Listener& at) -> Task<void> {
    auto client = co_await connect(on, at.address(), {}, kPatience);
    auto server = co_await at.accept(on);
    {
      Held receiver([](Stream& from) -> Task<void> {
        EXPECT_FALSE((co_await from.receive(kPatience)).has_value());
      }(**client));
      co_await on.sleep_for(2ms);
      client->reset();
    }
    const auto end = co_await (*server)->receive({.idle = 2s});
    EXPECT_TRUE(end.has_value() && end->empty());
  }(*loop, listener));
}

// The descriptor's number is used again while the entries of the stream before are still in the queue.
TEST_F(UringEngine, ANewStreamIsSafeFromTheOneBefore) {
  const auto loop = std::move(*Loop::create(IoKind::uring));
  auto listener = std::move(*Listener::open(*parse_listen("0"), {}));
  loop->run([](Loop& on, Listener& at) -> Task<void> {
    for (int i = 0; i < 100; ++i) {
      auto client = co_await connect(on, at.address(), {}, kPatience);
      auto server = co_await at.accept(on);
      {
        Held receiver([](Stream& from) -> Task<void> {
          EXPECT_FALSE((co_await from.receive(kPatience)).has_value());
        }(**client));
        client->reset();  // in the turn in which its receive was queued
      }
      client = co_await connect(on, at.address(), {}, kPatience);
      auto next = co_await at.accept(on);
      EXPECT_TRUE((co_await (*next)->send("for the new one", {}, kPatience)).has_value());
      EXPECT_EQ(co_await receive_all(**client, 15), "for the new one");
    }
  }(*loop, listener));
}

}  // namespace
}  // namespace plimsoll::net
