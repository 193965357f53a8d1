// SPDX-License-Identifier: MIT
// A LibTorch training loop with Diag-TO. Only the line that makes the optimizer differs from one
// with torch::optim::Adam.
#include <tandem/torch.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstring>

namespace {

/// Two spirals that wind around each other, with a label each.
std::pair<torch::Tensor, torch::Tensor> spirals(std::int64_t count) {
  const torch::Tensor label = torch::arange(count).remainder(2);
  const torch::Tensor radius = torch::rand({count}).sqrt() * 3;
  const torch::Tensor angle = radius * 2 + label * 3.14159265 + 0.1 * torch::randn({count});
  return {torch::stack({radius * angle.cos(), radius * angle.sin()}, 1), label};
}

}  // namespace

int main(int argc, char** argv) {
  torch::manual_seed(1);
  const auto [points, labels] = spirals(2000);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64),
                            torch::nn::Tanh(), torch::nn::Linear(64, 2));

  const bool torch_adam = argc > 1 && std::strcmp(argv[1], "adam") == 0;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (torch_adam) {
    optimizer = std::make_unique<torch::optim::Adam>(net->parameters(), 3e-3);
  } else {
    optimizer = std::make_unique<tandem::optim::DiagonalTO>(
        net->parameters(), tandem::optim::DiagonalTOOptions(0.5).alpha(0.01).beta(0.5));
  }
  torch::optim::StepLR scheduler(*optimizer, /*step_size=*/20, /*gamma=*/0.7);

  double accuracy = 0;
  for (int epoch = 0; epoch < 100; ++epoch) {
    const torch::Tensor order = torch::randperm(points.size(0));
    for (const torch::Tensor& batch : order.split(64)) {
      optimizer->zero_grad();
      const torch::Tensor loss = torch::nn::functional::cross_entropy(
          net->forward(points.index_select(0, batch)), labels.index_select(0, batch));
      loss.backward();
      optimizer->step();
    }
    scheduler.step();
    if (epoch % 20 == 19) {
      const torch::NoGradGuard no_grad;
      const torch::Tensor logits = net->forward(points);
      accuracy = (logits.argmax(1) == labels).to(torch::kDouble).mean().item<double>();
      std::printf("epoch %3d  loss %.4f  accuracy %.3f\n", epoch + 1,
                  torch::nn::functional::cross_entropy(logits, labels).item<double>(), accuracy);
    }
  }
  return accuracy > 0.9 ? 0 : 1;
}
