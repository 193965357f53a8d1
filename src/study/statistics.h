// SPDX-License-Identifier: MIT
// The statistics of a comparison, as pure functions on numbers: mean and its error, the paper's
// Wald test, Student's t, Holm's adjustment, and what n settings drawn from a grid are worth.
// docs/statistics.md says what they mean.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tandem::study {

/// What seeds tell about one mean. Figures that so few values do not give are none.
struct Summary {
  std::optional<double> mean;            // of one value or more
  std::optional<double> standard_error;  // of two or more, with n - 1
  /// The paper's significance level: the upper tail of N(0, 1) at mean / error, so it is small
  /// where the mean is positive. Without spread it is 0, 0.5 or 1 by the mean's sign.
  std::optional<double> s;
  /// Two-sided t-test of mean = 0 with n - 1 degrees of freedom; without spread 0, or 1 at mean 0.
  std::optional<double> p;
  std::optional<std::array<double, 2>> interval;  // of 95 %, by the same t
};

/// Equal values have that value as their mean and no spread, whatever rounding makes of their sum.
/// Throws std::invalid_argument for a value that is not finite, as all functions here do.
Summary summarize(std::span<const double> values);

/// The paper's signs: '+' for s < 0.05 (better than the baseline), '-' for s > 0.95 (worse), '~'
/// for no significant difference.
char mark_of(double s);

/// Holm's adjusted p-values, each in the place of its own. Those that are none or NaN stay none and
/// do not count in the family.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p);

/// The least of n values drawn without replacement: its mean over all draws, and the values that a
/// tenth, a half and nine tenths of the draws do not exceed.
struct BestOf {
  std::size_t n = 0;
  double expected = 0;
  double low = 0;
  double median = 0;
  double high = 0;
};

/// Exact, by order statistics: the k-th smallest of N values is the least of n with probability
/// C(N-k, n-1) / C(N, n). The sizes in `draws` are 1..N, in any order. O(N) for each of them.
std::vector<BestOf> best_of(std::vector<double> values, std::span<const std::size_t> draws);

/// The best of n values drawn without replacement, scored by something else: of each draw the element
/// with the least value of `chosen_by` counts, and this is the median of its `score` over all draws.
/// With the same numbers in both it is the median of best_of. Infinite values are diverged runs: they
/// are chosen last, and a draw of nothing else has an infinite score. Throws std::invalid_argument for NaN, for sizes that differ and for n outside
/// 1..N. O(N log N).
double median_choice(std::span<const double> chosen_by, std::span<const double> score,
                     std::size_t n);

/// Sizes for a curve up to `most`: 1, 2, 3, 5, 7 times powers of ten, and `most` itself.
std::vector<std::size_t> draw_sizes(std::size_t most);

}  // namespace tandem::study
