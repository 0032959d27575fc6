#include "cli/options.h"

#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

TEST(MaskedCommandLine, TellsNoSecret) {
  const std::vector<std::string> secrets = {"-A",
                                            "ann:hidden",
                                            "-Aann:hidden",
                                            "--auth",
                                            "ann:hidden",
                                            "--auth=ann:hidden",
                                            "-P",
                                            "ann:hidden",
                                            "--proxy-auth=ann:hidden",
                                            "-C",
                                            "session=hidden",
                                            "--cookie=session=hidden",
                                            "-X",
                                            "ann:hidden@proxy:1",
                                            "--proxy=ann:hidden@proxy:1",
                                            "-H",
                                            "Cookie: hidden",
                                            "-HAuthorization: hidden",
                                            "--header=Proxy-Authorization: hidden",
                                            "http://ann:hidden@host/a",
                                            "-A",
                                            "hidden"};
  const std::string line = masked_command_line(secrets);
  EXPECT_FALSE(line.contains("hidden")) << line;
  EXPECT_TRUE(line.contains("ann:***")) << line;
  EXPECT_TRUE(line.contains("***@proxy:1")) << line;
}

TEST(MaskedCommandLine, LeavesTheRestAsItWas) {
  EXPECT_EQ(
      masked_command_line({"plimsoll", "http", "-X", "proxy:3128", "-c", "4", "-H", "A: b c", "http://h/x"}),
      "plimsoll http -X proxy:3128 -c 4 -H 'A: b c' http://h/x");
}

}  // namespace
}  // namespace plimsoll::cli
