#include "report/plain.h"

#include <gtest/gtest.h>

namespace plimsoll::report {
namespace {

TEST(AlignTabs, PadsARunToItsLongestLabelAndOne) {
  EXPECT_EQ(align_tabs("a:\t1\nlonger:\t2\n"), "a:      1\nlonger: 2\n");
}

TEST(AlignTabs, ALineWithoutTabEndsTheRun) {
  EXPECT_EQ(align_tabs("longer:\t1\n\na:\t2\nmin: 3\nbb:\t4\n"), "longer: 1\n\na: 2\nmin: 3\nbb: 4\n");
}

TEST(AlignTabs, ASecondColumnHasItsOwnRun) {
  EXPECT_EQ(align_tabs("Failed requests:\t2\nError\treset count:\t1\nError\ttls count:\t1\n"),
            "Failed requests: 2\nError            reset count: 1\nError            tls count:   1\n");
}

TEST(AlignTabs, CountsCodePoints) {
  EXPECT_EQ(align_tabs("\u00b5:\t1\nab:\t2\n"), "\u00b5:  1\nab: 2\n");
}

TEST(Printable, LetsNoControlSequenceThrough) {
  EXPECT_EQ(printable("a\x1b[31m\r\n\x7f"), "a\\x1b[31m\\x0d\\x0a\\x7f");
  EXPECT_EQ(printable("\xff\xc3\xa9"), "\uFFFD\u00e9");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

TEST(JsonString, EscapesAndMendsUtf8) {
  EXPECT_EQ(json_string("a\"\\\n\x01\xed\xa0\x80"), "\"a\\\"\\\\\\n\\u0001\uFFFD\uFFFD\uFFFD\"");
}

TEST(XmlEscape, LeavesNoMarkup) {
  EXPECT_EQ(xml_escape("<a b='c'>&\"\x1b"), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;\uFFFD");
}

TEST(JsonNumber, IsShortestAndFinite) {
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(105.00491), "105.00491");
  EXPECT_EQ(json_number(1.0 / 0.0), "0");
}

TEST(Percent, OfNothingIsNothing) {
  EXPECT_EQ(percent(1, 0), "0%");
  EXPECT_EQ(percent(1, 3), "33.3%");
}

}  // namespace
}  // namespace plimsoll::report
