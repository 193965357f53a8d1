// SPDX-License-Identifier: MIT
#include "problems/nonzeros.h"

#include <algorithm>
#include <cstring>

#include "base/buffer.h"

namespace tandem::problems {
namespace {

using kernels::kFeatureBlock;

// Of a data set's values. With 15 % (MNIST) a population's epoch took half the time; with 35 %
// (NSL-KDD) no less, and that of a single member, for whom the lists are most of the work, twice as
// much.
constexpr double kMostNonzeros = 0.25;
// So many rows tell.
constexpr std::size_t kRowsLookedAt = 4096;

// Zeros stand together in pictures: so many values are passed by with one look.
constexpr std::size_t kAtOnce = 8;

/// Of kAtOnce values; -0 does not count as one.
bool all_zeros(const float* x) {
  std::uint64_t bits[kAtOnce * sizeof(float) / sizeof(std::uint64_t)];
  std::memcpy(bits, x, sizeof(bits));
  return (bits[0] | bits[1] | bits[2] | bits[3]) == 0;
}

/// Room that a thread keeps from call to call; aligned, because vectors across two lines of the
/// cache cost twice.
float* scratch(std::size_t size) {
  static thread_local Buffer<float> room;
  if (room.size() < size) room = Buffer<float>(size);
  return room.data();
}

}  // namespace

bool mostly_zeros(const data::Dataset& data) {
  if (data.sparse) return true;
  const std::size_t values = std::min(data.rows, kRowsLookedAt) * data.features;
  std::size_t nonzeros = 0;
  for (std::size_t i = 0; i < values; ++i) nonzeros += data.dense[i] != 0 ? 1 : 0;
  return static_cast<double>(nonzeros) <= kMostNonzeros * static_cast<double>(values);
}

Nonzeros::Nonzeros(const data::Dataset& data, std::span<const std::uint32_t> rows, bool bias) {
  by_sample_.samples = rows.size();
  by_sample_.features = data.features + (bias ? 1 : 0);
  sample_begin_.reserve(rows.size() + 1);
  sample_begin_.push_back(0);
  std::size_t count = 0;
  for (const std::uint32_t row : rows) {
    // Room for whatever a row may have; what is too much goes at the end.
    const std::size_t most =
        1 + (data.sparse ? data.offsets[row + 1] - data.offsets[row] : data.features);
    if (places_.size() < count + most) {
      places_.resize(2 * count + most);
      values_.resize(places_.size());
    }
    count = data.sparse ? take_sparse(data, row, count) : take_dense(data, row, count);
    if (bias) {
      places_[count] = static_cast<std::uint32_t>(data.features);
      values_[count++] = 1;
    }
    sample_begin_.push_back(static_cast<std::uint32_t>(count));
  }
  places_.resize(count);
  values_.resize(count);
  number_places();
  by_sample_.blocks = blocks_.size();
  by_sample_.block_features = blocks_.data();
  by_sample_.sample_begin = sample_begin_.data();
  by_sample_.places = places_.data();
  by_sample_.place_values = values_.data();
}

std::size_t Nonzeros::take_sparse(const data::Dataset& data, std::uint32_t row, std::size_t at) {
  const std::size_t begin = data.offsets[row];
  const std::size_t count = data.offsets[row + 1] - begin;
  std::copy_n(data.columns.data() + begin, count, places_.data() + at);
  std::copy_n(data.values.data() + begin, count, values_.data() + at);
  return at + count;
}

std::size_t Nonzeros::take_dense(const data::Dataset& data, std::uint32_t row, std::size_t at) {
  const float* x = data.dense.data() + row * data.features;
  for (std::size_t j = 0; j < data.features; j += kAtOnce) {
    const std::size_t end = std::min(j + kAtOnce, data.features);
    if (end == j + kAtOnce && all_zeros(x + j)) continue;
    // Written in any case and kept if it is not zero: no branch that is hard to foresee.
    for (std::size_t k = j; k < end; ++k) {
      places_[at] = static_cast<std::uint32_t>(k);
      values_[at] = x[k];
      at += x[k] != 0 ? 1 : 0;
    }
  }
  return at;
}

/// places_ holds features until now.
void Nonzeros::number_places() {
  std::vector<std::uint32_t> numbers((by_sample_.features + kFeatureBlock - 1) / kFeatureBlock, 0);
  for (const std::uint32_t feature : places_) numbers[feature / kFeatureBlock] = 1;
  for (std::size_t block = 0; block < numbers.size(); ++block) {
    if (numbers[block] == 0) continue;
    numbers[block] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back(static_cast<std::uint32_t>(block * kFeatureBlock));
  }
  for (std::uint32_t& place : places_) {
    place = static_cast<std::uint32_t>(numbers[place / kFeatureBlock] * kFeatureBlock +
                                       place % kFeatureBlock);
  }
}

void Nonzeros::forward(std::size_t count, const float* weights, float* out, std::size_t row) const {
  const auto& simd = kernels::kernels<float>();
  simd.sparse_product(count, weights, by_sample_.features, by_sample_, out, row,
                      scratch(simd.sparse_scratch(count, by_sample_)));
}

void Nonzeros::backward(std::size_t count, const float* coefficients, std::size_t row,
                        float* gradients) const {
  const auto& simd = kernels::kernels<float>();
  simd.sparse_spread(count, coefficients, row, by_place(), gradients, by_sample_.features,
                     scratch(simd.sparse_scratch(count, by_sample_)));
}

const kernels::SparseSamples<float>& Nonzeros::by_place() const {
  std::call_once(sorted_, [this] { sort_by_place(); });
  return by_place_;
}

/// Counts, then puts each value behind those before it: samples ascend within a place.
void Nonzeros::sort_by_place() const {
  place_begin_.assign(blocks_.size() * kFeatureBlock + 1, 0);
  for (const std::uint32_t place : places_) ++place_begin_[place + 1];
  for (std::size_t p = 1; p < place_begin_.size(); ++p) place_begin_[p] += place_begin_[p - 1];
  std::vector<std::uint32_t> next(place_begin_.begin(), place_begin_.end() - 1);
  samples_of_.resize(places_.size());
  sample_values_.resize(places_.size());
  for (std::size_t n = 0; n < by_sample_.samples; ++n) {
    for (std::size_t k = sample_begin_[n]; k < sample_begin_[n + 1]; ++k) {
      const std::uint32_t to = next[places_[k]]++;
      samples_of_[to] = static_cast<std::uint32_t>(n);
      sample_values_[to] = values_[k];
    }
  }
  by_place_ = by_sample_;
  by_place_.place_begin = place_begin_.data();
  by_place_.samples_of = samples_of_.data();
  by_place_.sample_values = sample_values_.data();
}

}  // namespace tandem::problems
