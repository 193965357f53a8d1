// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "base/float_environment.h"
#include "sources/sources.h"

namespace tandem::sources {
namespace {

class Svrg : public Source {
 public:
  explicit Svrg(const Problem& problem)
      : problem_(problem),
        dimension_(problem.dimension()),
        snapshot_(dimension_),
        full_(dimension_),
        pair_(2 * dimension_),
        gradients_(2 * dimension_) {}

  void epoch(const float* weights) override {
    const FlushDenormals flush;
    std::copy_n(weights, dimension_, snapshot_.begin());
    const std::vector<double> full = full_gradient(problem_, weights);
    std::transform(full.begin(), full.end(), full_.begin(),
                   [](double value) { return static_cast<float>(value); });
    evaluations_ += problem_.samples();
  }

  double gradient(const Batch& batch, std::span<const std::uint32_t> rows, const float* weights,
                  float* gradient) override {
    const FlushDenormals flush;
    std::copy_n(weights, dimension_, pair_.begin());
    std::copy(snapshot_.begin(), snapshot_.end(),
              pair_.begin() + static_cast<std::ptrdiff_t>(dimension_));
    double rough[2];
    batch.gradients(2, pair_.data(), gradients_.data(), rough);
    for (std::size_t i = 0; i < dimension_; ++i) {
      gradient[i] = gradients_[i] - gradients_[dimension_ + i] + full_[i];
    }
    evaluations_ += 2 * rows.size();
    return rough[0];
  }

  std::uint64_t evaluations() const override { return evaluations_; }
  std::size_t state_bytes() const override {
    return (snapshot_.size() + full_.size()) * sizeof(float);
  }
  void save(StateWriter& writer) const override {
    writer.count("evaluations", evaluations_);
    writer.array("snapshot", snapshot_);
    writer.array("full", full_);
  }
  void load(StateReader& reader) override {
    evaluations_ = reader.count("evaluations");
    reader.array("snapshot", snapshot_);
    reader.array("full", full_);
  }

 private:
  const Problem& problem_;
  std::size_t dimension_;
  std::vector<float> snapshot_;
  std::vector<float> full_;
  std::vector<float> pair_;       // weights and snapshot, as two members
  std::vector<float> gradients_;  // of both
  std::uint64_t evaluations_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_svrg(const Problem& problem) {
  return std::make_unique<Svrg>(problem);
}

}  // namespace tandem::sources
