// SPDX-License-Identifier: MIT
// The reference optimum: on small data against loss and gradient of a twin in double, on any number
// of threads to the bit, and on NSL-KDD against values found with another program. The real data
// are looked for in TANDEM_TEST_DATA or ../shared/data beside the source tree.
#include "study/optimum.h"

#include <gtest/gtest.h>
#include <tandem/errors.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "data/synthetic.h"

namespace tandem::study {
namespace {

data::Task make_task(double sparse, std::size_t classes = 3, double noise = 0.1) {
  data::Task task;
  task.train = data::make_synthetic({.rows = 501,
                                     .features = 13,
                                     .classes = classes,
                                     .condition = 20,
                                     .noise = noise,
                                     .sparse = sparse,
                                     .rotate = true,
                                     .bias = true,
                                     .seed = 5});
  return task;
}

/// Row n as doubles.
std::vector<double> row_of(const data::Dataset& data, std::size_t n) {
  std::vector<double> x(data.features, 0.0);
  if (!data.sparse) {
    std::copy_n(data.dense.data() + n * data.features, data.features, x.data());
    return x;
  }
  for (auto k = data.offsets[n]; k < data.offsets[n + 1]; ++k) x[data.columns[k]] = data.values[k];
  return x;
}

struct Twin {
  double loss = 0;
  std::vector<double> gradient;
};

Twin twin(const data::Dataset& data, double lambda, const std::vector<double>& w) {
  Twin result;
  const auto samples = static_cast<double>(data.rows);
  for (const double weight : w) {
    result.loss += lambda / 2 * weight * weight;
    result.gradient.push_back(lambda * weight);
  }
  for (std::size_t n = 0; n < data.rows; ++n) {
    const std::vector<double> x = row_of(data, n);
    std::vector<double> p(data.classes, 0.0);
    double sum = 0;
    for (std::size_t c = 0; c < data.classes; ++c) {
      for (std::size_t j = 0; j < data.features; ++j) p[c] += w[c * data.features + j] * x[j];
    }
    result.loss -= p[data.labels[n]] / samples;
    for (double& value : p) sum += value = std::exp(value);
    result.loss += std::log(sum) / samples;
    for (std::size_t c = 0; c < data.classes; ++c) {
      const double error = p[c] / sum - (c == data.labels[n] ? 1 : 0);
      for (std::size_t j = 0; j < data.features; ++j) {
        result.gradient[c * data.features + j] += error * x[j] / samples;
      }
    }
  }
  return result;
}

class OptimumTest : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(, OptimumTest, ::testing::Values(0.0, 0.4),
                         [](const auto& kind) { return kind.param > 0 ? "sparse" : "dense"; });

TEST_P(OptimumTest, HasTheGradientAndTheLossOfATwin) {
  const data::Task task = make_task(GetParam());
  for (const double lambda : {1.0, 0.01, 1e-4}) {
    const Optimum optimum = find_optimum(task, lambda, 1e-12, *serial_executor());
    EXPECT_TRUE(optimum.converged) << lambda << ": " << optimum.gradient_norm;
    EXPECT_LE(optimum.gradient_norm, 1e-12);
    EXPECT_GT(optimum.iterations, 0U);
    EXPECT_GE(optimum.evaluations, optimum.iterations);
    const Twin expected = twin(task.train, lambda, optimum.weights);
    EXPECT_NEAR(optimum.loss, expected.loss, 1e-14);
    for (const double value : expected.gradient) EXPECT_NEAR(value, 0, 2e-12);
    // The rows of all classes add up to 0: what they have in common changes nothing but |w|.
    for (std::size_t j = 0; j < task.train.features; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < task.train.classes; ++c) {
        sum += optimum.weights[c * task.train.features + j];
      }
      EXPECT_NEAR(sum, 0, 1e-7);
    }
  }
}

TEST_P(OptimumTest, ThreadsDoNotMatter) {
  const data::Task task = make_task(GetParam());
  const Optimum serial = find_optimum(task, 0.01, 1e-10, *serial_executor());
  for (const int threads : {2, 3}) {
    const Optimum parallel = find_optimum(task, 0.01, 1e-10, *pool_executor(threads));
    EXPECT_EQ(parallel.weights, serial.weights);
    EXPECT_EQ(parallel.loss, serial.loss);
    EXPECT_EQ(parallel.gradient_norm, serial.gradient_norm);
    EXPECT_EQ(parallel.evaluations, serial.evaluations);
  }
}

TEST_P(OptimumTest, ComesBackFromAFile) {
  const data::Task task = make_task(GetParam());
  const Optimum optimum = find_optimum(task, 0.1, 1e-9, *serial_executor());
  std::stringstream file;
  save_optimum(file, task, 0.1, optimum);
  const std::string bytes = file.str();
  const Optimum loaded = load_optimum(file, task, 0.1);
  EXPECT_EQ(loaded.weights, optimum.weights);
  EXPECT_EQ(loaded.loss, optimum.loss);
  EXPECT_EQ(loaded.gradient_norm, optimum.gradient_norm);
  EXPECT_EQ(loaded.converged, optimum.converged);
  std::stringstream again(bytes);
  EXPECT_THROW(load_optimum(again, task, 0.2), StateError);
  std::stringstream other(bytes);
  EXPECT_THROW(load_optimum(other, make_task(GetParam(), 4), 0.1), StateError);
  std::stringstream part(bytes.substr(0, bytes.size() / 2));
  EXPECT_THROW(load_optimum(part, task, 0.1), StateError);
}

/// Labels without noise are separable: without lambda there is no minimum, F only falls.
TEST_P(OptimumTest, SaysWhereItStoppedWhenThereIsNoMinimum) {
  const data::Task task = make_task(GetParam(), 2, 0);
  const Optimum optimum = find_optimum(task, 0, 0, *serial_executor(), 50);
  EXPECT_FALSE(optimum.converged);
  EXPECT_LE(optimum.iterations, 50U);
  EXPECT_TRUE(std::isfinite(optimum.loss));
  EXPECT_LT(optimum.loss, 0.1);
  EXPECT_GT(optimum.gradient_norm, 0);
}

TEST(Optimum, WithoutLambdaOverlappingClassesHaveOne) {
  const data::Task task = make_task(0);
  const Optimum optimum = find_optimum(task, 0, 1e-11, *serial_executor());
  EXPECT_TRUE(optimum.converged) << optimum.gradient_norm;
}

TEST(Optimum, RefusesWhatMakesNoSense) {
  const data::Task task = make_task(0);
  const auto executor = serial_executor();
  EXPECT_THROW(find_optimum(task, -1, 1e-9, *executor), std::invalid_argument);
  EXPECT_THROW(find_optimum(task, std::numeric_limits<double>::quiet_NaN(), 1e-9, *executor),
               std::invalid_argument);
  EXPECT_THROW(find_optimum(task, 1, -1e-9, *executor), std::invalid_argument);
  EXPECT_THROW(find_optimum(data::Task{}, 1, 1e-9, *executor), std::invalid_argument);
}

/// Values of a prototype's L-BFGS, for the lambdas of the paper.
TEST(Optimum, OfNslKddIsTheKnownOne) {
  const char* variable = std::getenv("TANDEM_TEST_DATA");
  const auto folder = variable != nullptr ? std::filesystem::path(variable)
                                          : std::filesystem::path(TANDEM_SOURCE_DIR).parent_path() /
                                                "shared" / "data";
  if (!std::filesystem::exists(folder / "nsl-kdd")) {
    GTEST_SKIP() << "no real data: set TANDEM_TEST_DATA; there is no nsl-kdd in " << folder;
  }
  const data::Task task =
      data::load_task("nsl-kdd", {.search = {folder}, .validation = 0, .seed = 1, .options = {}});
  constexpr std::pair<double, double> kKnown[] = {{0.97, 0.484271114},
                                                  {0.023, 0.264323643},
                                                  {0.21, 0.381733386},
                                                  {0.088, 0.331585005},
                                                  {0.39, 0.421054026}};
  for (const auto& [lambda, loss] : kKnown) {
    const Optimum optimum = find_optimum(task, lambda, 1e-9, *default_executor());
    EXPECT_TRUE(optimum.converged) << optimum.gradient_norm;
    EXPECT_NEAR(optimum.loss, loss, 1e-9) << lambda;
  }
}

}  // namespace
}  // namespace tandem::study
