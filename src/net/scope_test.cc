// Tasks, scopes and events, and what becomes of them when a coroutine is destroyed while it waits.
#include "net/scope.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/engine_fixture.h"

namespace plimsoll::net {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Loop> make_loop() {
  return std::move(*Loop::create(IoKind::epoll));
}

Task<int> answer() {
  co_return 42;
}
Task<std::unique_ptr<int>> owned() {
  co_return std::make_unique<int>(7);
}
Task<int> deep(int levels) {
  if (levels == 0) co_return 0;
  co_return 1 + co_await deep(levels - 1);
}
Task<void> wait_for(Event& event, std::string& log, char mark) {
  co_await event.wait();
  log += mark;
}

TEST(Task, CarriesValuesMoveOnlyOnesToo) {
  int sum = 0;
  const Held task([](int& into) -> Task<void> {
    into += co_await answer();
    into += *co_await owned();
  }(sum));
  EXPECT_TRUE(task.done());
  EXPECT_EQ(sum, 49);
}

TEST(Task, ChainsOfAnyDepthNeedNoStack) {
  int depth = 0;
  const Held task([](int& into) -> Task<void> { into = co_await deep(100'000); }(depth));
  EXPECT_EQ(depth, 100'000);
}

TEST(Task, DoesNotStartUntilAwaited) {
  bool started = false;
  const auto before = live_frames();
  {
    const Task<void> task = [](bool& flag) -> Task<void> {
      flag = true;
      co_return;
    }(started);
  }
  EXPECT_FALSE(started);
  EXPECT_EQ(live_frames(), before);
}

TEST(Task, ConditionsMayAwait) {
  std::string log;
  const Held task([](std::string& into) -> Task<void> {
    if (co_await answer() == 42) into += 'i';
    while (co_await answer() != 42) into += 'x';
    switch (co_await answer()) {
      case 42:
        into += 's';
        break;
      default:
        into += 'x';
    }
  }(log));
  EXPECT_EQ(log, "is");
}

TEST(TaskScope, JoinsAllThatWereSpawned) {
  const auto before = live_frames();
  std::string log;
  Event event;
  {
    const Held task([](Event& gate, std::string& into) -> Task<void> {
      TaskScope scope;
      for (const char mark : {'a', 'b', 'c'}) scope.spawn(wait_for(gate, into, mark));
      EXPECT_EQ(scope.running(), 3U);
      co_await scope.join();
      EXPECT_EQ(scope.running(), 0U);
      into += '.';
    }(event, log));
    EXPECT_EQ(log, "");
    event.open();
    EXPECT_EQ(log, "abc.");
    EXPECT_TRUE(task.done());
  }
  EXPECT_EQ(live_frames(), before);
}

TEST(TaskScope, WhatATaskWasGivenGoesBeforeTheJoin) {
  std::string log;
  Event event;
  const Held task([](Event& gate, std::string& into) -> Task<void> {
    struct Mark {
      explicit Mark(std::string& text) : log(&text) {}
      ~Mark() { *log += 'g'; }
      std::string* log;
    };
    TaskScope scope;
    scope.spawn([](Event& awaited, std::unique_ptr<Mark> /*given*/) -> Task<void> {
      co_await awaited.wait();
    }(gate, std::make_unique<Mark>(into)));
    co_await scope.join();
    into += 'j';
  }(event, log));
  event.open();
  EXPECT_EQ(log, "gj");
}

TEST(TaskScope, JoinOfNothingIsImmediate) {
  bool joined = false;
  const Held task([](bool& into) -> Task<void> {
    TaskScope scope;
    scope.spawn([]() -> Task<void> { co_return; }());
    co_await scope.join();
    into = true;
  }(joined));
  EXPECT_TRUE(joined);
}

TEST(TaskScope, TakesRunningTasksAlongWhenDestroyed) {
  const auto before = live_frames();
  std::string log;
  Event event;
  Held task([](Event& gate, std::string& into) -> Task<void> {
    TaskScope scope;
    scope.spawn(wait_for(gate, into, 'a'));
    scope.spawn(wait_for(gate, into, 'b'));
    co_await scope.join();
    into += '.';
  }(event, log));
  task.destroy();
  EXPECT_EQ(live_frames(), before);
  event.open();
  EXPECT_EQ(log, "");
}

TEST(Event, PassesWhileOpenAndHoldsWhileShut) {
  std::string log;
  Event event;
  event.open();
  const Held first(wait_for(event, log, 'a'));
  event.shut();
  const Held second(wait_for(event, log, 'b'));
  EXPECT_EQ(log, "a");
  event.open();
  EXPECT_EQ(log, "ab");
  event.open();
  EXPECT_EQ(log, "ab");
}

TEST(Event, ForgetsAWaiterThatIsDestroyed) {
  std::string log;
  Event event;
  Held gone(wait_for(event, log, 'a'));
  const Held kept(wait_for(event, log, 'b'));
  gone.destroy();
  event.open();
  EXPECT_EQ(log, "b");
}

TEST(Event, AWokenTaskMayDestroyTheNext) {
  std::string log;
  Event event;
  std::optional<Held> second;
  const Held first([](Event& gate, std::string& into, std::optional<Held>& victim) -> Task<void> {
    co_await gate.wait();
    into += 'a';
    victim.reset();
  }(event, log, second));
  second.emplace(wait_for(event, log, 'b'));
  const Held third(wait_for(event, log, 'c'));
  event.open();
  EXPECT_EQ(log, "ac");
}

TEST(Event, WaitingAnewInsideOpenIsForTheNextTime) {
  int rounds = 0;
  Event event;
  Held task([](Event& gate, int& count) -> Task<void> {
    for (;;) {
      co_await gate.wait();
      ++count;
      gate.shut();
    }
  }(event, rounds));
  event.open();
  EXPECT_EQ(rounds, 1);
  event.open();
  EXPECT_EQ(rounds, 2);
  task.destroy();
}

TEST(Event, APulseResumesThoseWhoWaitAndNoOther) {
  std::string log;
  Event event;
  Held waits_again([](Event& gate, std::string& into) -> Task<void> {
    for (;;) {
      co_await gate.wait();
      into += 'a';
    }
  }(event, log));
  event.pulse();
  EXPECT_EQ(log, "a");
  EXPECT_FALSE(event.is_open());
  const Held late(wait_for(event, log, 'b'));
  EXPECT_EQ(log, "a");
  event.pulse();
  EXPECT_EQ(log, "aab");
}

TEST(Loop, ForgetsSleepersThatAreDestroyed) {
  const auto loop = make_loop();
  std::string log;
  loop->run([](Loop& on, std::string& into) -> Task<void> {
    const auto sleeper = [](Loop& inner, std::string& text) -> Task<void> {
      co_await inner.sleep_for(1ms);
      text += "woke";
    };
    Held gone(sleeper(on, into));
    gone.destroy();
    co_await on.sleep_for(5ms);
  }(*loop, log));
  EXPECT_EQ(log, "");
}

TEST(Loop, ForgetsYieldersThatAreDestroyed) {
  const auto loop = make_loop();
  std::string log;
  loop->run([](Loop& on, std::string& into) -> Task<void> {
    std::optional<Held> second;
    const Held first([](Loop& inner, std::optional<Held>& victim) -> Task<void> {
      co_await inner.yield();
      victim.reset();
    }(on, second));
    second.emplace([](Loop& inner, std::string& text) -> Task<void> {
      co_await inner.yield();
      text += "woke";
    }(on, into));
    co_await on.sleep_for(2ms);
  }(*loop, log));
  EXPECT_EQ(log, "");
}

TEST(Loop, SleepersWakeInOrderOfTheirDueTimes) {
  const auto loop = make_loop();
  std::string log;
  loop->run([](Loop& on, std::string& into) -> Task<void> {
    const auto sleeper = [](Loop& inner, std::string& text, Nanos time, char mark) -> Task<void> {
      co_await inner.sleep_for(time);
      text += mark;
    };
    TaskScope scope;
    scope.spawn(sleeper(on, into, 9ms, 'c'));
    scope.spawn(sleeper(on, into, 3ms, 'a'));
    scope.spawn(sleeper(on, into, 6ms, 'b'));
    co_await scope.join();
  }(*loop, log));
  EXPECT_EQ(log, "abc");
}

// A pacer that is behind its schedule sleeps until times in the past, over and over.
TEST(Loop, SleepingUntilThePastLetsTheNetworkHaveItsTurn) {
  const auto loop = make_loop();
  bool connected = false;
  auto listener = std::move(*Listener::open(*parse_listen("0"), {}));
  loop->run([](Loop& on, Listener& at, bool& flag) -> Task<void> {
    TaskScope scope;
    scope.spawn([](Loop& inner, Listener& to, bool& done) -> Task<void> {
      const auto stream = co_await connect(inner, to.address(), {}, {.idle = 5s});
      done = stream.has_value();
    }(on, at, flag));
    const Instant past = now() - 1s;
    for (int i = 0; i < 100'000 && !flag; ++i) co_await on.sleep_until(past);
    EXPECT_TRUE(flag);
    co_await scope.join();
  }(*loop, listener, connected));
}

TEST(Listener, ForgetsAnAcceptorThatIsDestroyed) {
  const auto loop = make_loop();
  auto listener = std::move(*Listener::open(*parse_listen("0"), {}));
  loop->run([](Loop& on, Listener& at) -> Task<void> {
    Held gone([](Loop& inner, Listener& from) -> Task<void> {
      const auto stream = co_await from.accept(inner);
      EXPECT_FALSE(stream.has_value());
    }(on, at));
    gone.destroy();
    const auto stream = co_await connect(on, at.address(), {}, {.idle = 5s});
    EXPECT_TRUE(stream.has_value());
    co_await on.sleep_for(2ms);
  }(*loop, listener));
}

TEST(Listener, StopEndsAWaitingAccept) {
  const auto loop = make_loop();
  auto listener = std::move(*Listener::open(*parse_listen("0"), {}));
  loop->run([](Loop& on, Listener& at) -> Task<void> {
    TaskScope scope;
    scope.spawn([](Loop& inner, Listener& from) -> Task<void> {
      const auto stream = co_await from.accept(inner);
      EXPECT_EQ(stream.error().kind, ErrorKind::cancelled);
    }(on, at));
    at.stop();
    co_await scope.join();
    EXPECT_EQ((co_await at.accept(on)).error().kind, ErrorKind::cancelled);
  }(*loop, listener));
}

}  // namespace
}  // namespace plimsoll::net
