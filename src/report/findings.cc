#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/causes.h"
#include "report/plain.h"
#include "report/scalability.h"
#include "report/series_findings.h"

namespace plimsoll::report {
namespace {

using stats::Finding;

struct Group {
  std::string target;
  std::string action;
  std::vector<const CampaignSeries*> series;
};

std::vector<Group> groups(const Campaign& campaign) {
  std::vector<Group> out;
  for (const CampaignSeries& series : campaign.series) {
    if (out.empty() || out.back().target != series.target || out.back().action != series.action) {
      out.push_back({series.target, series.action, {}});
    }
    out.back().series.push_back(&series);
  }
  return out;
}

// What a Docker daemon transfers at once by itself: max-concurrent-uploads and max-concurrent-downloads.
std::string known_limit(const std::string& action, const Ceiling& ceiling) {
  const std::string_view word = std::string_view(action).substr(0, action.find(' '));
  const int limit = word == "push" ? 5 : word == "pull" ? 3 : 0;
  if (limit == 0 || limit < ceiling.low || limit > ceiling.high) return "";
  return fmt::format("; {} is also what one Docker daemon {}s at once", limit,
                     word == "push" ? "upload" : "download");
}

Finding ceiling_finding(const Group& group, const Ceiling& ceiling) {
  Finding finding;
  finding.id = "concurrency-ceiling";
  finding.severity = "warning";
  finding.summary = fmt::format(
      "{}: about {:.2g} operations ({:.2g} to {:.2g}) progress at once, whatever is asked for; from "
      "concurrency {} on, "
      "more only adds waiting{}",
      printable(group.action), ceiling.estimate, ceiling.low, ceiling.high, ceiling.saturation_level,
      known_limit(group.action, ceiling));
  finding.evidence = {{"estimate", ceiling.estimate},
                      {"low", ceiling.low},
                      {"high", ceiling.high},
                      {"saturation_level", static_cast<double>(ceiling.saturation_level)},
                      {"unloaded_s", ceiling.unloaded_s},
                      {"rate_per_s", ceiling.rate}};
  if (ceiling.usl) {
    finding.evidence["usl_lambda"] = ceiling.usl->lambda;
    finding.evidence["usl_sigma"] = ceiling.usl->sigma;
    finding.evidence["usl_kappa"] = ceiling.usl->kappa;
    if (const auto peak = ceiling.usl->peak()) finding.evidence["usl_peak"] = *peak;
  }
  finding.context = {{"target", group.target},
                     {"action", group.action},
                     {"kind", ceiling.admission ? "admission" : "shared"},
                     {"side", "unknown"}};
  return finding;
}

bool overlap(const Finding& a, const Finding& b) {
  return a.evidence.at("low") <= b.evidence.at("high") && b.evidence.at("low") <= a.evidence.at("high");
}

// Several registries with one ceiling have it from the client; one that others don't have is the registry's.
void name_sides(std::vector<Finding>& ceilings, const std::vector<Group>& all) {
  for (Finding& finding : ceilings) {
    std::size_t targets = 0;
    std::size_t same = 0;
    for (const Group& group : all) targets += group.action == finding.context["action"] ? 1 : 0;
    for (const Finding& other : ceilings) {
      same += other.context.at("action") == finding.context["action"] && overlap(finding, other) ? 1 : 0;
    }
    if (targets < 2) {
      finding.summary +=
          "; which side it is on shows when a second registry is measured from the same client";
      continue;
    }
    const bool client = same == targets;
    finding.context["side"] = client ? "client" : "registry";
    finding.summary +=
        client ? "; all registries measured share it, so it must be looked for in the client"
               : "; other registries measured from the same client don't have it, so it is the registry's";
  }
}

}  // namespace

std::vector<Finding> campaign_findings(const Campaign& campaign, const stats::Record& record) {
  const std::vector<Group> all = groups(campaign);
  std::vector<Finding> out;
  for (const Group& group : all) {
    if (const auto ceiling = find_ceiling(levels(group.series, record)))
      out.push_back(ceiling_finding(group, *ceiling));
  }
  name_sides(out, all);
  for (const CampaignSeries& series : campaign.series) {
    std::ranges::move(series_findings(series), std::back_inserter(out));
  }
  name_causes(out);
  return out;
}

}  // namespace plimsoll::report
