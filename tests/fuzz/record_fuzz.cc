// stats::from_json: a record that is accepted is written again, and that text is read and written the same; histograms
// in it decode or are refused, and one that decodes encodes to itself.
#include <cstdint>
#include <string>

#include "stats/histogram.h"
#include "stats/record_json.h"
#include "tests/fuzz/expect.h"

namespace plimsoll::fuzz {
namespace {

void check_histogram(std::string_view base64) {
  const auto histogram = stats::Histogram::decode_v2(base64);
  if (!histogram) return;
  expect(histogram->percentile(0) <= histogram->percentile(1), "percentiles are in order");
  const auto again = stats::Histogram::decode_v2(histogram->encode_v2());
  expect(again.has_value(), "what was decoded encodes");
  expect(again->count() == histogram->count(), "with all its counts");
}

void run(std::string_view input) {
  check_histogram(input);
  const auto record = stats::from_json(input);
  if (!record) {
    expect(!record.error().message.empty() && !record.error().message.contains('\n'),
           "a refusal is one line");
    return;
  }
  for (const auto& test : record->tests) {
    for (const auto& [name, encoded] : test.histograms) check_histogram(encoded);
  }
  const std::string text = stats::to_json(*record);
  const auto again = stats::from_json(text);
  expect(again.has_value(), "what is written is read");
  expect(stats::to_json(*again) == text, "and written the same");
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plimsoll::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
