// report::read_results: what is read is sound, and of what is not at most so many problems are named.
#include <cmath>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>

#include "report/campaign_csv.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

void run(std::string_view input) {
  std::istringstream in{std::string(input)};
  report::CampaignSeries series;
  series.file = "push_results.csv";
  std::vector<report::CampaignProblem> problems;
  report::read_results(in, series, problems);
  expect(series.iterations.size() == series.seconds.size(), "the columns have one length");
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < series.seconds.size(); ++i) {
    expect(std::isfinite(series.seconds[i]) && series.seconds[i] >= 0, "times are finite and not negative");
    expect(seen.insert(series.iterations[i]).second, "an iteration comes once");
  }
  expect(problems.size() <= report::kProblemsPerFile + 1, "problems are named up to a number");
  for (const auto& problem : problems) {
    expect(!problem.text.empty() && !problem.message().contains('\n'), "a problem is one line");
  }
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
