// SPDX-License-Identifier: MIT
#include <tandem/torch/module_to.h>
#include <torch/torch.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace tandem::optim {

torch::Tensor squared_error(const torch::Tensor& estimate, const torch::Tensor& gradient) {
  return (gradient - estimate).square().sum() / 2;
}

ModuleTO::ModuleTO(std::vector<torch::Tensor> parameters, torch::nn::AnyModule estimator,
                   std::unique_ptr<torch::optim::Optimizer> trainer, const ModuleTOOptions& options)
    : torch::optim::Optimizer(std::move(parameters), std::make_unique<ModuleTOOptions>(options)),
      estimator_(std::move(estimator)),
      trainer_(std::move(trainer)),
      last_loss_(std::numeric_limits<double>::quiet_NaN()) {
  if (estimator_.is_empty()) throw std::invalid_argument("ModuleTO: the estimator is empty");
  if (trainer_ == nullptr) throw std::invalid_argument("ModuleTO: there is no trainer");
}

namespace {

torch::Tensor checked(torch::Tensor estimate, const torch::Tensor& weights) {
  if (estimate.sizes() != weights.sizes()) {
    throw std::invalid_argument("ModuleTO: the estimator gave " + std::to_string(estimate.numel()) +
                                " values for " + std::to_string(weights.numel()) + " weights");
  }
  return estimate;
}

}  // namespace

torch::Tensor ModuleTO::step(LossClosure closure) {
  const torch::NoGradGuard no_grad;
  torch::Tensor loss;
  if (closure != nullptr) {
    const at::AutoGradMode enable_grad(true);
    loss = closure();
  }
  for (torch::optim::OptimizerParamGroup& group : param_groups_) {
    const auto& options = static_cast<const ModuleTOOptions&>(group.options());
    std::vector<torch::Tensor> present;
    std::vector<torch::Tensor> weights;
    std::vector<torch::Tensor> gradients;
    for (std::size_t i = 0; i < group.params().size(); ++i) {
      const torch::Tensor& parameter = group.params()[i];
      if (!parameter.grad().defined() || parameter.numel() == 0) continue;
      if (parameter.grad().layout() != torch::kStrided) {
        throw std::invalid_argument("ModuleTO: parameter " + std::to_string(i) +
                                    " has a sparse gradient, expected a dense one");
      }
      present.push_back(parameter);
      weights.push_back(parameter.detach().reshape({-1}));
      gradients.push_back(parameter.grad().reshape({-1}));
    }
    if (present.empty()) continue;
    const torch::Tensor w = torch::cat(weights);
    const torch::Tensor g = torch::cat(gradients);
    {
      const at::AutoGradMode enable_grad(true);
      trainer_->zero_grad();
      const torch::Tensor error =
          options.loss()(checked(estimator_.forward<torch::Tensor>(w), w), g);
      error.backward();
      last_loss_ = error.item<double>();
    }
    trainer_->step();
    const torch::Tensor estimate = checked(estimator_.forward<torch::Tensor>(w), w);
    std::int64_t offset = 0;
    for (torch::Tensor& parameter : present) {
      parameter.sub_(estimate.narrow(0, offset, parameter.numel()).view(parameter.sizes()),
                     options.lr());
      offset += parameter.numel();
    }
  }
  return loss;
}

void ModuleTO::save(torch::serialize::OutputArchive& archive) const {
  archive.write("lr", c10::IValue(param_groups_.front().options().get_lr()));
  torch::serialize::OutputArchive trainer(archive.compilation_unit());
  trainer_->save(trainer);
  archive.write("trainer", trainer);
}

void ModuleTO::load(torch::serialize::InputArchive& archive) {
  c10::IValue lr;
  archive.read("lr", lr);
  torch::serialize::InputArchive trainer;
  archive.read("trainer", trainer);
  trainer_->load(trainer);
  param_groups_.front().options().set_lr(lr.toDouble());
}

}  // namespace tandem::optim
