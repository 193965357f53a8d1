// SPDX-License-Identifier: MIT
// Products with a triangle against the sums written out, and the same bits on any number of
// threads.
#include "optimizers/triangle.h"

#include <gtest/gtest.h>
#include <tandem/executor.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace tandem {
namespace {

std::vector<double> random_vector(std::size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

/// One more row, or an empty one where there are no values.
void push(Triangle& triangle, const std::vector<double>& values) {
  triangle.prepare(triangle.rows() + 1);
  const std::span<double> row = triangle.push(!values.empty());
  ASSERT_EQ(row.size(), values.size());
  std::copy(values.begin(), values.end(), row.begin());
}

// From 512 rows on there are two bands, from 1449 on there are sixteen.
class TriangleProducts : public ::testing::TestWithParam<std::size_t> {
 protected:
  TriangleProducts() {
    for (std::size_t k = 0; k < GetParam(); ++k) push(triangle_, random_vector(k + 1, random_));
  }
  std::mt19937_64 random_{GetParam()};
  Triangle triangle_;
  std::vector<double> x_ = random_vector(GetParam(), random_);
};

TEST_P(TriangleProducts, AreTheSums) {
  const std::size_t count = GetParam();
  std::vector<double> lower(count);
  std::vector<double> symmetric(count);
  const auto executor = pool_executor(2);
  triangle_.rows_times(*executor, x_, lower);
  triangle_.symmetric_times(*executor, x_, symmetric);
  for (std::size_t i = 0; i < count; ++i) {
    long double below = 0;
    for (std::size_t j = 0; j <= i; ++j) below += triangle_.row(i)[j] * x_[j];
    long double all = below;
    for (std::size_t k = i + 1; k < count; ++k) all += triangle_.row(k)[i] * x_[k];
    EXPECT_NEAR(lower[i], static_cast<double>(below), 1e-11) << i;
    EXPECT_NEAR(symmetric[i], static_cast<double>(all), 1e-11) << i;
  }
}

TEST_P(TriangleProducts, HaveTheSameBitsOnAnyNumberOfThreads) {
  const std::size_t count = GetParam();
  std::vector<double> alone(count);
  triangle_.symmetric_times(*serial_executor(), x_, alone);
  std::vector<double> lower_alone(count);
  triangle_.rows_times(*serial_executor(), x_, lower_alone);
  for (const int threads : {2, 3, 16, 40}) {
    std::vector<double> out(count, std::nan(""));
    triangle_.symmetric_times(*pool_executor(threads), x_, out);
    EXPECT_EQ(out, alone) << threads;
    triangle_.rows_times(*pool_executor(threads), x_, out);
    EXPECT_EQ(out, lower_alone) << threads;
  }
}

/// As the coefficients of weights are kept: a row is shorter than its number by one, or empty.
TEST_P(TriangleProducts, BearRowsThatAreEmpty) {
  const std::size_t count = GetParam();
  Triangle triangle(false);
  for (std::size_t k = 0; k < count; ++k) {
    push(triangle,
         k % 9 == 0 || (k > 40 && k < 60) ? std::vector<double>() : random_vector(k, random_));
  }
  std::vector<double> out(count, std::nan(""));
  triangle.rows_times(*pool_executor(2), x_, out);
  for (std::size_t i = 0; i < count; ++i) {
    long double sum = 0;
    for (std::size_t j = 0; j < triangle.row(i).size(); ++j) sum += triangle.row(i)[j] * x_[j];
    EXPECT_NEAR(out[i], static_cast<double>(sum), 1e-11) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, TriangleProducts,
                         ::testing::Values(1, 2, 5, 9, 511, 512, 513, 1100, 1449, 4200));

}  // namespace
}  // namespace tandem
