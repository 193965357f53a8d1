// SPDX-License-Identifier: MIT
#include "bench_torch.h"

#include <fmt/format.h>
#include <tandem/torch.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim.h>
#include <torch/types.h>

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "deep/plain_errors.h"
#include "deep/resnet_loop.h"

namespace tandem {
namespace {

using Tensors = std::vector<torch::Tensor>;

std::vector<float> values_of(const Tensors& tensors) {
  std::vector<float> values;
  for (const torch::Tensor& tensor : tensors) {
    const torch::Tensor flat = tensor.detach().contiguous();
    values.insert(values.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return values;
}

/// A tensor with a copy of these values.
template <class T>
torch::Tensor copy_of(std::span<const T> values) {
  // from_blob only reads, but has no const.
  return torch::from_blob(const_cast<T*>(values.data()), {static_cast<std::int64_t>(values.size())},
                          torch::CppTypeToScalarType<T>::value)
      .clone();
}

// ---- Steps of an optimizer ----------------------------------------------------------------------

constexpr double kTinyRate = 1e-6;  // thousands of steps with one gradient go nowhere

template <class Optimizer, class Options>
std::unique_ptr<torch::optim::Optimizer> make(const Tensors& parameters, const Options& options) {
  return std::make_unique<Optimizer>(parameters, options);
}

using Factory = std::function<std::unique_ptr<torch::optim::Optimizer>(const Tensors&)>;

const std::map<std::string, Factory>& factories() {
  static const std::map<std::string, Factory> kAll = {
      {"torch::optim::Adam",
       [](const Tensors& parameters) {
         return make<torch::optim::Adam>(parameters, torch::optim::AdamOptions(kTinyRate));
       }},
      {"torch::optim::AdamW",
       [](const Tensors& parameters) {
         return make<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(kTinyRate));
       }},
      {"torch::optim::SGD",
       [](const Tensors& parameters) {
         return make<torch::optim::SGD>(parameters,
                                        torch::optim::SGDOptions(kTinyRate).momentum(0.9));
       }},
      {"tandem::optim::Adam",
       [](const Tensors& parameters) {
         return make<optim::Adam>(parameters, optim::AdamOptions(kTinyRate));
       }},
      {"tandem::optim::AdamW",
       [](const Tensors& parameters) {
         return make<optim::AdamW>(parameters, optim::AdamWOptions(kTinyRate));
       }},
      {"tandem::optim::Momentum",
       [](const Tensors& parameters) {
         return make<optim::Momentum>(
             parameters, optim::MomentumOptions(kTinyRate).momentum(0.9).form(MomentumForm::torch));
       }},
      {"tandem::optim::DiagonalTO",
       [](const Tensors& parameters) {
         return make<optim::DiagonalTO>(parameters, optim::DiagonalTOOptions(kTinyRate));
       }},
      {"tandem::optim::RankOneTO",
       [](const Tensors& parameters) {
         // |a|^2 |w|^2 over millions of weights overflows with larger ones, and RO-TO would then
         // look for the reason in the gradient.
         return make<optim::RankOneTO>(parameters, optim::RankOneTOOptions(kTinyRate).alpha(1e-9));
       }},
      {"tandem::optim::AdamTO",
       [](const Tensors& parameters) {
         return make<optim::AdamTO>(parameters, optim::AdamTOOptions(kTinyRate));
       }},
  };
  return kAll;
}

class OptimizerLoop : public plugin::StepLoop {
 public:
  OptimizerLoop(const Factory& factory, const plugin::Tensors& tensors) {
    std::size_t at = 0;
    for (const std::size_t size : tensors.sizes) {
      torch::Tensor parameter = copy_of(tensors.weights.subspan(at, size)).requires_grad_();
      parameter.mutable_grad() = copy_of(tensors.gradient.subspan(at, size));
      parameters_.push_back(std::move(parameter));
      at += size;
    }
    optimizer_ = factory(parameters_);
  }

  void run(std::size_t steps) override {
    plain_errors([&] {
      for (std::size_t i = 0; i < steps; ++i) optimizer_->step();
    });
  }
  void run_scheduled(std::size_t steps) override {
    plain_errors([&] {
      for (std::size_t i = 0; i < steps; ++i) {
        for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) {
          group.options().set_lr(kTinyRate / static_cast<double>(1 + moves_++ % 100));
        }
        optimizer_->step();
      }
    });
  }
  std::vector<float> weights() const override { return values_of(parameters_); }

 private:
  Tensors parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::size_t moves_ = 0;  // of rates
};

std::unique_ptr<plugin::StepLoop> make_optimizer_loop(const std::string& name,
                                                      const plugin::Tensors& tensors) {
  const auto found = factories().find(name);
  if (found == factories().end()) {
    throw std::invalid_argument(fmt::format("Unknown optimizer '{}'", name));
  }
  return plain_errors([&] { return std::make_unique<OptimizerLoop>(found->second, tensors); });
}

// ---- Softmax regression -------------------------------------------------------------------------

class SoftmaxLoop : public plugin::Loop {
 public:
  SoftmaxLoop(const plugin::Samples& samples, std::span<const std::int64_t> order,
              std::size_t batch, double lr)
      : rows_(copy_of(samples.rows).view({-1, static_cast<std::int64_t>(samples.features)})),
        labels_(copy_of(samples.labels)),
        order_(copy_of(order)),
        batch_(static_cast<std::int64_t>(batch)),
        model_(static_cast<std::int64_t>(samples.features),
               static_cast<std::int64_t>(samples.classes)),
        optimizer_(model_->parameters(), torch::optim::AdamOptions(lr)) {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : model_->parameters()) parameter.zero_();
  }

  void run(std::size_t steps) override {
    plain_errors([&] {
      for (std::size_t i = 0; i < steps; ++i) step();
    });
  }
  std::vector<float> weights() const override { return values_of(model_->parameters()); }

 private:
  void step() {
    if (at_ + batch_ > order_.size(0)) at_ = 0;
    const torch::Tensor chosen = order_.narrow(0, at_, batch_);
    at_ += batch_;
    const torch::Tensor inputs = rows_.index_select(0, chosen);
    const torch::Tensor targets = labels_.index_select(0, chosen);
    optimizer_.zero_grad();
    torch::nn::functional::cross_entropy(model_(inputs), targets).backward();
    optimizer_.step();
  }

  torch::Tensor rows_;
  torch::Tensor labels_;
  torch::Tensor order_;
  std::int64_t batch_;
  std::int64_t at_ = 0;
  torch::nn::Linear model_;
  torch::optim::Adam optimizer_;
};

std::unique_ptr<plugin::Loop> make_softmax_loop(const plugin::Samples& samples,
                                                std::span<const std::int64_t> order,
                                                std::size_t batch, double lr) {
  return plain_errors([&] { return std::make_unique<SoftmaxLoop>(samples, order, batch, lr); });
}

}  // namespace

plugin::TorchBench torch_bench() {
  return {.optimizer = make_optimizer_loop,
          .softmax = make_softmax_loop,
          .resnet = deep::make_resnet_loop};
}

}  // namespace tandem
