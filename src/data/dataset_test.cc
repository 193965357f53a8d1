// SPDX-License-Identifier: MIT
// Data sets as such: fingerprints, splits, descriptions, and those that are made up.
#include "data/dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "data/describe.h"
#include "data/split.h"
#include "data/synthetic.h"
#include "data/test_files.h"

namespace tandem::data {
namespace {

TEST(Dataset, FingerprintIsOfTheContent) {
  const Dataset a = make_synthetic({.rows = 50, .features = 3});
  Dataset b = make_synthetic({.rows = 50, .features = 3});
  b.name = "another";
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  b.dense[7] += 1;
  EXPECT_NE(a.fingerprint(), b.fingerprint());
  b.dense[7] -= 1;
  b.labels[3] ^= 1;
  EXPECT_NE(a.fingerprint(), b.fingerprint());
  EXPECT_EQ(a.bytes(), 50 * 3 * 4 + 50 * 4U);
}

TEST(Dataset, FingerprintIsOfTheTexts) {
  Dataset a;
  a.rows = 2;
  a.texts = {{"one", "two"}, {"three", "four"}};
  Dataset b = take_rows(a, std::vector<std::size_t>{0, 1});
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_EQ(a.bytes(), 2 * sizeof(Text) + 15);
  b.texts[0] = {"onet", "wo"};  // the same bytes, cut elsewhere
  EXPECT_NE(a.fingerprint(), b.fingerprint());
  b.texts = {a.texts[1], a.texts[0]};
  EXPECT_NE(a.fingerprint(), b.fingerprint());
}

TEST(Dataset, SearchesTheFoldersInOrder) {
  setenv("TANDEM_DATA", "from-environment", 1);
  const auto folders = search_folders("given");
  ASSERT_EQ(folders.size(), 3U);
  EXPECT_EQ(folders[0], "given");
  EXPECT_EQ(folders[1], "from-environment");
  unsetenv("TANDEM_DATA");
  EXPECT_EQ(search_folders().size(), 1U);
}

// ---- Splits -------------------------------------------------------------------------------------

TEST(Split, HoldsOutAFraction) {
  const Split split = split_rows(100, 0.2, 5);
  EXPECT_EQ(split.validation.size(), 20U);
  std::set<std::size_t> all(split.train.begin(), split.train.end());
  all.insert(split.validation.begin(), split.validation.end());
  EXPECT_EQ(all.size(), 100U);
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
  EXPECT_EQ(split_rows(100, 0.2, 5).validation, split.validation);
  EXPECT_NE(split_rows(100, 0.2, 6).validation, split.validation);
  EXPECT_TRUE(split_rows(10, 0, 1).validation.empty());
}

TEST(Split, RefusesFractionsThatLeaveNothing) {
  for (const double fraction : {-0.1, 1.0, 0.001, 0.999, std::nan("")}) {
    EXPECT_THROW(split_rows(10, fraction, 1), std::invalid_argument) << fraction;
  }
}

TEST(Split, TakesRowsOfDenseAndSparseData) {
  const std::vector<std::size_t> rows = {1, 3};
  for (const double sparse : {0.0, 0.5}) {
    const Dataset all = make_synthetic({.rows = 5, .features = 4, .sparse = sparse});
    const Dataset taken = take_rows(all, rows);
    EXPECT_EQ(taken.rows, 2U);
    EXPECT_EQ(taken.labels, (std::vector<std::uint32_t>{all.labels[1], all.labels[3]}));
    if (sparse > 0) {
      EXPECT_EQ(taken.offsets, (std::vector<std::uint64_t>{0, 2, 4}));
      EXPECT_EQ(taken.values[2], all.values[6]);
      EXPECT_EQ(taken.columns[3], all.columns[7]);
    } else {
      EXPECT_EQ(taken.dense[5], all.dense[13]);
    }
  }
}

TEST(Split, TakesRowsOfTexts) {
  Dataset all;
  all.name = "texts";
  all.rows = 3;
  all.texts = {{"a", "b"}, {"c", "d"}, {"e", "f"}};
  const Dataset taken = take_rows(all, std::vector<std::size_t>{0, 2});
  EXPECT_EQ(taken.rows, 2U);
  EXPECT_EQ(taken.name, "texts");
  EXPECT_EQ(taken.texts[1].prompt, "e");
  EXPECT_EQ(taken.texts[1].response, "f");
  EXPECT_EQ(taken.dense.size(), 0U);
}

// ---- Synthetic data -----------------------------------------------------------------------------

/// How many rows have the class that the generating weights give them.
double accuracy(const SyntheticSpec& spec, const Dataset& data) {
  const std::vector<double> weights = synthetic_weights(spec);
  std::size_t right = 0;
  for (std::size_t row = 0; row < data.rows; ++row) {
    std::vector<double> scores(data.classes);
    const auto add = [&](std::size_t column, double value) {
      for (std::size_t c = 0; c < data.classes; ++c) {
        scores[c] += weights[c * spec.features + column] * value;
      }
    };
    if (data.sparse) {
      for (auto i = data.offsets[row]; i < data.offsets[row + 1]; ++i) {
        if (data.columns[i] < spec.features) add(data.columns[i], data.values[i]);
      }
    } else {
      for (std::size_t j = 0; j < spec.features; ++j) add(j, data.dense[row * data.features + j]);
    }
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    right += data.labels[row] == static_cast<std::size_t>(best) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(data.rows);
}

TEST(Synthetic, FollowsItsModel) {
  for (const double sparse : {0.0, 0.1}) {
    const SyntheticSpec clean{.rows = 2000, .features = 30, .classes = 4, .sparse = sparse};
    EXPECT_EQ(accuracy(clean, make_synthetic(clean)), 1.0);
    const SyntheticSpec noisy{
        .rows = 5000, .features = 30, .classes = 4, .noise = 0.3, .sparse = sparse, .bias = true};
    EXPECT_NEAR(accuracy(noisy, make_synthetic(noisy)), 0.7, 0.03);
  }
}

TEST(Synthetic, HasItsConditionNumber) {
  // Two features: the eigenvalues of their covariance can be written down.
  const Dataset data = make_synthetic({.rows = 40'000, .features = 2, .condition = 100});
  double a = 0;
  double b = 0;
  double c = 0;
  for (std::size_t row = 0; row < data.rows; ++row) {
    const double x = data.dense[2 * row];
    const double y = data.dense[2 * row + 1];
    a += x * x;
    b += x * y;
    c += y * y;
  }
  const double middle = (a + c) / 2;
  const double radius = std::hypot((a - c) / 2, b);
  EXPECT_NEAR((middle + radius) / (middle - radius), 100, 5);
  EXPECT_GT(std::abs(b), 0.01 * middle);  // the axes were turned
}

TEST(Synthetic, IsSparseWithBias) {
  const Dataset data =
      make_synthetic({.rows = 10, .features = 1000, .sparse = 0.01, .bias = true, .seed = 3});
  EXPECT_EQ(data.features, 1001U);
  for (std::size_t row = 0; row < data.rows; ++row) {
    ASSERT_EQ(data.offsets[row + 1] - data.offsets[row], 11U);
    EXPECT_EQ(data.columns[data.offsets[row + 1] - 1], 1000U);
    for (auto i = data.offsets[row] + 1; i < data.offsets[row + 1]; ++i) {
      EXPECT_LT(data.columns[i - 1], data.columns[i]);
    }
  }
}

TEST(Synthetic, BeginsWithTheSameRowsWhateverTheirNumber) {
  for (const double sparse : {0.0, 0.2}) {
    const Dataset few =
        make_synthetic({.rows = 20, .features = 9, .noise = 0.2, .sparse = sparse, .seed = 4});
    const Dataset many =
        make_synthetic({.rows = 50, .features = 9, .noise = 0.2, .sparse = sparse, .seed = 4});
    EXPECT_EQ(take_rows(many, std::vector<std::size_t>{0, 1, 2, 19}).fingerprint(),
              take_rows(few, std::vector<std::size_t>{0, 1, 2, 19}).fingerprint());
  }
}

TEST(Synthetic, RefusesNonsense) {
  EXPECT_THROW(make_synthetic({.rows = 0}), std::invalid_argument);
  EXPECT_THROW(make_synthetic({.features = 0}), std::invalid_argument);
  EXPECT_THROW(make_synthetic({.classes = 1}), std::invalid_argument);
  EXPECT_THROW(make_synthetic({.condition = 0.5}), std::invalid_argument);
  EXPECT_THROW(make_synthetic({.noise = 1}), std::invalid_argument);
  EXPECT_THROW(make_synthetic({.sparse = 1.5}), std::invalid_argument);
  const std::size_t huge = std::size_t{1} << 30;
  EXPECT_THROW(make_synthetic({.rows = huge, .features = huge}), std::invalid_argument);
}

// ---- Descriptions -------------------------------------------------------------------------------

TEST(Describe, AgreesOnDenseAndSparse) {
  Dataset dense;
  dense.rows = 2;
  dense.features = 3;
  dense.classes = 2;
  dense.dense = Buffer<float>(6);
  dense.dense[0] = 2;
  dense.dense[3] = -1;
  dense.labels = {1, 1};
  Dataset sparse;
  sparse.rows = 2;
  sparse.features = 3;
  sparse.classes = 2;
  sparse.sparse = true;
  sparse.offsets = {0, 1, 2};
  sparse.columns = {0, 0};
  sparse.values = {2, -1};
  sparse.labels = {1, 1};
  for (const Dataset* data : {&dense, &sparse}) {
    const Description facts = describe(*data);
    EXPECT_EQ(facts.class_counts, (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(facts.minimum, -1);
    EXPECT_EQ(facts.maximum, 2);
    EXPECT_NEAR(facts.mean, 1.0 / 6, 1e-12);
    EXPECT_NEAR(facts.nonzero, 2.0 / 6, 1e-12);
    EXPECT_NEAR(facts.deviation, std::sqrt(5.0 / 6 - 1.0 / 36), 1e-12);
    EXPECT_EQ(facts.constant_features, 2U);
  }
}

TEST(Describe, CountsCharactersOfTexts) {
  Dataset data;
  data.rows = 3;
  data.texts = {{"né", "12345"}, {"研究a", ""}, {"", "1"}};
  const Description facts = describe(data);
  EXPECT_EQ(facts.prompts.minimum, 0U);
  EXPECT_EQ(facts.prompts.median, 2U);
  EXPECT_EQ(facts.prompts.maximum, 3U);
  EXPECT_EQ(facts.responses.minimum, 0U);
  EXPECT_EQ(facts.responses.median, 1U);
  EXPECT_EQ(facts.responses.maximum, 5U);
  EXPECT_TRUE(facts.class_counts.empty());
}

}  // namespace
}  // namespace tandem::data
