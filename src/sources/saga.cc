// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/float_environment.h"
#include "problems/softmax.h"
#include "sources/sources.h"

namespace tandem::sources {
namespace {

/// True for each row that stands further ahead in the batch already (batches drawn independently
/// may repeat a sample).
std::vector<char> repeated(std::span<const std::uint32_t> rows) {
  std::vector<std::uint32_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rows[a] != rows[b] ? rows[a] < rows[b] : a < b;
  });
  std::vector<char> again(rows.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    again[order[i]] = rows[order[i]] == rows[order[i - 1]] ? 1 : 0;
  }
  return again;
}

/// For models that are linear in their weights: a sample's gradient is its features times a
/// coefficient a class, so the table holds the coefficients.
class LinearSaga : public Source {
 public:
  LinearSaga(const Problem& problem, std::size_t classes)
      : samples_(problem.samples()),
        classes_(classes),
        dimension_(problem.dimension()),
        table_(samples_ * classes),
        mean_(dimension_) {}

  double gradient(const Batch& batch, std::span<const std::uint32_t> rows, const float* weights,
                  float* gradient) override {
    const FlushDenormals flush;
    const auto& linear = dynamic_cast<const problems::LinearBatch&>(batch);
    const std::size_t row = linear.row();
    const auto count = static_cast<float>(rows.size());
    change_.resize(classes_ * row);
    const double rough = linear.coefficients(weights, change_.data());
    const std::vector<char> again = repeated(rows);
    const bool repeats = std::find(again.begin(), again.end(), 1) != again.end();
    if (repeats) once_.assign(classes_ * row, 0);
    // change = (new - old) / batch; the table takes the new ones.
    for (std::size_t c = 0; c < classes_; ++c) {
      for (std::size_t n = 0; n < rows.size(); ++n) {
        const float fresh = change_[c * row + n] * count;
        change_[c * row + n] = (fresh - table_[rows[n] * classes_ + c]) / count;
        fresh_.resize(classes_ * row);
        fresh_[c * row + n] = fresh;
      }
    }
    for (std::size_t c = 0; c < classes_; ++c) {
      for (std::size_t n = 0; n < rows.size(); ++n) {
        if (repeats && again[n] == 0) once_[c * row + n] = change_[c * row + n];
        table_[rows[n] * classes_ + c] = fresh_[c * row + n];
      }
    }
    linear.spread(change_.data(), gradient);
    const float* moved = gradient;
    if (repeats) {
      spread_.resize(dimension_);
      linear.spread(once_.data(), spread_.data());
      moved = spread_.data();
    }
    const float share = count / static_cast<float>(samples_);
    for (std::size_t i = 0; i < dimension_; ++i) {
      const float mean = mean_[i];
      mean_[i] = mean + share * moved[i];
      gradient[i] += mean;
    }
    evaluations_ += rows.size();
    return rough;
  }

  std::uint64_t evaluations() const override { return evaluations_; }
  std::size_t state_bytes() const override { return table_.bytes() + mean_.bytes(); }
  void save(StateWriter& writer) const override {
    writer.count("evaluations", evaluations_);
    writer.array("table", table_.span());
    writer.array("mean", mean_.span());
  }
  void load(StateReader& reader) override {
    evaluations_ = reader.count("evaluations");
    reader.array("table", table_.span());
    reader.array("mean", mean_.span());
  }

 private:
  std::size_t samples_;
  std::size_t classes_;
  std::size_t dimension_;
  Buffer<float> table_;  // a row a sample, a column a class
  Buffer<float> mean_;   // of the gradients in the table
  std::vector<float> change_, fresh_, once_, spread_;
  std::uint64_t evaluations_ = 0;
};

/// For every other model: a whole gradient a sample.
class GeneralSaga : public Source {
 public:
  explicit GeneralSaga(const Problem& problem)
      : problem_(problem),
        dimension_(problem.dimension()),
        table_(problem.samples() * dimension_),
        mean_(dimension_),
        own_(dimension_) {}

  double gradient(const Batch&, std::span<const std::uint32_t> rows, const float* weights,
                  float* gradient) override {
    const FlushDenormals flush;
    std::copy_n(mean_.data(), dimension_, gradient);
    const auto count = static_cast<float>(rows.size());
    const auto samples = static_cast<float>(problem_.samples());
    double rough_sum = 0;
    for (const std::uint32_t row : rows) {
      double rough = 0;
      problem_.batch(Problem::Part::train, std::span(&row, 1))
          ->gradients(1, weights, own_.data(), &rough);
      rough_sum += rough;
      float* stored = table_.data() + row * dimension_;
      for (std::size_t i = 0; i < dimension_; ++i) {
        const float change = own_[i] - stored[i];
        gradient[i] += change / count;
        mean_[i] += change / samples;
        stored[i] = own_[i];
      }
    }
    evaluations_ += rows.size();
    return rough_sum / static_cast<double>(rows.size());
  }

  std::uint64_t evaluations() const override { return evaluations_; }
  std::size_t state_bytes() const override { return table_.bytes() + mean_.bytes(); }
  void save(StateWriter& writer) const override {
    writer.count("evaluations", evaluations_);
    writer.array("table", table_.span());
    writer.array("mean", mean_.span());
  }
  void load(StateReader& reader) override {
    evaluations_ = reader.count("evaluations");
    reader.array("table", table_.span());
    reader.array("mean", mean_.span());
  }

 private:
  const Problem& problem_;
  std::size_t dimension_;
  Buffer<float> table_;
  Buffer<float> mean_;
  std::vector<float> own_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_saga(const Problem& problem) {
  if (const auto* softmax = dynamic_cast<const problems::SoftmaxRegression*>(&problem)) {
    return std::make_unique<LinearSaga>(problem, softmax->task().train.classes);
  }
  return std::make_unique<GeneralSaga>(problem);
}

}  // namespace tandem::sources
