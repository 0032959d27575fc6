#include "report/closing.h"

#include <fmt/format.h>

#include "report/plain.h"

namespace plimsoll::report {

std::string closing_lines(const stats::Record& record) {
  std::string out = "============\n";
  for (const stats::Target& target : record.targets) {
    for (const stats::Address& address : target.addresses) {
      if (address.problem.empty()) continue;
      out +=
          fmt::format("Address left out:\t{} ({})\n", printable(address.address), printable(address.problem));
    }
  }
  for (const stats::Finding& finding : record.findings) {
    // Each test's own lines have said so already.
    if (finding.id == "too-few-samples") continue;
    out += fmt::format("Finding:\t{} ({}): {}\n", finding.id, finding.severity, printable(finding.summary));
  }
  for (const stats::Threshold& threshold : record.thresholds) {
    out += fmt::format("Fail if:\t{}: {}, observed {:.6g}\n", printable(threshold.expression),
                       threshold.pass ? "passed" : "FAILED", threshold.observed);
  }
  out += fmt::format("Seed:\t{}\n", record.seed);
  if (record.interrupted) out += "Interrupted:\tthese are the figures up to then\n";
  return align_tabs(out);
}

}  // namespace plimsoll::report
