#include "oci/scope.h"

#include <gtest/gtest.h>

namespace plimsoll::oci {
namespace {

TEST(Scope, ParsesAndWritesTheGrammar) {
  for (const auto* text : {"repository:team/app:pull", "repository:team/app:pull,push", "registry:catalog:*",
                           "repository(plugin):a/b:pull", "repository:host.example:5000/app:delete,pull",
                           "aws", "repository:a:"}) {
    EXPECT_EQ(Scope::parse(text).text(), text);
  }
  const Scope scope = Scope::parse("repository:host.example:5000/app:push,pull,push");
  EXPECT_EQ(scope.type, "repository");
  EXPECT_EQ(scope.name, "host.example:5000/app");
  EXPECT_EQ(scope.actions, (std::vector<std::string>{"pull", "push"}));
}

TEST(Scope, OddTextIsKeptWhole) {
  EXPECT_EQ(Scope::parse("one:two").text(), "one:two");
  EXPECT_EQ(Scope::parse("").text(), "");
}

TEST(ScopeSet, EqualSetsHaveEqualText) {
  const auto a = ScopeSet::parse("repository:b:push,pull repository:a:pull registry:catalog:*");
  const auto b = ScopeSet::parse("registry:catalog:*  repository:a:pull repository:b:pull repository:b:push");
  EXPECT_EQ(a.text(), b.text());
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.text(), "registry:catalog:* repository:a:pull repository:b:pull,push");
  EXPECT_TRUE(ScopeSet::parse("").empty());
}

TEST(ScopeSet, C31UnionAddsWhatWasMissing) {
  auto set = ScopeSet::parse("repository:a:pull");
  const auto more = ScopeSet::parse("repository:a:pull,push repository:b:pull");
  EXPECT_FALSE(set.covers(more));
  EXPECT_TRUE(more.covers(set));
  set.add(more);
  EXPECT_TRUE(set.covers(more));
  EXPECT_EQ(set, more);
  EXPECT_TRUE(ScopeSet::parse("repository:a:*").covers(ScopeSet::parse("repository:a:push")));
  EXPECT_TRUE(set.covers(ScopeSet()));
}

}  // namespace
}  // namespace plimsoll::oci
