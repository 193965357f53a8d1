// SPDX-License-Identifier: MIT
#include "paper/estimator_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tandem::paper {
namespace {

/// Of seeds and settings: logs[seed][setting], infinite where it diverged.
using Logs = std::vector<std::vector<double>>;

/// An error of 0, which rounding may give, must not make a logarithm infinite.
double log_ratio(double error, double batch) {
  return std::log(std::max(error, std::numeric_limits<double>::min())) - std::log(batch);
}

/// One epoch's sums, or those of all.
EpochErrors sums_of(const TrajectoryErrors& errors, std::optional<std::size_t> epoch) {
  if (epoch) return errors.epochs.at(*epoch - 1);
  EpochErrors sum = errors.epochs.at(0);
  for (std::size_t e = 1; e < errors.epochs.size(); ++e) {
    const EpochErrors& other = errors.epochs[e];
    sum.gradient += other.gradient;
    sum.batch += other.batch;
    for (std::size_t s = 0; s < sum.estimators.size(); ++s) {
      sum.estimators[s] += other.estimators[s];
    }
  }
  return sum;
}

Logs logs_of(const std::vector<EpochErrors>& seeds) {
  Logs logs;
  for (const EpochErrors& errors : seeds) {
    if (!(errors.batch > 0)) {
      throw std::invalid_argument(
          "Cannot compare estimators: the mini-batches' gradients have no error, expected batches "
          "that are a part of the samples");
    }
    std::vector<double>& row = logs.emplace_back();
    for (const double error : errors.estimators) row.push_back(log_ratio(error, errors.batch));
  }
  return logs;
}

/// The mean over all seeds but one; over all where `but` is none of them.
double mean_log(const Logs& logs, std::size_t setting, std::size_t but) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t seed = 0; seed < logs.size(); ++seed) {
    if (seed == but) continue;
    sum += logs[seed][setting];
    ++count;
  }
  return sum / static_cast<double>(count);
}

/// The first with the least mean.
std::size_t best_of(const Logs& logs, const std::vector<std::size_t>& candidates, std::size_t but) {
  std::size_t best = candidates.front();
  double least = mean_log(logs, best, but);
  for (const std::size_t setting : candidates) {
    const double mean = mean_log(logs, setting, but);
    if (mean >= least) continue;
    best = setting;
    least = mean;
  }
  return best;
}

template <class Value>
bool at_edge(const std::vector<EstimatorSetting>& settings,
             const std::vector<std::size_t>& candidates, std::size_t chosen, const Value& value) {
  const auto [least, most] = std::minmax_element(
      candidates.begin(), candidates.end(),
      [&](std::size_t a, std::size_t b) { return value(settings[a]) < value(settings[b]); });
  const double low = value(settings[*least]);
  const double high = value(settings[*most]);
  const double here = value(settings[chosen]);
  return low < high && (here == low || here == high);
}

/// A side of the comparison, and its log ratio on each seed.
struct Side {
  BestEstimator best;
  std::vector<double> logs;
};

Side side_of(const std::vector<EstimatorSetting>& settings,
             const std::vector<std::size_t>& candidates, const Logs& logs) {
  const std::size_t seeds = logs.size();
  const std::size_t best = best_of(logs, candidates, seeds);
  Side side;
  side.best.setting = settings[best];
  side.best.alpha_at_edge = at_edge(settings, candidates, best,
                                    [](const EstimatorSetting& setting) { return setting.alpha; });
  side.best.beta_at_edge = at_edge(settings, candidates, best,
                                   [](const EstimatorSetting& setting) { return setting.beta; });
  double sum = 0;
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    const std::size_t chosen = best_of(logs, candidates, seed);
    side.best.agreeing += chosen == best ? 1 : 0;
    side.best.diverged += std::isfinite(logs[seed][chosen]) ? 0 : 1;
    side.logs.push_back(logs[seed][chosen]);
    sum += logs[seed][chosen];
  }
  if (side.best.diverged == 0) side.best.ratio = std::exp(sum / static_cast<double>(seeds));
  return side;
}

template <class Wanted>
std::vector<std::size_t> those(const std::vector<EstimatorSetting>& settings,
                               const Wanted& wanted) {
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < settings.size(); ++s) {
    if (wanted(settings[s])) found.push_back(s);
  }
  return found;
}

std::vector<std::string> learning_rules(const std::vector<EstimatorSetting>& settings) {
  std::vector<std::string> rules;
  for (const EstimatorSetting& setting : settings) {
    if (setting.alpha > 0 && std::find(rules.begin(), rules.end(), setting.rule) == rules.end()) {
      rules.push_back(setting.rule);
    }
  }
  return rules;
}

EstimatorComparison compare(const std::vector<EstimatorSetting>& settings,
                            const std::vector<EpochErrors>& seeds, const std::string& rule,
                            std::optional<std::size_t> epoch) {
  const Logs logs = logs_of(seeds);
  const Side without = side_of(
      settings, those(settings, [](const EstimatorSetting& s) { return s.alpha == 0; }), logs);
  const Side with = side_of(
      settings,
      those(settings, [&](const EstimatorSetting& s) { return s.alpha > 0 && s.rule == rule; }),
      logs);
  EstimatorComparison comparison{.rule = rule,
                                 .epoch = epoch,
                                 .seeds = seeds.size(),
                                 .without = without.best,
                                 .with = with.best};
  double gradient = 0;
  for (const EpochErrors& errors : seeds) gradient += log_ratio(errors.gradient, errors.batch);
  comparison.gradient = std::exp(gradient / static_cast<double>(seeds.size()));
  if (without.best.diverged + with.best.diverged == 0) {
    std::vector<double> quotients;
    for (std::size_t seed = 0; seed < seeds.size(); ++seed) {
      quotients.push_back(with.logs[seed] - without.logs[seed]);
    }
    comparison.log_quotient = study::summarize(quotients);
  }
  return comparison;
}

std::vector<EpochErrors> all_sums(const std::vector<TrajectoryErrors>& seeds,
                                  std::optional<std::size_t> epoch) {
  std::vector<EpochErrors> sums;
  for (const TrajectoryErrors& errors : seeds) sums.push_back(sums_of(errors, epoch));
  return sums;
}

}  // namespace

std::vector<EstimatorComparison> compare_estimators(const std::vector<EstimatorSetting>& settings,
                                                    const std::vector<TrajectoryErrors>& seeds) {
  if (seeds.size() < 2) {
    throw std::invalid_argument(fmt::format(
        "Cannot compare estimators: {} seeds, expected 2 or more, because settings are chosen on "
        "the others",
        seeds.size()));
  }
  if (those(settings, [](const EstimatorSetting& s) { return s.alpha == 0; }).empty()) {
    throw std::invalid_argument(
        "Cannot compare estimators: no setting has alpha = 0, expected one to compare with");
  }
  std::vector<EstimatorComparison> comparisons;
  for (const std::string& rule : learning_rules(settings)) {
    comparisons.push_back(compare(settings, all_sums(seeds, {}), rule, {}));
    for (std::size_t epoch = 1; epoch <= seeds.front().epochs.size(); ++epoch) {
      comparisons.push_back(compare(settings, all_sums(seeds, epoch), rule, epoch));
    }
  }
  return comparisons;
}

std::vector<AlphaProfile> profile_alphas(const std::vector<EstimatorSetting>& settings,
                                         const std::vector<TrajectoryErrors>& seeds) {
  const Logs logs = logs_of(all_sums(seeds, {}));
  std::vector<AlphaProfile> profile;
  for (const EstimatorSetting& setting : settings) {
    const auto same = [&](const EstimatorSetting& other) {
      return other.rule == setting.rule && other.alpha == setting.alpha;
    };
    if (std::any_of(profile.begin(), profile.end(),
                    [&](const AlphaProfile& each) { return same(each.setting); })) {
      continue;
    }
    const std::size_t best = best_of(logs, those(settings, same), logs.size());
    const double mean = mean_log(logs, best, logs.size());
    profile.push_back(
        {settings[best], std::isfinite(mean) ? std::optional(std::exp(mean)) : std::nullopt});
  }
  return profile;
}

}  // namespace tandem::paper
