#include "oci/link_header.h"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::oci {
namespace {

std::string_view next_of(std::vector<std::string_view> headers) {
  return next_link(headers).value_or("none");
}

TEST(LinkHeader, C38EveryForm) {
  constexpr std::string_view kTarget = "/v2/a/tags/list?last=t&n=2";
  for (const auto header : {
           R"(</v2/a/tags/list?last=t&n=2>; rel="next")",
           R"(</v2/a/tags/list?last=t&n=2>;rel=next)",
           R"(</v2/a/tags/list?last=t&n=2> ; REL = "Next" ; title="x")",
           R"(  < /v2/a/tags/list?last=t&n=2 >; title="a, b; rel=prev"; rel="prev next")",
           R"(</first>; rel="first", </v2/a/tags/list?last=t&n=2>; rel="next", </last>; rel="last")",
           R"(</first>; title="\", rel=next", </v2/a/tags/list?last=t&n=2>; rel="next")",
           R"(/v2/a/tags/list?last=t&n=2; rel="next")",
           R"(, ,</v2/a/tags/list?last=t&n=2>; rel="next",)",
       }) {
    EXPECT_EQ(next_of({header}), kTarget) << header;
  }
  EXPECT_EQ(next_of({R"(</prev>; rel="prev")", R"(</next>; rel="next")"}), "/next");
}

TEST(LinkHeader, TargetIsKeptByteForByte) {
  EXPECT_EQ(next_of({R"(<https://h/v2/_catalog?last=a%2Fb&n=1,2;x=%20>; rel="next")"}),
            "https://h/v2/_catalog?last=a%2Fb&n=1,2;x=%20");
  EXPECT_EQ(next_of({R"(<?next_page=gAAAAAB%3D%3D>; rel="next")"}), "?next_page=gAAAAAB%3D%3D");
}

TEST(LinkHeader, NoNextIsNone) {
  for (const auto header :
       {"", R"(</x>; rel="prev")", "</x>", R"(</x>; rel="nextish")", R"(</x>; title="rel=next")",
        R"(<>; rel="next")", R"(; rel="next")", "<broken", R"(</x; rel="next")", R"(</x>; rel="next)"}) {
    EXPECT_EQ(next_of({header}), "none") << header;
  }
}

TEST(LinkHeader, EveryTruncationEnds) {
  constexpr std::string_view kHeader = R"(</a>; rel="first"; title="\"", </b?c=d,e>; rel="next")";
  for (std::size_t cut = 0; cut <= kHeader.size(); ++cut) {
    const auto target = next_of({kHeader.substr(0, cut)});
    EXPECT_TRUE(target == "none" || target == "/b?c=d,e") << cut;
  }
}

}  // namespace
}  // namespace plimsoll::oci
