// SPDX-License-Identifier: MIT
// The matrix in bfloat16 against plain twins, over odd sizes and misaligned starts, on every
// instruction set that this CPU has.
#include "kernels/narrow_matrix.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/narrow.h"
#include "kernels/test_targets.h"

namespace tandem::kernels {
namespace {

constexpr double kEps = std::numeric_limits<float>::epsilon();

float value(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

std::vector<BFloat16> narrowed(const std::vector<float>& values) {
  std::vector<BFloat16> to(values.size());
  narrow(values.data(), values.size(), to.data());
  return to;
}

std::vector<std::uint16_t> bits(const std::vector<BFloat16>& values) {
  std::vector<std::uint16_t> all;
  for (const BFloat16 x : values) all.push_back(x.bits);
  return all;
}

TEST(NarrowMatrix, VectorEqualsItsTwinAndFloatToTheBit) {
  on_every_target([] {
    for (const std::size_t rows : {1, 2, 3, 4, 5, 9}) {
      for (const std::size_t columns :
           {std::size_t{1}, std::size_t{17}, std::size_t{63}, std::size_t{5000}}) {
        for (const std::size_t shift : {0, 1, 3}) {
          const std::size_t stride = columns + 3;
          const auto all = narrowed(random_values<float>(shift + rows * stride, 7));
          const BFloat16* matrix = all.data() + shift;
          const auto w = random_values<float>(shift + columns, 8);
          std::vector<float> out(rows + 1, 7);
          matrix_vector(matrix, stride, w.data() + shift, rows, columns, out.data());
          std::vector<float> wide(rows * stride);
          widen(matrix, wide.size(), wide.data());
          std::vector<float> expected(rows + 1, 7);
          kernels<float>().matrix_vector(wide.data(), stride, w.data() + shift, rows, columns,
                                         expected.data());
          EXPECT_EQ(out, expected);
          for (std::size_t i = 0; i < rows; ++i) {
            double twin = 0;
            double magnitude = 0;
            for (std::size_t j = 0; j < columns; ++j) {
              const double product = static_cast<double>(value(matrix[i * stride + j])) *
                                     static_cast<double>(w[shift + j]);
              twin += product;
              magnitude += std::abs(product);
            }
            EXPECT_NEAR(out[i], twin, 64 * kEps * magnitude);
            float alone = 0;
            matrix_vector(matrix + i * stride, stride, w.data() + shift, 1, columns, &alone);
            EXPECT_EQ(alone, out[i]);
          }
        }
      }
    }
  });
}

/// A matrix and updates to it.
struct Update {
  std::size_t rows;
  std::size_t columns;
  std::size_t rank;
  std::size_t shift;
  std::size_t stride = columns + 2;
  std::vector<BFloat16> before = narrowed(random_values<float>(shift + rows * stride, 9));
  std::vector<float> u = random_values<float>(shift + rank * rows, 10);
  std::vector<float> v = random_values<float>(shift + rank * columns, 11);

  std::vector<const float*> u_rows(std::size_t first) const {
    std::vector<const float*> all;
    for (std::size_t k = 0; k < rank; ++k) all.push_back(u.data() + shift + k * rows + first);
    return all;
  }
  std::vector<const float*> v_rows() const {
    std::vector<const float*> all;
    for (std::size_t k = 0; k < rank; ++k) all.push_back(v.data() + shift + k * columns);
    return all;
  }
  void add(std::vector<BFloat16>& to, std::size_t first, std::size_t count,
           MatrixRounding rounding) const {
    std::vector<float> scratch(rank_update_scratch(rank));
    rounding.first_row += first;
    rank_update(to.data() + shift + first * stride, stride, count, columns, u_rows(first).data(),
                v_rows().data(), rank, rounding, scratch.data());
  }
  /// The same in float, which is what is rounded.
  std::vector<float> in_float() const {
    std::vector<float> wide(before.size());
    widen(before.data(), before.size(), wide.data());
    std::vector<float> scratch(rank_update_scratch(rank));
    kernels<float>().rank_update(wide.data() + shift, stride, rows, columns, u_rows(0).data(),
                                 v_rows().data(), rank, scratch.data());
    return wide;
  }
};

/// Of sizes with and without whole tiles.
template <class Check>
void for_updates(const Check& check) {
  for (const std::size_t rows : {1, 4, 7}) {
    for (const std::size_t columns : {1, 19, 64, 530}) {
      for (const std::size_t rank : {1, 5, 64}) {
        for (const std::size_t shift : {0, 1}) check(Update{rows, columns, rank, shift});
      }
    }
  }
}

TEST(NarrowMatrix, UpdateToNearestIsThatOfFloatRoundedOnce) {
  on_every_target([] {
    for_updates([](const Update& it) {
      std::vector<BFloat16> after = it.before;
      it.add(after, 0, it.rows, {.stochastic = false});
      ASSERT_EQ(bits(after), bits(narrowed(it.in_float())));
      // The first element that is not part of it, in every row, is among those compared.
      std::vector<BFloat16> parts = it.before;
      for (std::size_t i = 0; i < it.rows; ++i) it.add(parts, i, 1, {.stochastic = false});
      EXPECT_EQ(bits(parts), bits(after));
    });
  });
}

TEST(NarrowMatrix, StochasticUpdateTakesNeighboursAndTheSameWhateverTheCut) {
  on_every_target([] {
    for_updates([](const Update& it) {
      const MatrixRounding rounding{.key = 77, .first_row = 1000};
      std::vector<BFloat16> after = it.before;
      it.add(after, 0, it.rows, rounding);
      const std::vector<float> wide = it.in_float();
      for (std::size_t i = 0; i < after.size(); ++i) {
        // Neighbours in bits are neighbours away from zero: the lower one is the upper half.
        const auto down = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(wide[i]) >> 16);
        const bool exact = value(BFloat16{down}) == wide[i];
        ASSERT_TRUE(after[i].bits == down || (!exact && after[i].bits == down + 1)) << i;
      }
      std::vector<BFloat16> parts = it.before;
      for (std::size_t i = 0; i < it.rows; ++i) it.add(parts, i, 1, rounding);
      EXPECT_EQ(bits(parts), bits(after));
      std::vector<BFloat16> cut = it.before;
      it.add(cut, 0, it.rows / 2, rounding);
      it.add(cut, it.rows / 2, it.rows - it.rows / 2, rounding);
      EXPECT_EQ(bits(cut), bits(after));
    });
  });
}

TEST(NarrowMatrix, StochasticUpdateKeepsTheMeanOfRowsAndColumns) {
  // 1 and an update of 3/8 of the gap to the next bfloat16.
  constexpr std::size_t kRows = 200;
  constexpr std::size_t kColumns = 300;
  const std::vector<float> u(kRows, 0x1p-7F * 3);
  const std::vector<float> v(kColumns, 0.125F);
  const std::vector<const float*> u_rows = {u.data()};
  const std::vector<const float*> v_rows = {v.data()};
  std::vector<std::vector<std::uint16_t>> seen;
  on_every_target([&] {
    std::vector<BFloat16> matrix = narrowed(std::vector<float>(kRows * kColumns, 1.0F));
    std::vector<float> scratch(rank_update_scratch(1));
    rank_update(matrix.data(), kColumns, kRows, kColumns, u_rows.data(), v_rows.data(), 1,
                {.key = 5}, scratch.data());
    std::vector<double> row(kRows);
    std::vector<double> column(kColumns);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        const float x = value(matrix[i * kColumns + j]);
        ASSERT_TRUE(x == 1.0F || x == 1.0F + 0x1p-7F);
        row[i] += x > 1.0F ? 1.0 / kColumns : 0;
        column[j] += x > 1.0F ? 1.0 / kRows : 0;
      }
    }
    // Five standard deviations: of each row, of each column, of all.
    const double deviation = std::sqrt(0.375 * 0.625);
    double all = 0;
    for (const double mean : row) {
      EXPECT_NEAR(mean, 0.375, 5 * deviation / std::sqrt(kColumns));
      all += mean / kRows;
    }
    for (const double mean : column) EXPECT_NEAR(mean, 0.375, 5 * deviation / std::sqrt(kRows));
    EXPECT_NEAR(all, 0.375, 5 * deviation / std::sqrt(kRows * kColumns));
    seen.push_back(bits(matrix));
  });
  for (const auto& one : seen) EXPECT_EQ(one, seen.front());
}

TEST(NarrowMatrix, ValuesThatBFloat16HoldsAreKept) {
  on_every_target([] {
    Update it{6, 40, 3, 0};
    std::fill(it.u.begin(), it.u.end(), 0.0F);
    for (const bool stochastic : {true, false}) {
      std::vector<BFloat16> after = it.before;
      it.add(after, 0, it.rows, {.stochastic = stochastic, .key = 3});
      EXPECT_EQ(bits(after), bits(it.before));
    }
  });
}

}  // namespace
}  // namespace tandem::kernels
