// SPDX-License-Identifier: MIT
// Every kernel against a plain scalar twin in double, over odd sizes and misaligned starts, on
// every instruction set that this CPU has. Tolerances are in eps of the type, relative to the sum
// of absolute values of what is added up.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/test_targets.h"

namespace tandem::kernels {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 1000, 4095, 4096};

template <class T>
class KernelsTest : public ::testing::Test {
 protected:
  static constexpr double kEps = std::numeric_limits<T>::epsilon();
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsTest, Types);

TYPED_TEST(KernelsTest, DotEqualsItsTwin) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{4096},
                                   std::size_t{4097}, std::size_t{20'001}}) {
      for (const std::size_t shift : {0, 1, 3}) {
        const auto x = random_values<T>(size + shift, 1);
        const auto y = random_values<T>(size + shift, 2);
        double twin = 0;
        double magnitude = 0;
        for (std::size_t i = shift; i < size + shift; ++i) {
          const double product = static_cast<double>(x[i]) * static_cast<double>(y[i]);
          twin += product;
          magnitude += std::abs(product);
        }
        EXPECT_NEAR(kernels<T>().dot(x.data() + shift, y.data() + shift, size), twin,
                    64 * TestFixture::kEps * magnitude);
      }
    }
  });
}

TYPED_TEST(KernelsTest, FindsTheFirstValueThatIsNotFinite) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{9}, std::size_t{4096}, std::size_t{9001}}) {
      auto x = random_values<T>(size, 3);
      EXPECT_EQ(kernels<T>().first_nonfinite(x.data(), size), size);
      x[size / 2] = std::numeric_limits<T>::max();  // large, but finite
      x[size - 1] = -std::numeric_limits<T>::max();
      EXPECT_EQ(kernels<T>().first_nonfinite(x.data(), size), size);
      for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                          -std::numeric_limits<T>::infinity()}) {
        for (const std::size_t at : {std::size_t{0}, size / 3, size - 1}) {
          auto y = x;
          y[at] = bad;
          y[size - 1] = bad;
          EXPECT_EQ(kernels<T>().first_nonfinite(y.data(), size), at);
        }
      }
    }
  });
}

TYPED_TEST(KernelsTest, HashSeesEveryBitAndEveryPlace) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t size : kSizes) {
      const auto x = random_values<T>(size, 4);
      const std::uint64_t hash = kernels<T>().hash(x.data(), size);
      for (std::size_t at = 0; at < size; at += std::max<std::size_t>(1, size / 7)) {
        auto y = x;
        y[at] = std::nextafter(y[at], T{100});
        EXPECT_NE(kernels<T>().hash(y.data(), size), hash);
        if (at + 1 < size) {
          y = x;
          std::swap(y[at], y[at + 1]);
          EXPECT_NE(kernels<T>().hash(y.data(), size), hash);
        }
      }
    }
  });
}

TYPED_TEST(KernelsTest, ElementwiseLoopsEqualTheirTwins) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t size : kSizes) {
      const auto x = random_values<T>(size + 1, 5);
      const auto y = random_values<T>(size + 1, 6);
      // One more value behind the end must stay.
      auto scaled = x;
      kernels<T>().scale(scaled.data(), size, T{0.5});
      auto clamped = x;
      kernels<T>().clamp(clamped.data(), size, T{-0.5}, T{0.25});
      std::vector<T> sum(size + 1, T{7});
      kernels<T>().add_scaled(y.data(), x.data(), size, T{3}, sum.data());
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(scaled[i], x[i] / 2);
        EXPECT_EQ(clamped[i], std::clamp(x[i], T{-0.5}, T{0.25}));
        const double twin = static_cast<double>(y[i]) + 3 * static_cast<double>(x[i]);
        EXPECT_NEAR(sum[i], twin, 4 * TestFixture::kEps * (1 + std::abs(twin)));
      }
      EXPECT_EQ(scaled[size], x[size]);
      EXPECT_EQ(clamped[size], x[size]);
      EXPECT_EQ(sum[size], T{7});
    }
    T nan = std::numeric_limits<T>::quiet_NaN();
    kernels<T>().clamp(&nan, 1, T{-1}, T{1});
    EXPECT_TRUE(std::isnan(nan));
  });
}

TYPED_TEST(KernelsTest, MatrixVectorEqualsItsTwin) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t rows : {1, 2, 3, 4, 5, 9}) {
      for (const std::size_t columns : {std::size_t{1}, std::size_t{17}, std::size_t{5000}}) {
        const std::size_t stride = columns + 3;
        const auto matrix = random_values<T>(rows * stride, 7);
        const auto w = random_values<T>(columns, 8);
        std::vector<T> out(rows);
        kernels<T>().matrix_vector(matrix.data(), stride, w.data(), rows, columns, out.data());
        for (std::size_t i = 0; i < rows; ++i) {
          double twin = 0;
          double magnitude = 0;
          for (std::size_t j = 0; j < columns; ++j) {
            const double product =
                static_cast<double>(matrix[i * stride + j]) * static_cast<double>(w[j]);
            twin += product;
            magnitude += std::abs(product);
          }
          EXPECT_NEAR(out[i], twin, 64 * TestFixture::kEps * magnitude);
          // A row gives the same bits alone: threads may cut the rows anywhere.
          T alone = 0;
          kernels<T>().matrix_vector(matrix.data() + i * stride, stride, w.data(), 1, columns,
                                     &alone);
          EXPECT_EQ(alone, out[i]);
        }
      }
    }
  });
}

TYPED_TEST(KernelsTest, RankUpdateEqualsItsTwinAndItsParts) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{4}, std::size_t{7}}) {
      for (const std::size_t columns : {std::size_t{1}, std::size_t{19}, std::size_t{530}}) {
        for (const std::size_t rank : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
          const std::size_t stride = columns + 2;
          const auto before = random_values<T>(rows * stride, 9);
          const auto u = random_values<T>(rank * rows, 10);
          const auto v = random_values<T>(rank * columns, 11);
          std::vector<const T*> u_rows;
          std::vector<const T*> v_rows;
          for (std::size_t k = 0; k < rank; ++k) {
            u_rows.push_back(u.data() + k * rows);
            v_rows.push_back(v.data() + k * columns);
          }
          std::vector<T> scratch(rank_update_scratch(rank));
          auto after = before;
          kernels<T>().rank_update(after.data(), stride, rows, columns, u_rows.data(),
                                   v_rows.data(), rank, scratch.data());
          for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < stride; ++j) {
              double twin = before[i * stride + j];
              double magnitude = std::abs(twin);
              for (std::size_t k = 0; j < columns && k < rank; ++k) {
                const double product =
                    static_cast<double>(u[k * rows + i]) * static_cast<double>(v[k * columns + j]);
                twin += product;
                magnitude += std::abs(product);
              }
              ASSERT_NEAR(after[i * stride + j], twin, 64 * TestFixture::kEps * magnitude);
            }
          }
          // Row by row gives the same bits.
          auto parts = before;
          for (std::size_t i = 0; i < rows; ++i) {
            std::vector<const T*> shifted;
            for (const T* row : u_rows) shifted.push_back(row + i);
            kernels<T>().rank_update(parts.data() + i * stride, stride, 1, columns, shifted.data(),
                                     v_rows.data(), rank, scratch.data());
          }
          EXPECT_EQ(parts, after);
        }
      }
    }
  });
}

TYPED_TEST(KernelsTest, HistoryEqualsItsTwin) {
  using T = TypeParam;
  on_every_target([] {
    for (const std::size_t count : {0, 1, 3, 4, 9, 21}) {
      for (const std::size_t columns : {std::size_t{1}, std::size_t{13}, std::size_t{4096}}) {
        constexpr std::size_t kFirst = 5;
        std::vector<std::vector<T>> rows;
        std::vector<const T*> pointers;
        for (std::size_t k = 0; k < count; ++k) {
          rows.push_back(random_values<T>(kFirst + columns, static_cast<unsigned>(20 + k)));
        }
        for (const auto& row : rows) pointers.push_back(row.data());
        const auto c = random_values<T>(count + 1, 12);
        const auto x = random_values<T>(columns, 13);
        const auto start = random_values<T>(columns, 14);
        std::vector<T> out = start;
        std::vector<double> dots(count + 1, -1);
        kernels<T>().history(pointers.data(), kFirst, count, columns, c.data(), out.data(),
                             x.data(), dots.data());
        for (std::size_t j = 0; j < columns; ++j) {
          double twin = start[j];
          double magnitude = std::abs(twin);
          for (std::size_t k = 0; k < count; ++k) {
            const double product =
                static_cast<double>(c[k]) * static_cast<double>(rows[k][kFirst + j]);
            twin += product;
            magnitude += std::abs(product);
          }
          EXPECT_NEAR(out[j], twin, 16 * TestFixture::kEps * magnitude);
        }
        for (std::size_t k = 0; k < count; ++k) {
          double twin = 0;
          double magnitude = 0;
          for (std::size_t j = 0; j < columns; ++j) {
            const double product =
                static_cast<double>(x[j]) * static_cast<double>(rows[k][kFirst + j]);
            twin += product;
            magnitude += std::abs(product);
          }
          EXPECT_NEAR(dots[k], twin, 64 * TestFixture::kEps * magnitude);
        }
        EXPECT_EQ(dots[count], -1);
        // Each half alone gives the same bits.
        std::vector<T> only_out = start;
        kernels<T>().history(pointers.data(), kFirst, count, columns, c.data(), only_out.data(),
                             nullptr, nullptr);
        EXPECT_EQ(only_out, out);
        std::vector<double> only_dots(count + 1, -1);
        kernels<T>().history(pointers.data(), kFirst, count, columns, nullptr, nullptr, x.data(),
                             only_dots.data());
        EXPECT_EQ(only_dots, dots);
      }
    }
  });
}

}  // namespace
}  // namespace tandem::kernels
