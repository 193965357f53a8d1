// SPDX-License-Identifier: MIT
// The statistics of a comparison: tests on a mean, Holm's adjustment, the best of n.
#include "study/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tandem::study {
namespace {

void check_finite(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw std::invalid_argument(
        fmt::format("Value {} of {} is {}; expected finite numbers", i, values.size(), values[i]));
  }
}

/// Deviations from the first value, so that equal values give exactly that value.
double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value - values[0];
  return values[0] + sum / static_cast<double>(values.size());
}

double standard_error_of(std::span<const double> values, double mean) {
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1) / n);
}

// Sums of weights are a little off; a quantile that falls on a step must not miss it for that.
constexpr double kSlack = 1e-12;

/// Calls use(k, weight) for the ranks k = 0, 1, ... that the least of n draws from `size` values can
/// have, with their probabilities.
template <typename Use>
void for_each_rank(std::size_t size, std::size_t n, Use use) {
  // The weight of rank k is that of rank k - 1 times (N - k - n + 1) / (N - k): no binomials, no
  // overflow, and where it underflows the rest is nothing.
  double weight = static_cast<double>(n) / static_cast<double>(size);
  for (std::size_t k = 0; k + n <= size && weight > 0; ++k) {
    if (k > 0) weight *= static_cast<double>(size - k - n + 1) / static_cast<double>(size - k);
    use(k, weight);
  }
}

BestOf best_of_sorted(std::span<const double> sorted, std::size_t n) {
  const double most = sorted.back();
  BestOf best{.n = n, .expected = 0, .low = most, .median = most, .high = most};
  double below = 0;  // the probability of a rank before k
  double above = 0;  // what is expected above the least of all
  for_each_rank(sorted.size(), n, [&](std::size_t k, double weight) {
    above += weight * (sorted[k] - sorted[0]);
    const double upto = below + weight;
    const auto reaches = [&](double share) {
      return below < share - kSlack && upto >= share - kSlack;
    };
    if (reaches(0.1)) best.low = sorted[k];
    if (reaches(0.5)) best.median = sorted[k];
    if (reaches(0.9)) best.high = sorted[k];
    below = upto;
  });
  best.expected = sorted[0] + above;
  return best;
}

void check_draws(std::size_t n, std::size_t size) {
  if (n >= 1 && n <= size) return;
  throw std::invalid_argument(
      fmt::format("The best of {} was asked for; expected 1 to {}, the number of values", n, size));
}

}  // namespace

Summary summarize(std::span<const double> values) {
  check_finite(values);
  Summary summary;
  if (values.empty()) return summary;
  const double mean = mean_of(values);
  summary.mean = mean;
  if (values.size() < 2) return summary;
  const double error = standard_error_of(values, mean);
  summary.standard_error = error;

  const double ratio = mean / error;
  if (error == 0 || !std::isfinite(ratio)) {
    summary.s = mean > 0 ? 0.0 : mean < 0 ? 1.0 : 0.5;
    summary.p = mean == 0 ? 1.0 : 0.0;
    summary.interval = {{mean, mean}};
    return summary;
  }
  using boost::math::complement;
  const boost::math::normal normal;
  const boost::math::students_t t(static_cast<double>(values.size() - 1));
  summary.s = cdf(complement(normal, ratio));
  summary.p = std::min(1.0, 2 * cdf(complement(t, std::abs(ratio))));
  const double reach = quantile(complement(t, 0.025)) * error;
  summary.interval = {{mean - reach, mean + reach}};
  return summary;
}

char mark_of(double s) { return s < 0.05 ? '+' : s > 0.95 ? '-' : '~'; }

std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!p[i] || std::isnan(*p[i])) continue;
    if (*p[i] < 0 || *p[i] > 1) {
      throw std::invalid_argument(
          fmt::format("p-value {} of {} is {}; expected 0 to 1", i, p.size(), *p[i]));
    }
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return *p[a] < *p[b]; });
  std::vector<std::optional<double>> adjusted(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto hypotheses = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, hypotheses * *p[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

std::vector<BestOf> best_of(std::vector<double> values, std::span<const std::size_t> draws) {
  check_finite(values);
  std::sort(values.begin(), values.end());
  std::vector<BestOf> curve;
  curve.reserve(draws.size());
  for (const std::size_t n : draws) {
    check_draws(n, values.size());
    curve.push_back(best_of_sorted(values, n));
  }
  return curve;
}

double median_choice(std::span<const double> chosen_by, std::span<const double> score,
                     std::size_t n) {
  if (chosen_by.size() != score.size()) {
    throw std::invalid_argument(
        fmt::format("Found {} scores of {} values", score.size(), chosen_by.size()));
  }
  for (const std::span<const double> values : {chosen_by, score}) {
    if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); })) {
      throw std::invalid_argument("Found NaN among values to choose by, expected numbers");
    }
  }
  check_draws(n, chosen_by.size());
  std::vector<std::size_t> order(chosen_by.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t two) {
    return chosen_by[one] < chosen_by[two];
  });
  std::vector<std::pair<double, double>> scored;  // a score and its probability
  for_each_rank(order.size(), n, [&](std::size_t k, double weight) {
    const double value = chosen_by[order[k]];
    scored.emplace_back(std::isinf(value) ? value : score[order[k]], weight);
  });
  std::sort(scored.begin(), scored.end());
  double upto = 0;
  for (const auto& [value, weight] : scored) {
    upto += weight;
    if (upto >= 0.5 - kSlack) return value;
  }
  return scored.back().first;
}

std::vector<std::size_t> draw_sizes(std::size_t most) {
  std::vector<std::size_t> sizes;
  for (std::size_t power = 1; power < most; power *= 10) {
    for (const std::size_t digit : {1, 2, 3, 5, 7}) {
      if (digit * power < most) sizes.push_back(digit * power);
    }
  }
  if (most > 0) sizes.push_back(most);
  return sizes;
}

}  // namespace tandem::study
