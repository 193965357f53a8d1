// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/float_environment.h"
#include "sources/sources.h"

namespace tandem::sources {
namespace {

class Storm : public Source {
 public:
  Storm(const Problem& problem, float a)
      : a_(a),
        dimension_(problem.dimension()),
        pair_(2 * dimension_),
        estimate_(dimension_),
        gradients_(2 * dimension_) {}

  double gradient(const Batch& batch, std::span<const std::uint32_t> rows, const float* weights,
                  float* gradient) override {
    const FlushDenormals flush;
    // The weights now before the weights of the last step, as two members.
    std::copy_n(weights, dimension_, pair_.begin());
    double rough[2];
    const std::size_t members = first_ ? 1 : 2;
    batch.gradients(members, pair_.data(), gradients_.data(), rough);
    for (std::size_t i = 0; i < dimension_; ++i) {
      const float past = first_ ? 0 : (1 - a_) * (estimate_[i] - gradients_[dimension_ + i]);
      estimate_[i] = gradients_[i] + past;
      gradient[i] = estimate_[i];
    }
    std::copy_n(weights, dimension_, pair_.begin() + static_cast<std::ptrdiff_t>(dimension_));
    evaluations_ += members * rows.size();
    first_ = false;
    return rough[0];
  }

  std::uint64_t evaluations() const override { return evaluations_; }
  std::size_t state_bytes() const override { return 2 * dimension_ * sizeof(float); }
  void save(StateWriter& writer) const override {
    writer.count("evaluations", evaluations_);
    writer.count("first", first_ ? 1 : 0);
    writer.array("last_weights", std::span<const float>(pair_).subspan(dimension_));
    writer.array("estimate", estimate_);
  }
  void load(StateReader& reader) override {
    evaluations_ = reader.count("evaluations");
    first_ = reader.count("first", 1) == 1;
    reader.array("last_weights", std::span<float>(pair_).subspan(dimension_));
    reader.array("estimate", estimate_);
  }

 private:
  float a_;
  std::size_t dimension_;
  std::vector<float> pair_;
  std::vector<float> estimate_;
  std::vector<float> gradients_;
  bool first_ = true;
  std::uint64_t evaluations_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_storm(const Problem& problem, OptionMap& options) {
  float a = 0.1F;
  if (const auto found = options.find("storm_a"); found != options.end()) {
    const std::string& text = found->second;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), a);
    if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || !(a > 0 && a <= 1)) {
      throw std::invalid_argument(
          fmt::format("storm: Invalid storm_a: '{}', expected a number > 0 and <= 1", text));
    }
    options.erase(found);
  }
  return std::make_unique<Storm>(problem, a);
}

}  // namespace tandem::sources
