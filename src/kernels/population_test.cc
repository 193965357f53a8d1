// SPDX-License-Identifier: MIT
// The kernels of populations against plain scalar twins in double, over odd sizes, on every
// instruction set that this CPU has; and what makes a member's result its own: an element has the
// same bits alone and among others, at any place.
//
// Products are held to 64 eps of the sum of absolute values; a softmax to 16 eps of its scale;
// losses to 64 eps of the sum of absolute values of what is added up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_targets.h"

namespace tandem::kernels {
namespace {

template <class T>
class PopulationKernelsTest : public ::testing::Test {
 protected:
  static constexpr double kEps = std::numeric_limits<T>::epsilon();
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PopulationKernelsTest, Types);

constexpr std::size_t kDepths[] = {1, 2, 5, 64, 333, 1025};

/// Numbers of columns around the width of a panel.
template <class T>
std::vector<std::size_t> some_columns() {
  const std::size_t width = kernels<T>().panel_width();
  return {1, width - 1, width, width + 1, 2 * width, 3 * width + 2};
}

template <class T>
std::vector<const T*> rows_of(const std::vector<T>& matrix, std::size_t rows, std::size_t stride) {
  std::vector<const T*> pointers;
  for (std::size_t i = 0; i < rows; ++i) pointers.push_back(matrix.data() + i * stride);
  return pointers;
}

/// B as the product wants it, from its rows.
template <class T>
std::vector<T> packed(const std::vector<T>& b, std::size_t depth, std::size_t columns) {
  std::vector<T> room(packed_size(kernels<T>(), depth, columns));
  kernels<T>().pack(rows_of(b, depth, columns).data(), depth, columns, room.data());
  return room;
}

// ---- packing ------------------------------------------------------------------------------------

TYPED_TEST(PopulationKernelsTest, PackingPutsEachValueInItsPlace) {
  using T = TypeParam;
  on_every_target([] {
    const std::size_t width = kernels<T>().panel_width();
    for (const std::size_t depth : kDepths) {
      for (const std::size_t columns : some_columns<T>()) {
        const std::size_t stride = columns + 1;
        const auto b = random_values<T>(depth * stride, 1);
        std::vector<T> transposed(columns * (depth + 2));
        for (std::size_t k = 0; k < depth; ++k) {
          for (std::size_t j = 0; j < columns; ++j) {
            transposed[j * (depth + 2) + k] = b[k * stride + j];
          }
        }
        const std::size_t size = packed_size(kernels<T>(), depth, columns);
        EXPECT_EQ(size, (columns + width - 1) / width * width * depth);
        std::vector<T> twin(size + 1, T{0});
        for (std::size_t k = 0; k < depth; ++k) {
          for (std::size_t j = 0; j < columns; ++j) {
            twin[j / width * width * depth + k * width + j % width] = b[k * stride + j];
          }
        }
        twin[size] = T{7};  // behind the end
        std::vector<T> room(size + 1, T{7});
        kernels<T>().pack(rows_of(b, depth, stride).data(), depth, columns, room.data());
        EXPECT_EQ(room, twin);
        room.assign(size + 1, T{7});
        kernels<T>().pack_transposed(rows_of(transposed, columns, depth + 2).data(), columns, depth,
                                     room.data());
        EXPECT_EQ(room, twin);
      }
    }
  });
}

// ---- products -----------------------------------------------------------------------------------

TYPED_TEST(PopulationKernelsTest, ProductEqualsItsTwin) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t depth : kDepths) {
      for (const std::size_t columns : some_columns<T>()) {
        const auto b = random_values<T>(depth * columns, 2);
        const auto packed_b = packed(b, depth, columns);
        for (std::size_t rows = 1; rows <= 13; ++rows) {
          const auto a = random_values<T>((rows + 3) * (depth + 3), 3);
          // A as it is, and A transposed: stored with its rows side by side.
          for (const bool transposed : {false, true}) {
            const std::size_t a_row = transposed ? 1 : depth + 3;
            const std::size_t a_step = transposed ? rows + 3 : 1;
            const std::size_t c_row = columns + 2;
            std::vector<T> c(rows * c_row, T{7});
            kernels<T>().product(rows, columns, depth, a.data(), a_row, a_step, packed_b.data(),
                                 c.data(), c_row);
            for (std::size_t i = 0; i < rows; ++i) {
              for (std::size_t j = 0; j < columns; ++j) {
                double twin = 0;
                double magnitude = 0;
                for (std::size_t k = 0; k < depth; ++k) {
                  const double product = static_cast<double>(a[i * a_row + k * a_step]) *
                                         static_cast<double>(b[k * columns + j]);
                  twin += product;
                  magnitude += std::abs(product);
                }
                ASSERT_NEAR(c[i * c_row + j], twin, 64 * TestFixture::kEps * magnitude)
                    << rows << " x " << columns << " x " << depth << " at " << i << ", " << j;
              }
              EXPECT_EQ(c[i * c_row + columns], T{7});  // between the rows nothing is written
              EXPECT_EQ(c[i * c_row + columns + 1], T{7});
            }
          }
        }
      }
    }
  });
}

TYPED_TEST(PopulationKernelsTest, AnElementOfAProductHasTheSameBitsAlone) {
  using T = TypeParam;
  on_every_target([] {
    constexpr std::size_t kRows = 13;
    for (const std::size_t depth : kDepths) {
      for (const std::size_t columns : some_columns<T>()) {
        const auto a = random_values<T>(kRows * depth, 4);
        const auto b = random_values<T>(depth * columns, 5);
        std::vector<T> all(kRows * columns);
        kernels<T>().product(kRows, columns, depth, a.data(), depth, 1,
                             packed(b, depth, columns).data(), all.data(), columns);
        for (std::size_t j = 0; j < columns; ++j) {
          std::vector<T> column(depth);
          for (std::size_t k = 0; k < depth; ++k) column[k] = b[k * columns + j];
          const auto packed_column = packed(column, depth, 1);
          for (std::size_t i = 0; i < kRows; ++i) {
            T alone = 0;
            kernels<T>().product(1, 1, depth, a.data() + i * depth, depth, 1, packed_column.data(),
                                 &alone, 1);
            ASSERT_EQ(alone, all[i * columns + j]) << depth << " at " << i << ", " << j;
          }
        }
      }
    }
  });
}

TYPED_TEST(PopulationKernelsTest, ARowOfAProductHasTheSameBitsInAnyCrowd) {
  using T = TypeParam;
  on_every_target([] {
    constexpr std::size_t kDepth = 333;
    for (const std::size_t columns : some_columns<T>()) {
      const auto a = random_values<T>(kDepth, 6);
      const auto packed_b = packed(random_values<T>(kDepth * columns, 7), kDepth, columns);
      std::vector<T> alone(columns);
      kernels<T>().product(1, columns, kDepth, a.data(), kDepth, 1, packed_b.data(), alone.data(),
                           columns);
      for (std::size_t rows = 1; rows <= 13; ++rows) {
        for (std::size_t at = 0; at < rows; ++at) {
          auto crowd = random_values<T>(rows * kDepth, static_cast<unsigned>(100 + rows));
          // A neighbour that diverged changes nobody else.
          if (rows > 1) crowd[(at + 1) % rows * kDepth] = std::numeric_limits<T>::quiet_NaN();
          std::copy(a.begin(), a.end(), crowd.data() + at * kDepth);
          std::vector<T> c(rows * columns);
          kernels<T>().product(rows, columns, kDepth, crowd.data(), kDepth, 1, packed_b.data(),
                               c.data(), columns);
          for (std::size_t j = 0; j < columns; ++j) ASSERT_EQ(c[at * columns + j], alone[j]);
        }
      }
    }
  });
}

// ---- sparse products ----------------------------------------------------------------------------

/// Samples that are zero but for some values, dense and as the sparse products want them.
template <class T>
struct SomeSamples {
  std::vector<T> dense;  // a row a sample
  std::vector<std::uint32_t> blocks, sample_begin, places, place_begin, samples_of;
  std::vector<T> place_values, sample_values;
  SparseSamples<T> sparse;

  SomeSamples(std::size_t samples, std::size_t features, double share, unsigned seed) {
    dense = random_values<T>(samples * features, seed);
    const auto keep = random_values<double>(samples * features, seed + 1);
    for (std::size_t i = 0; i < dense.size(); ++i) {
      // A third of the features is zero in all samples.
      const bool kept = i % features % 12 >= 4 && std::erfc(keep[i] / std::sqrt(2.0)) < 2 * share;
      if (!kept) dense[i] = 0;
    }
    const auto at = [&](std::size_t n, std::size_t j) { return dense[n * features + j]; };
    const auto used = [&](std::size_t block) {
      for (std::size_t n = 0; n < samples; ++n) {
        for (std::size_t j = block; j < std::min(block + kFeatureBlock, features); ++j) {
          if (at(n, j) != 0) return true;
        }
      }
      return false;
    };
    for (std::size_t block = 0; block < features; block += kFeatureBlock) {
      if (used(block)) blocks.push_back(static_cast<std::uint32_t>(block));
    }
    const auto feature_of = [&](std::size_t place) {
      return blocks[place / kFeatureBlock] + place % kFeatureBlock;
    };
    const std::size_t all_places = blocks.size() * kFeatureBlock;
    sample_begin.push_back(0);
    for (std::size_t n = 0; n < samples; ++n) {
      for (std::size_t p = 0; p < all_places; ++p) {
        if (feature_of(p) >= features || at(n, feature_of(p)) == 0) continue;
        places.push_back(static_cast<std::uint32_t>(p));
        place_values.push_back(at(n, feature_of(p)));
      }
      sample_begin.push_back(static_cast<std::uint32_t>(places.size()));
    }
    place_begin.push_back(0);
    for (std::size_t p = 0; p < all_places; ++p) {
      for (std::size_t n = 0; n < samples; ++n) {
        if (feature_of(p) >= features || at(n, feature_of(p)) == 0) continue;
        samples_of.push_back(static_cast<std::uint32_t>(n));
        sample_values.push_back(at(n, feature_of(p)));
      }
      place_begin.push_back(static_cast<std::uint32_t>(samples_of.size()));
    }
    sparse = {.samples = samples,
              .features = features,
              .blocks = blocks.size(),
              .block_features = blocks.data(),
              .sample_begin = sample_begin.data(),
              .places = places.data(),
              .place_values = place_values.data(),
              .place_begin = place_begin.data(),
              .samples_of = samples_of.data(),
              .sample_values = sample_values.data()};
  }
};

/// The dense products are held to their twins above.
TYPED_TEST(PopulationKernelsTest, SparseProductsHaveTheBitsOfDenseOnes) {
  using T = TypeParam;
  on_every_target([] {
    const auto& simd = kernels<T>();
    for (const std::size_t features : {1, 4, 7, 64, 333}) {
      for (const std::size_t samples : {1, 3, 16, 65}) {
        for (const double share : {0.0, 0.1, 0.7}) {
          const SomeSamples<T> x(samples, features, share, static_cast<unsigned>(features));
          std::vector<T> by_feature(packed_size(simd, features, samples));
          simd.pack_transposed(rows_of(x.dense, samples, features).data(), samples, features,
                               by_feature.data());
          const std::vector<T> by_sample = packed(x.dense, samples, features);
          for (const std::size_t rows : {1, 2, 5, 20, 60, 131}) {
            const std::size_t a_row = features + 3;
            const std::size_t c_row = samples + 2;
            const auto weights = random_values<T>(rows * a_row, 31);
            std::vector<T> scratch(simd.sparse_scratch(rows, x.sparse) + 1, T{9});
            std::vector<T> expected(rows * c_row, T{7});
            std::vector<T> got = expected;
            simd.product(rows, samples, features, weights.data(), a_row, 1, by_feature.data(),
                         expected.data(), c_row);
            simd.sparse_product(rows, weights.data(), a_row, x.sparse, got.data(), c_row,
                                scratch.data());
            ASSERT_EQ(got, expected) << rows << " x " << features << " x " << samples;

            const auto coefficients = random_values<T>(rows * c_row, 32);
            std::vector<T> gradients(rows * a_row, T{7});
            std::vector<T> spread = gradients;
            simd.product(rows, features, samples, coefficients.data(), c_row, 1, by_sample.data(),
                         gradients.data(), a_row);
            simd.sparse_spread(rows, coefficients.data(), c_row, x.sparse, spread.data(), a_row,
                               scratch.data());
            ASSERT_EQ(spread, gradients) << rows << " x " << features << " x " << samples;
            EXPECT_EQ(scratch.back(), T{9});  // behind the end
          }
        }
      }
    }
  });
}

// ---- softmax ------------------------------------------------------------------------------------

/// Some samples' logits, a row a class, and a label each.
template <class T>
struct Logits {
  std::size_t classes;
  std::size_t samples;
  std::size_t row;
  std::vector<T> values;
  std::vector<std::uint32_t> labels;

  Logits(std::size_t class_count, std::size_t sample_count, double size)
      : classes(class_count),
        samples(sample_count),
        row(sample_count + 3),
        values(random_values<T>(class_count * row, static_cast<unsigned>(8 + sample_count))) {
    for (T& value : values) value *= static_cast<T>(size);
    for (std::size_t n = 0; n < samples; ++n) {
      labels.push_back(static_cast<std::uint32_t>(n * 5 % classes));
    }
  }

  double at(std::size_t c, std::size_t n) const { return static_cast<double>(values[c * row + n]); }
  double largest(std::size_t n) const {
    double most = at(0, n);
    for (std::size_t c = 1; c < classes; ++c) most = std::max(most, at(c, n));
    return most;
  }
  /// The sum of exp(logit - largest).
  double sum(std::size_t n) const {
    double total = 0;
    for (std::size_t c = 0; c < classes; ++c) total += std::exp(at(c, n) - largest(n));
    return total;
  }
};

constexpr std::size_t kSampleCounts[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 1000};
// The last makes most probabilities underflow.
constexpr double kLogitSizes[] = {0.1, 3, 200};

TYPED_TEST(PopulationKernelsTest, SoftmaxGradientEqualsItsTwin) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t classes : {1, 2, 3, 10}) {
      for (const std::size_t samples : kSampleCounts) {
        for (const double size : kLogitSizes) {
          const Logits<T> logits(classes, samples, size);
          const T scale = T{1} / static_cast<T>(samples);
          auto out = logits.values;
          const double rough = kernels<T>().softmax_gradient(out.data(), logits.row, classes,
                                                             logits.labels.data(), samples, scale);
          double rough_twin = 0;
          double magnitude = 0;
          for (std::size_t n = 0; n < samples; ++n) {
            const double own = logits.at(logits.labels[n], n);
            rough_twin += logits.largest(n) - own;
            magnitude += std::abs(logits.largest(n)) + std::abs(own);
            for (std::size_t c = 0; c < classes; ++c) {
              const double p = std::exp(logits.at(c, n) - logits.largest(n)) / logits.sum(n);
              const double twin =
                  (p - (c == logits.labels[n] ? 1 : 0)) * static_cast<double>(scale);
              ASSERT_NEAR(out[c * logits.row + n], twin,
                          16 * TestFixture::kEps * static_cast<double>(scale))
                  << classes << " classes, " << samples << " samples at " << c << ", " << n;
            }
          }
          EXPECT_NEAR(rough, rough_twin, 64 * TestFixture::kEps * magnitude);
          for (std::size_t c = 0; c < classes; ++c) {
            for (std::size_t n = samples; n < logits.row; ++n) {
              EXPECT_EQ(out[c * logits.row + n], logits.values[c * logits.row + n]);
            }
          }
        }
      }
    }
  });
}

TYPED_TEST(PopulationKernelsTest, SoftmaxLossEqualsItsTwin) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t classes : {1, 2, 3, 10}) {
      for (const std::size_t samples : kSampleCounts) {
        for (const double size : kLogitSizes) {
          const Logits<T> logits(classes, samples, size);
          const SoftmaxLoss loss = kernels<T>().softmax_loss(
              logits.values.data(), logits.row, classes, logits.labels.data(), samples);
          double twin = 0;
          double magnitude = 0;
          std::size_t correct = 0;
          for (std::size_t n = 0; n < samples; ++n) {
            const double own = logits.at(logits.labels[n], n);
            const double log_sum = std::log(logits.sum(n));
            twin += logits.largest(n) + log_sum - own;
            magnitude += std::abs(logits.largest(n)) + log_sum + std::abs(own);
            correct += own == logits.largest(n) ? 1 : 0;
          }
          EXPECT_NEAR(loss.loss, twin, 64 * TestFixture::kEps * magnitude)
              << classes << " classes, " << samples << " samples";
          EXPECT_EQ(loss.correct, correct);
        }
      }
    }
  });
}

/// p = softmax(logits) of a sample, and q = softmax(p).
template <class T>
struct Twice {
  std::vector<double> p, q;
  double sum = 0;  // of exp(p)

  Twice(const Logits<T>& logits, std::size_t n) {
    for (std::size_t c = 0; c < logits.classes; ++c) {
      p.push_back(std::exp(logits.at(c, n) - logits.largest(n)) / logits.sum(n));
      sum += std::exp(p.back());
    }
    for (const double each : p) q.push_back(std::exp(each) / sum);
  }
};

TYPED_TEST(PopulationKernelsTest, DoubleSoftmaxEqualsItsTwin) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t classes : {1, 2, 3, 10}) {
      for (const std::size_t samples : kSampleCounts) {
        for (const double size : kLogitSizes) {
          const Logits<T> logits(classes, samples, size);
          const T scale = T{1} / static_cast<T>(samples);
          auto out = logits.values;
          const double rough = kernels<T>().double_softmax_gradient(
              out.data(), logits.row, classes, logits.labels.data(), samples, scale);
          const SoftmaxLoss loss = kernels<T>().double_softmax_loss(
              logits.values.data(), logits.row, classes, logits.labels.data(), samples);
          double rough_twin = 0;
          double loss_twin = 0;
          std::size_t correct = 0;
          for (std::size_t n = 0; n < samples; ++n) {
            const Twice<T> twice(logits, n);
            const std::size_t label = logits.labels[n];
            rough_twin += 1 - twice.p[label];
            loss_twin += std::log(twice.sum) - twice.p[label];
            correct += logits.at(label, n) == logits.largest(n) ? 1 : 0;
            // dL/dz = p (dL/dp - p . dL/dp), dL/dp = q - e_label.
            double common = -twice.p[label];
            for (std::size_t c = 0; c < classes; ++c) common += twice.p[c] * twice.q[c];
            for (std::size_t c = 0; c < classes; ++c) {
              const double by_p = twice.q[c] - (c == label ? 1 : 0);
              ASSERT_NEAR(out[c * logits.row + n],
                          twice.p[c] * (by_p - common) * static_cast<double>(scale),
                          16 * TestFixture::kEps * static_cast<double>(scale))
                  << classes << " classes, " << samples << " samples at " << c << ", " << n;
            }
          }
          const double magnitude = static_cast<double>(samples);
          EXPECT_NEAR(rough, rough_twin, 64 * TestFixture::kEps * magnitude);
          EXPECT_NEAR(loss.loss, loss_twin, 64 * TestFixture::kEps * 3 * magnitude);
          EXPECT_EQ(loss.correct, correct);
          for (std::size_t c = 0; c < classes; ++c) {
            for (std::size_t n = samples; n < logits.row; ++n) {
              EXPECT_EQ(out[c * logits.row + n], logits.values[c * logits.row + n]);
            }
          }
        }
      }
    }
  });
}

/// Of equal logits the first is the answer, in both losses.
TYPED_TEST(PopulationKernelsTest, TheFirstOfEqualLogitsIsTheAnswer) {
  using T = TypeParam;
  on_every_target([] {
    const std::vector<T> logits{1, 2, 2, 0};  // a class each, one sample
    for (const std::uint32_t label : {0U, 1U, 2U, 3U}) {
      const std::size_t expected = label == 1 ? 1 : 0;
      EXPECT_EQ(kernels<T>().softmax_loss(logits.data(), 1, 4, &label, 1).correct, expected);
      EXPECT_EQ(kernels<T>().double_softmax_loss(logits.data(), 1, 4, &label, 1).correct, expected);
    }
  });
}

TYPED_TEST(PopulationKernelsTest, ASampleHasTheSameSoftmaxAtAnyPlace) {
  using T = TypeParam;
  on_every_target([] {
    constexpr std::size_t kClasses = 7;
    const Logits<T> logits(kClasses, 100, 3);
    const T scale{0.25};
    for (const auto gradient :
         {kernels<T>().softmax_gradient, kernels<T>().double_softmax_gradient}) {
      auto all = logits.values;
      gradient(all.data(), logits.row, kClasses, logits.labels.data(), logits.samples, scale);
      for (std::size_t n = 0; n < logits.samples; ++n) {
        std::vector<T> alone(kClasses);
        for (std::size_t c = 0; c < kClasses; ++c) alone[c] = logits.values[c * logits.row + n];
        gradient(alone.data(), 1, kClasses, logits.labels.data() + n, 1, scale);
        for (std::size_t c = 0; c < kClasses; ++c) ASSERT_EQ(alone[c], all[c * logits.row + n]);
      }
    }
  });
}

/// Whatever class and sample a logit that is not finite belongs to.
TYPED_TEST(PopulationKernelsTest, SoftmaxTellsOfLogitsThatAreNotFinite) {
  using T = TypeParam;
  on_every_target([] {
    constexpr std::size_t kClasses = 3;
    const T infinity = std::numeric_limits<T>::infinity();
    for (const std::size_t samples : {1, 5, 16, 37}) {
      const Logits<T> good(kClasses, samples, 1);
      for (std::size_t c = 0; c < kClasses; ++c) {
        for (std::size_t n = 0; n < samples; ++n) {
          for (const T bad : {std::numeric_limits<T>::quiet_NaN(), infinity, -infinity}) {
            const auto check = [&](auto loss_sum, auto gradient) {
              auto logits = good.values;
              logits[c * good.row + n] = bad;
              const SoftmaxLoss loss =
                  loss_sum(logits.data(), good.row, kClasses, good.labels.data(), samples);
              EXPECT_FALSE(std::isfinite(loss.loss))
                  << "loss " << loss.loss << " with " << bad << " at " << c << ", " << n << " of "
                  << samples;
              const double rough =
                  gradient(logits.data(), good.row, kClasses, good.labels.data(), samples, T{1});
              EXPECT_FALSE(std::isfinite(rough)) << "rough loss " << rough << " with " << bad
                                                 << " at " << c << ", " << n << " of " << samples;
            };
            check(kernels<T>().softmax_loss, kernels<T>().softmax_gradient);
            check(kernels<T>().double_softmax_loss, kernels<T>().double_softmax_gradient);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace tandem::kernels
