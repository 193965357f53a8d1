// SPDX-License-Identifier: MIT
// A problem of your own in the population trainer: least squares, f_n(w) = (w.x_n - y_n)^2 / 2, on
// data made here. Trains four settings at once and prints how near each comes to the noise.
//
//   cmake --build build-release --target tandem_own_problem &&
//   build-release/tests/tandem_own_problem
#include <tandem/problem.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace {

constexpr std::size_t kFeatures = 30;
constexpr double kNoise = 0.1;

struct Sample {
  float x[kFeatures];
  float y;
};

/// Some samples. Its functions are called for several members at once and from several threads, so
/// they write nothing but what they are given.
class LeastSquaresBatch : public tandem::Batch {
 public:
  LeastSquaresBatch(const std::vector<Sample>& all, std::span<const std::uint32_t> rows) {
    for (const std::uint32_t row : rows) samples_.push_back(all[row]);
  }

  void gradients(std::size_t members, const float* weights, float* gradients,
                 double* rough_losses) const override {
    const auto share = 1.0F / static_cast<float>(samples_.size());
    for (std::size_t m = 0; m < members; ++m) {
      const float* w = weights + m * kFeatures;
      float* g = gradients + m * kFeatures;
      for (std::size_t j = 0; j < kFeatures; ++j) g[j] = 0;
      rough_losses[m] = 0;
      for (const Sample& sample : samples_) {
        const float error = residual(sample, w);
        rough_losses[m] += 0.5 * error * error * share;
        for (std::size_t j = 0; j < kFeatures; ++j) g[j] += share * error * sample.x[j];
      }
    }
  }

  void losses(std::size_t members, const float* weights, tandem::LossSum* losses) const override {
    for (std::size_t m = 0; m < members; ++m) {
      losses[m] = {};
      for (const Sample& sample : samples_) {
        const double error = residual(sample, weights + m * kFeatures);
        losses[m].loss += error * error / 2;
      }
    }
  }

 private:
  static float residual(const Sample& sample, const float* w) {
    float sum = -sample.y;
    for (std::size_t j = 0; j < kFeatures; ++j) sum += w[j] * sample.x[j];
    return sum;
  }

  std::vector<Sample> samples_;
};

class LeastSquares : public tandem::Problem {
 public:
  explicit LeastSquares(std::size_t count) : samples_(count) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    std::vector<float> truth(kFeatures);
    for (float& weight : truth) weight = normal(engine);
    for (Sample& sample : samples_) {
      sample.y = static_cast<float>(kNoise) * normal(engine);
      for (std::size_t j = 0; j < kFeatures; ++j) {
        sample.x[j] = normal(engine);
        sample.y += truth[j] * sample.x[j];
      }
    }
  }

  std::vector<std::size_t> segments() const override { return {kFeatures}; }
  std::size_t samples() const override { return samples_.size(); }
  std::string description() const override { return "least squares"; }
  std::unique_ptr<tandem::Batch> batch(Part, std::span<const std::uint32_t> rows) const override {
    return std::make_unique<LeastSquaresBatch>(samples_, rows);
  }

 private:
  std::vector<Sample> samples_;
};

}  // namespace

int main() {
  const LeastSquares problem(5000);
  const std::vector<tandem::train::Setting> settings = {
      {"adam", {{"lr", "0.03"}, {"decay", "0.6"}}},
      {"momentum", {{"lr", "0.1"}, {"decay", "0.6"}}},
      {"diag-to", {{"lr", "0.1"}, {"alpha", "0.1"}, {"beta", "0.5"}, {"decay", "0.6"}}},
      {"diag-to", {{"lr", "10"}, {"alpha", "0.1"}, {"beta", "0.5"}}},  // this one diverges
  };
  tandem::train::Trainer trainer(problem, settings, {.batch = 50, .epochs = 10});
  while (trainer.epoch()) {
  }

  const double noise = kNoise * kNoise / 2;  // no weights do better than this, in the mean
  std::printf("%s: the noise alone is %.5f\n", problem.description().c_str(), noise);
  int good = 0;
  for (const tandem::train::Member& member : trainer.members()) {
    const std::string lr = member.setting.options.at("lr");
    if (member.diverged) {
      std::printf("%-9s lr %-5s diverged at step %llu\n", member.setting.method.c_str(), lr.c_str(),
                  static_cast<unsigned long long>(member.diverged_at));
      continue;
    }
    const double loss = member.points.back().train_loss;
    std::printf("%-9s lr %-5s %8.4f -> %.5f\n", member.setting.method.c_str(), lr.c_str(),
                member.points.front().train_loss, loss);
    good += std::abs(loss - noise) < 0.1 * noise ? 1 : 0;
  }
  return good == 3 ? 0 : 1;
}
