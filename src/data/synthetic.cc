// SPDX-License-Identifier: MIT
#include "data/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/random.h"

namespace tandem::data {
namespace {

enum Stream : std::uint64_t { kInputs = 1, kWeights, kReflection, kLabels, kColumns };

void require(bool good, std::string_view name, double value, std::string_view expected) {
  if (good) return;
  throw std::invalid_argument(
      fmt::format("Invalid synthetic data: {} = {}, expected {}", name, value, expected));
}

void check(const SyntheticSpec& spec) {
  constexpr std::size_t kMost = std::size_t{1} << 31;
  const auto real = [](std::size_t value) { return static_cast<double>(value); };
  require(spec.rows >= 1 && spec.rows < kMost, "rows", real(spec.rows), "1 to 2147483647");
  require(spec.features >= 1 && spec.features < kMost, "features", real(spec.features),
          "1 to 2147483647");
  require(spec.sparse > 0 || spec.rows * spec.features <= std::size_t{1} << 38, "rows * features",
          real(spec.rows) * real(spec.features), "at most 2^38 for dense data");
  require(spec.classes >= 2 && spec.classes <= 4096, "classes", real(spec.classes), "2 to 4096");
  require(spec.condition >= 1 && std::isfinite(spec.condition), "condition", spec.condition,
          "at least 1");
  require(spec.noise >= 0 && spec.noise < 1, "noise", spec.noise, "0 <= noise < 1");
  require(spec.sparse >= 0 && spec.sparse <= 1, "sparse", spec.sparse, "0 <= sparse <= 1");
}

std::vector<double> scales(const SyntheticSpec& spec) {
  std::vector<double> scale(spec.features, 1.0);
  for (std::size_t j = 1; j < spec.features; ++j) {
    scale[j] = std::pow(spec.condition,
                        -0.5 * static_cast<double>(j) / static_cast<double>(spec.features - 1));
  }
  return scale;
}

/// The unit vector v of H = I - 2 v v'.
std::vector<double> reflection(const SyntheticSpec& spec) {
  Random random(spec.seed, kReflection);
  std::vector<double> v(spec.features);
  double squares = 0;
  for (double& element : v) {
    element = random.normal();
    squares += element * element;
  }
  for (double& element : v) element /= std::sqrt(squares);
  return v;
}

class Maker {
 public:
  explicit Maker(const SyntheticSpec& spec)
      : spec_(spec),
        scale_(scales(spec)),
        weights_(synthetic_weights(spec)),
        inputs_(spec.seed, kInputs),
        labels_(spec.seed, kLabels),
        places_(spec.seed, kColumns) {
    if (spec.sparse == 0 && spec.rotate) axis_ = reflection(spec);
  }

  Dataset make() {
    data_.name = "synthetic";
    data_.rows = spec_.rows;
    data_.features = spec_.features + (spec_.bias ? 1 : 0);
    data_.classes = spec_.classes;
    for (std::size_t c = 0; c < spec_.classes; ++c) data_.class_names.push_back(std::to_string(c));
    data_.sparse = spec_.sparse > 0;
    if (data_.sparse) {
      data_.offsets.push_back(0);
    } else {
      data_.dense = Buffer<float>(data_.rows * data_.features);
    }
    data_.labels.resize(data_.rows);
    for (std::size_t row = 0; row < spec_.rows; ++row) {
      scores_.assign(spec_.classes, 0.0);
      if (data_.sparse) {
        make_sparse();
      } else {
        make_dense(row);
      }
      data_.labels[row] = label();
    }
    return std::move(data_);
  }

 private:
  void make_dense(std::size_t row) {
    x_.resize(spec_.features);
    double along = 0;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      x_[j] = scale_[j] * inputs_.normal();
      if (!axis_.empty()) along += axis_[j] * x_[j];
    }
    float* out = data_.dense.data() + row * data_.features;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      if (!axis_.empty()) x_[j] -= 2 * along * axis_[j];
      out[j] = static_cast<float>(x_[j]);
      add_score(j, out[j]);
    }
    if (spec_.bias) out[spec_.features] = 1;
  }

  void make_sparse() {
    const std::size_t count = elements();
    std::set<std::uint32_t> columns;  // Floyd's sample of `count` different columns
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t top = spec_.features - count + i;
      const auto pick = static_cast<std::uint32_t>(places_.below(top + 1));
      if (!columns.insert(pick).second) columns.insert(static_cast<std::uint32_t>(top));
    }
    for (const std::uint32_t column : columns) {
      const auto value = static_cast<float>(scale_[column] * inputs_.normal());
      data_.columns.push_back(column);
      data_.values.push_back(value);
      add_score(column, value);
    }
    if (spec_.bias) {
      data_.columns.push_back(static_cast<std::uint32_t>(spec_.features));
      data_.values.push_back(1);
    }
    data_.offsets.push_back(data_.columns.size());
  }

  std::size_t elements() const {
    const double count = spec_.sparse * static_cast<double>(spec_.features);
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::llround(count)), 1,
                                   spec_.features);
  }

  void add_score(std::size_t column, double value) {
    for (std::size_t c = 0; c < spec_.classes; ++c) {
      scores_[c] += weights_[c * spec_.features + column] * value;
    }
  }

  std::uint32_t label() {
    const auto best = static_cast<std::size_t>(std::max_element(scores_.begin(), scores_.end()) -
                                               scores_.begin());
    if (labels_.uniform() >= spec_.noise) return static_cast<std::uint32_t>(best);
    const std::size_t other = labels_.below(spec_.classes - 1);
    return static_cast<std::uint32_t>(other < best ? other : other + 1);
  }

  const SyntheticSpec& spec_;
  std::vector<double> scale_;
  std::vector<double> weights_;
  std::vector<double> axis_;
  Random inputs_;
  Random labels_;
  Random places_;
  Dataset data_;
  std::vector<double> x_;
  std::vector<double> scores_;
};

}  // namespace

std::vector<double> synthetic_weights(const SyntheticSpec& spec) {
  check(spec);
  const std::vector<double> scale = scales(spec);
  double variance = 0;
  for (const double s : scale) variance += s * s;
  Random random(spec.seed, kWeights);
  std::vector<double> weights(spec.classes * spec.features);
  for (double& weight : weights) weight = random.normal() / std::sqrt(variance);
  return weights;
}

Dataset make_synthetic(const SyntheticSpec& spec) {
  check(spec);
  return Maker(spec).make();
}

}  // namespace tandem::data
