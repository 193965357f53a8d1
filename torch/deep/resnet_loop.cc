// SPDX-License-Identifier: MIT
#include "deep/resnet_loop.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <fmt/format.h>
#include <tandem/torch.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "deep/images.h"
#include "deep/plain_errors.h"
#include "deep/resnet.h"

namespace tandem::deep {
namespace {

constexpr std::uint64_t kSeed = 1;

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name,
                                                        const std::vector<at::Tensor>& parameters) {
  if (name == "none") return nullptr;
  if (name == "torch::optim::SGD") {
    return std::make_unique<torch::optim::SGD>(parameters,
                                               torch::optim::SGDOptions(0.01).momentum(0.9));
  }
  if (name == "torch::optim::Adam") {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(1e-3));
  }
  if (name == "tandem::optim::DiagonalTO") {
    return std::make_unique<optim::DiagonalTO>(parameters, optim::DiagonalTOOptions(0.01));
  }
  throw std::invalid_argument(
      fmt::format("Unknown optimizer '{}', expected torch::optim::SGD, torch::optim::Adam, "
                  "tandem::optim::DiagonalTO or none",
                  name));
}

class ResNetLoop : public plugin::Loop {
 public:
  ResNetLoop(const plugin::ResNetShape& shape, const data::Task& task, std::size_t batch,
             const std::string& optimizer)
      : data_(task.train),
        normalisation_(check_images(task)),
        net_(shape.depth, task.train.classes, shape.width),
        statistics_(net_.fresh_statistics()),
        batch_(batch) {
    if (batch == 0 || batch > data_.rows) {
      throw std::invalid_argument(fmt::format(
          "Invalid batch: {}, expected 1 to {}, the number of training images", batch, data_.rows));
    }
    std::vector<float> start(net_.dimension());
    net_.start(kSeed, start);
    // Each a tensor of its own, as a module has them; clones keep channels-last.
    for (const at::Tensor& tensor : net_.tensors(start.data())) {
      parameters_.push_back(tensor.clone().set_requires_grad(true));
    }
    optimizer_ = make_optimizer(optimizer, parameters_);
  }

  void run(std::size_t steps) override {
    plain_errors([&] {
      for (std::size_t i = 0; i < steps; ++i) step();
    });
  }

  std::vector<float> weights() const override {
    std::vector<float> values(net_.dimension());
    const at::NoGradGuard plain;
    const std::vector<at::Tensor> targets = net_.tensors(values.data());
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].copy_(parameters_[i]);
    return values;
  }

 private:
  void step() {
    if (at_ + batch_ > data_.rows) at_ = 0;
    std::vector<std::uint32_t> rows(batch_);
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(at_));
    std::vector<View> views(batch_);
    for (std::size_t i = 0; i < batch_; ++i) views[i] = random_view(kSeed, batches_, i);
    at_ += batch_;
    ++batches_;

    for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    const at::Tensor images = image_tensor(data_, normalisation_, rows, views);
    const at::Tensor logits =
        net_.forward(images, parameters_, statistics_, ResNet::Mode::training);
    at::cross_entropy_loss(logits, label_tensor(data_, rows)).backward();
    if (optimizer_ != nullptr) optimizer_->step();
  }

  const data::Dataset& data_;
  Normalisation normalisation_;
  ResNet net_;
  RunningStatistics statistics_;
  std::size_t batch_;
  std::size_t at_ = 0;  // the next batch's first row
  std::uint64_t batches_ = 0;
  std::vector<at::Tensor> parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<plugin::Loop> make_resnet_loop(const plugin::ResNetShape& shape,
                                               const data::Task& task, std::size_t batch,
                                               const std::string& optimizer) {
  return plain_errors([&] { return std::make_unique<ResNetLoop>(shape, task, batch, optimizer); });
}

}  // namespace tandem::deep
