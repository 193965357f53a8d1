// SPDX-License-Identifier: MIT
// The real data sets, where they are: counts, statistics, and for NSL-KDD the optimum of the
// paper's problem.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>

#include "data/dataset.h"
#include "data/describe.h"
#include "data/recipe.h"
#include "data/verify.h"
#include "tests/real_data.h"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;

class SharedData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = tests::real_data_folder();
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    if (folder_.empty() && name != "FashionMnist") GTEST_SKIP() << tests::kNoRealData;
  }

  Task load(const std::string& spec, std::map<std::string, std::string> options = {}) const {
    return load_task(spec, {.search = tests::real_data_search(),
                            .validation = 0,
                            .seed = 1,
                            .options = std::move(options)});
  }
  /// Skips when the data set itself is not there.
  bool has(const std::string& path) const { return fs::exists(folder_ / path); }

  fs::path folder_;
};

using Counts = std::vector<std::size_t>;

TEST_F(SharedData, Mnist) {
  if (!has("mnist")) GTEST_SKIP() << "no mnist/ in " << folder_;
  const Task task = load("mnist");
  EXPECT_EQ(task.train.rows, 60000U);
  EXPECT_EQ(task.train.features, 1025U);
  EXPECT_EQ(task.validation->rows, 10000U);
  EXPECT_EQ(describe(task.train).class_counts,
            (Counts{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  const Description plain = describe(load("mnist:pad=0,bias=off").train);
  EXPECT_NEAR(plain.mean, 0.1307, 5e-5);
  EXPECT_NEAR(plain.deviation, 0.3081, 5e-5);
  for (const FileCheck& check : verify(find_recipe("mnist"), {folder_})) {
    EXPECT_EQ(check.state, FileCheck::State::good) << check.name << " " << check.detail;
  }
}

TEST_F(SharedData, FashionMnist) {
  if (!fs::exists(tests::kSystemDatasets / "fashion-mnist")) {
    GTEST_SKIP() << "Debian's dataset-fashion-mnist is not installed";
  }
  const Task task = load("fashion-mnist");
  EXPECT_EQ(describe(task.train).class_counts, Counts(10, 6000));
  EXPECT_EQ(describe(*task.validation).class_counts, Counts(10, 1000));
  for (const FileCheck& check : verify(find_recipe("fashion-mnist"), {tests::kSystemDatasets})) {
    EXPECT_EQ(check.state, FileCheck::State::good) << check.name << " " << check.detail;
  }
  // MNIST's recipe on a folder that holds these files, which have the same names.
  EXPECT_THROW(load_task("mnist", {.search = {tests::kSystemDatasets / "fashion-mnist"},
                                   .validation = 0,
                                   .seed = 1,
                                   .options = {}}),
               DataError);
}

TEST_F(SharedData, Covtype) {
  if (!has("covtype")) GTEST_SKIP() << "no covtype/ in " << folder_;
  const Task task = load("covtype");
  EXPECT_EQ(task.train.features, 98U);
  EXPECT_EQ(task.train.classes, 7U);
  // 92962 in the sample, 581012 in UCI's file; the shares of the classes are UCI's in both.
  EXPECT_TRUE(task.train.rows == 92962 || task.train.rows == 581012) << task.train.rows;
  const Counts counts = describe(task.train).class_counts;
  const std::vector<double> uci = {211840, 283301, 35754, 2747, 9493, 17367, 20510};
  for (std::size_t c = 0; c < uci.size(); ++c) {
    EXPECT_NEAR(static_cast<double>(counts[c]) / static_cast<double>(task.train.rows),
                uci[c] / 581012, 1e-4);
  }
}

TEST_F(SharedData, NslKdd) {
  if (!has("nsl-kdd")) GTEST_SKIP() << "no nsl-kdd/ in " << folder_;
  const Task test = load("nsl-kdd");
  EXPECT_EQ(test.train.rows, 22544U);
  EXPECT_EQ(test.train.features, 117U);
  EXPECT_EQ(describe(test.train).class_counts, (Counts{9711, 12833}));
  const Task train20 = load("nsl-kdd:split=train20");
  EXPECT_EQ(train20.train.rows, 25192U);
  EXPECT_EQ(describe(train20.train).class_counts, (Counts{13449, 11743}));
  EXPECT_EQ(train20.validation->rows, 22544U);
  const Task train = load("nsl-kdd:split=train");
  EXPECT_EQ(train.train.rows, 125973U);
  EXPECT_EQ(describe(train.train).class_counts, (Counts{67343, 58630}));
  EXPECT_EQ(train.train.features, 38 + 3 + 70 + 11 + 1U);
}

TEST_F(SharedData, News20) {
  if (!has("news20")) GTEST_SKIP() << "no news20/ in " << folder_;
  const Task task = load("news20");
  EXPECT_EQ(task.train.rows, 11314U);
  EXPECT_EQ(task.validation->rows, 7532U);
  EXPECT_EQ(task.train.classes, 20U);
  EXPECT_EQ(task.train.features, 20001U);
  EXPECT_TRUE(task.train.sparse);
  const Counts counts = describe(task.train).class_counts;
  EXPECT_EQ(counts[0], 480U);
  EXPECT_EQ(counts[19], 377U);
}

TEST_F(SharedData, Cifar10) {
  if (!has("cifar-10")) GTEST_SKIP() << "no cifar-10/ in " << folder_;
  const Task task = load("cifar10");
  EXPECT_EQ(task.train.rows % 10000, 0U);
  EXPECT_EQ(task.train.features, 3073U);
  EXPECT_EQ(describe(*task.validation).class_counts, Counts(10, 1000));
  for (const FileCheck& check : verify(find_recipe("cifar10"), {folder_})) {
    EXPECT_NE(check.state, FileCheck::State::damaged) << check.name << " " << check.detail;
    EXPECT_NE(check.state, FileCheck::State::different) << check.name << " " << check.detail;
  }
}

TEST_F(SharedData, Alpaca) {
  if (!has("alpaca")) GTEST_SKIP() << "no alpaca/ in " << folder_;
  const Task task = load("alpaca");
  // 9229 in the sample, 52002 in Stanford's file; a few have no output.
  EXPECT_TRUE(task.train.rows == 9225 || task.train.rows > 51900) << task.train.rows;
  EXPECT_EQ(task.train.texts.size(), task.train.rows);
  EXPECT_EQ(task.train.features + task.train.classes, 0U);
  for (const Text& text : task.train.texts) {
    ASSERT_TRUE(text.prompt.starts_with("Below is an instruction"));
    ASSERT_TRUE(text.prompt.ends_with("\n\n### Response:"));
    ASSERT_FALSE(text.response.empty());
  }
  EXPECT_NE(task.notes[1].find("empty output"), std::string::npos) << task.notes[1];
  const Task part = load("alpaca:items=100,template=plain");
  EXPECT_EQ(part.train.rows, 100U);
  EXPECT_EQ(part.train.texts[99].response, task.train.texts[99].response);
}

TEST_F(SharedData, A9a) {
  if (!has("libsvm")) GTEST_SKIP() << "no libsvm/ in " << folder_;
  const Task task = load("libsvm:a9a");
  EXPECT_EQ(task.train.features, 124U);
  EXPECT_EQ(describe(task.train).class_counts, (Counts{32561 - 7841, 7841}));
  EXPECT_EQ(describe(*task.validation).class_counts, (Counts{16281 - 3846, 3846}));
}

/// The optimum of cross entropy + lambda/2 |w|^2 for two classes, whose weights are v and -v there:
/// Newton's method for u = 2 v, in which it is the logistic loss + lambda/4 |u|^2.
double two_class_optimum(const Dataset& data, double lambda) {
  const std::size_t d = data.features;
  std::vector<double> u(d);
  for (int iteration = 0;; ++iteration) {
    double loss = 0;
    std::vector<double> gradient(d);
    std::vector<double> hessian(d * d);
    std::vector<std::pair<std::size_t, double>> row;
    for (std::size_t r = 0; r < data.rows; ++r) {
      row.clear();
      double margin = 0;
      for (std::size_t j = 0; j < d; ++j) {
        const double x = data.dense[r * d + j];
        if (x == 0) continue;
        row.emplace_back(j, x);
        margin += u[j] * x;
      }
      const double sign = data.labels[r] == 0 ? 1 : -1;
      loss += std::log1p(std::exp(-std::abs(margin))) + std::max(0.0, -sign * margin);
      const double wrong = 1 / (1 + std::exp(sign * margin));
      const double curvature = wrong * (1 - wrong);
      for (std::size_t a = 0; a < row.size(); ++a) {
        gradient[row[a].first] -= sign * wrong * row[a].second;
        for (std::size_t b = 0; b <= a; ++b) {
          hessian[row[a].first * d + row[b].first] += curvature * row[a].second * row[b].second;
        }
      }
    }
    const auto n = static_cast<double>(data.rows);
    double norm = 0;
    double squares = 0;
    for (std::size_t j = 0; j < d; ++j) {
      gradient[j] = gradient[j] / n + lambda / 2 * u[j];
      norm += gradient[j] * gradient[j];
      squares += u[j] * u[j];
    }
    if (norm < 1e-24 || iteration == 50) return loss / n + lambda / 4 * squares;
    // Cholesky: hessian = L L', in place.
    for (double& element : hessian) element /= n;
    for (std::size_t i = 0; i < d; ++i) {
      hessian[i * d + i] += lambda / 2;
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = hessian[i * d + j];
        for (std::size_t k = 0; k < j; ++k) sum -= hessian[i * d + k] * hessian[j * d + k];
        hessian[i * d + j] = i == j ? std::sqrt(sum) : sum / hessian[j * d + j];
      }
    }
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t k = 0; k < i; ++k) gradient[i] -= hessian[i * d + k] * gradient[k];
      gradient[i] /= hessian[i * d + i];
    }
    for (std::size_t i = d; i-- > 0;) {
      for (std::size_t k = i + 1; k < d; ++k) gradient[i] -= hessian[k * d + i] * gradient[k];
      gradient[i] /= hessian[i * d + i];
      u[i] -= gradient[i];
    }
  }
}

TEST_F(SharedData, NslKddHasThePapersOptimum) {
  // The optima were computed by others, with L-BFGS on an encoding of their own: 116 inputs and a
  // bias, all of it penalised.
  if (!has("nsl-kdd")) GTEST_SKIP() << "no nsl-kdd/ in " << folder_;
  const Task task = load("nsl-kdd");
  EXPECT_NEAR(two_class_optimum(task.train, 0.97), 0.484271114, 2e-9);
  EXPECT_NEAR(two_class_optimum(task.train, 0.023), 0.264323643, 2e-9);
}

}  // namespace
}  // namespace tandem::data
