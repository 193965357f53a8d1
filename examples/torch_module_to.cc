// SPDX-License-Identifier: MIT
// An estimator of one's own: a small network, shared by all coordinates, learns while it is used to
// predict the gradient from the weights, beside a bias a coordinate. Equations (2) and (3) of the
// paper with something else than A w + b.
#include <tandem/torch.h>
#include <torch/torch.h>

#include <cstdio>

namespace {

/// G_i = net(w_i) + b_i. The last layer starts at zero, so that at first G = b, which is momentum.
struct SharedNetImpl : torch::nn::Module {
  explicit SharedNetImpl(std::int64_t weights)
      : hidden(register_module("hidden", torch::nn::Linear(1, 8))),
        out(register_module("out", torch::nn::Linear(torch::nn::LinearOptions(8, 1).bias(false)))),
        bias(register_parameter("bias", torch::zeros({weights}))) {
    torch::nn::init::zeros_(out->weight);
  }
  torch::Tensor forward(const torch::Tensor& w) {
    return out(torch::tanh(hidden(w.unsqueeze(1)))).squeeze(1) + bias;
  }

  torch::nn::Linear hidden;
  torch::nn::Linear out;
  torch::Tensor bias;
};
TORCH_MODULE(SharedNet);

}  // namespace

int main() {
  torch::manual_seed(2);
  // Logistic regression with noise in the labels.
  const torch::Tensor x = torch::randn({2000, 20});
  const torch::Tensor y =
      (x.matmul(torch::randn({20})) + torch::randn({2000}) > 0).to(torch::kFloat);
  const torch::Tensor w = torch::randn({20}).set_requires_grad(true);
  const auto loss_on = [&](const torch::Tensor& rows) {
    return torch::nn::functional::binary_cross_entropy_with_logits(
        x.index_select(0, rows).matmul(w), y.index_select(0, rows));
  };

  SharedNet net(w.numel());
  // The network learns slowly, the biases fast, as alpha and beta of the paper.
  std::vector<torch::optim::OptimizerParamGroup> groups;
  std::vector<torch::Tensor> shared = net->hidden->parameters();
  shared.push_back(net->out->weight);
  groups.emplace_back(shared, std::make_unique<torch::optim::SGDOptions>(0.005));
  groups.emplace_back(std::vector<torch::Tensor>{net->bias},
                      std::make_unique<torch::optim::SGDOptions>(0.1));
  tandem::optim::ModuleTO optimizer(
      {w}, torch::nn::AnyModule(net),
      std::make_unique<torch::optim::SGD>(groups, torch::optim::SGDOptions(0.1)),
      tandem::optim::ModuleTOOptions(0.5));

  const torch::Tensor all = torch::arange(x.size(0));
  const double first = loss_on(all).item<double>();
  for (int step = 0; step < 1000; ++step) {
    optimizer.zero_grad();
    loss_on(torch::randint(x.size(0), {32}, torch::kLong)).backward();
    optimizer.step();
    if (step % 200 == 199) {
      std::printf("step %4d  loss %.4f  error of the estimator %.4f\n", step + 1,
                  loss_on(all).item<double>(), optimizer.last_loss());
    }
  }
  return loss_on(all).item<double>() < 0.5 * first ? 0 : 1;
}
