// How throughput grows with concurrency: the Universal Scalability Law, and the ceiling on operations that really
// progress at once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/campaign_csv.h"
#include "stats/record.h"

namespace plimsoll::report {

// Rate of one level of concurrency.
struct LevelRate {
  double concurrency = 0;
  double rate = 0;  // operations a second
};

// X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)): lambda is the rate of one client, sigma what they wait
// for each other, kappa what they cost each other (N. Gunther). Fitted by least squares of relative errors, with no
// coefficient below 0. nullopt for fewer than three levels or a rate that is not above 0.
struct Usl {
  double lambda = 0;
  double sigma = 0;
  double kappa = 0;

  double rate(double concurrency) const;
  // The concurrency of the highest rate; nullopt where the curve only ever rises.
  std::optional<double> peak() const;
};
std::optional<Usl> fit_usl(std::span<const LevelRate> levels);

// The levels of one target and action, repeats together.
struct Level {
  int concurrency = 0;
  double rate = 0;  // measured, where the record holds it; else by Little's law from the steady part
  double rate_low = 0;
  double rate_high = 0;
  double mean_s = 0;  // of the steady part: without the first wave and the last
  double mean_low_s = 0;
  double mean_high_s = 0;
  double median_s = 0;
  std::vector<double> first_wave;  // times of the operations that all started at once, ascending
};
std::vector<Level> levels(std::span<const CampaignSeries* const> series, const stats::Record& record);

// A ceiling on what progresses at once, whatever concurrency is asked for.
struct Ceiling {
  // Saturated rate times the time of an operation that need not wait. Operations that share a machine take longer
  // than a lone one, so that time is that of the first operations of each saturated level where it is longer than
  // the lone one's; `low` takes the lone one's, `high` the slowest of the first.
  double estimate = 0;
  double low = 0;
  double high = 0;
  int saturation_level = 0;  // the level from which more concurrency only adds waiting
  double rate = 0;
  double unloaded_s = 0;
  // True where operations wait in line for admission: the first ones of a level are as fast as a lone one. False
  // where all progress, each the slower the more there are: they share something that is used up.
  bool admission = false;
  std::optional<Usl> usl;
};

// nullopt where the rate still grows with concurrency, or with fewer than two levels.
std::optional<Ceiling> find_ceiling(const std::vector<Level>& levels);

// The curve through the levels' rates.
std::optional<Usl> fit_usl(const std::vector<Level>& levels);

}  // namespace plimsoll::report
