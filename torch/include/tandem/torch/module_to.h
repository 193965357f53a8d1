// SPDX-License-Identifier: MIT
// The paper's general frame, its equations (2) and (3): the estimator G(w; theta) of the full
// gradient is any module, trained by autograd beside the model.
#pragma once

#include <torch/nn/modules/container/any.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <vector>

namespace tandem::optim {

/// l(G, g): what the estimator is trained to make small.
using ApproximationLoss =
    std::function<torch::Tensor(const torch::Tensor& estimate, const torch::Tensor& gradient)>;

/// |g - G|^2 / 2, the paper's.
torch::Tensor squared_error(const torch::Tensor& estimate, const torch::Tensor& gradient);

class ModuleTOOptions : public torch::optim::OptimizerCloneableOptions<ModuleTOOptions> {
 public:
  ModuleTOOptions(double lr = 0.01) : lr_(lr) {}  // NOLINT(google-explicit-constructor)
  TORCH_ARG(double, lr);
  TORCH_ARG(ApproximationLoss, loss) = squared_error;

 public:
  double get_lr() const override { return lr(); }
  void set_lr(double value) override { lr(value); }
};

/// At each step, with g the gradient of the parameters and w all of them in one vector:
///
///   theta <- trainer's step on l(G(w; theta), g);   w <- w - lr G(w; theta)
///
/// The estimator takes w and gives a vector of its size. The trainer is any torch optimizer of the
/// estimator's parameters; torch::optim::SGD is the paper's equation (3). With a module a * w + b
/// and rates alpha for a and beta for b this is Diag-TO. Parameters without a gradient are not in w.
/// A step copies the parameters and their gradients; it is for studies, not for speed.
class ModuleTO : public torch::optim::Optimizer {
 public:
  ModuleTO(std::vector<torch::Tensor> parameters, torch::nn::AnyModule estimator,
           std::unique_ptr<torch::optim::Optimizer> trainer, const ModuleTOOptions& options = {});

  torch::Tensor step(LossClosure closure = nullptr) override;
  /// The parameters stay with the model, and the estimator's with the estimator; this is the
  /// trainer's state and the rate.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

  torch::nn::AnyModule& estimator() { return estimator_; }
  torch::optim::Optimizer& trainer() { return *trainer_; }
  /// The approximation loss before the last step's training; NaN before the first.
  double last_loss() const { return last_loss_; }

 private:
  torch::nn::AnyModule estimator_;
  std::unique_ptr<torch::optim::Optimizer> trainer_;
  double last_loss_;
};

}  // namespace tandem::optim
