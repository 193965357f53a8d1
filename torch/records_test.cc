// SPDX-License-Identifier: MIT
// The model and the records of the tests.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "fields.h"
#include "optimizers/declaration.h"
#include "test_models.h"

namespace tandem::optim::testing {

// ---- The model -----------------------------------------------------------------------------------

Tensors make_weights(torch::ScalarType type, std::uint64_t seed) {
  auto generator = torch::make_generator<at::CPUGeneratorImpl>(seed);
  Tensors weights;
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{4, 8}, {16}, {2, 2, 4}}) {
    weights.push_back(
        (0.5 * torch::randn(shape, generator, torch::kDouble)).to(type).set_requires_grad(true));
  }
  return weights;
}

void set_gradients(const Tensors& weights, int t) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    torch::Tensor parameter = weights[i];
    const torch::NoGradGuard no_grad;
    const torch::Tensor place =
        torch::arange(parameter.numel(), torch::kDouble).view(parameter.sizes());
    const torch::Tensor noise = 0.3 * torch::sin(place * 7.0 + 1.7 * t + static_cast<double>(i));
    const torch::Tensor curvature = 0.5 + 0.4 * torch::cos(place);
    const torch::Tensor target = 0.2 * torch::sin(place * 3.0);
    const torch::Tensor gradient =
        curvature * (parameter.detach().to(torch::kDouble) - target) + noise;
    parameter.mutable_grad() = gradient.to(parameter.scalar_type());
  }
}

torch::Tensor flat(const Tensors& weights) {
  Tensors parts;
  for (const torch::Tensor& tensor : weights) parts.push_back(tensor.detach().reshape({-1}));
  return torch::cat(parts);
}

Tensors copies(const Tensors& weights) {
  Tensors copied;
  for (const torch::Tensor& tensor : weights) {
    copied.push_back(tensor.detach().clone().set_requires_grad(tensor.requires_grad()));
  }
  return copied;
}

double difference(const torch::Tensor& x, const torch::Tensor& y) {
  const torch::Tensor wide = y.to(torch::kDouble);
  return ((x.to(torch::kDouble) - wide).abs().max() / wide.abs().max()).item<double>();
}

bool same_bits(const Tensors& x, const Tensors& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!torch::equal(x[i], y[i])) return false;
  }
  return x.size() == y.size();
}

// ---- The records ---------------------------------------------------------------------------------

namespace {

template <class RuleOptions>
Record record_of(const RuleOptions& options) {
  Record record;
  record.rule = RuleOptions::rule;
  record.lr = options.get_lr();
  record.make = [options](Groups groups) {
    return std::make_unique<Rule<RuleOptions>>(std::move(groups), options);
  };
  record.options = [](double lr) { return std::make_unique<RuleOptions>(lr); };
  record.defaults = [] { return std::make_unique<RuleOptions>(); };
  return record;
}

using torch::Tensor;

constexpr double kAlpha = 0.05, kBeta = 0.3, kDecay = 0.01;

/// w -= lr (direction + decay w).
void move(Tensor& w, const Tensor& direction, double lr, double decay) {
  w = w * (1 - lr * decay) - lr * direction;
}

Record diag_to() {
  Record record = record_of(DiagonalTOOptions(0.1).alpha(kAlpha).beta(kBeta).weight_decay(kDecay));
  record.core = {{"alpha", "0.05"}, {"beta", "0.3"}, {"weight_decay", "0.01"}};
  record.state = {"a", "b"};
  record.reference = [] {
    return [a = Tensor(), b = Tensor()](Tensor& w, const Tensor& g, int) mutable {
      if (!a.defined()) a = b = torch::zeros_like(w);
      const Tensor r = g - a * w - b;
      a = a + kAlpha * r * w;
      b = b + kBeta * r;
      move(w, a * w + b, 0.1, kDecay);
    };
  };
  return record;
}

Record ro_to() {
  Record record = record_of(RankOneTOOptions(0.1).alpha(kAlpha).beta(kBeta).l2(0.02));
  record.core = {{"alpha", "0.05"}, {"beta", "0.3"}, {"l2", "0.02"}};
  record.state = {"a", "b", "c"};
  record.reference = [] {
    return [a = Tensor(), b = Tensor(), c = Tensor()](Tensor& w, const Tensor& plain, int) mutable {
      if (!a.defined()) {
        a = b = torch::zeros_like(w);
        c = w / w.dot(w);
      }
      const Tensor g = plain + 0.02 * w;
      const Tensor s = c.dot(w);
      const Tensor r = g - a * s - b;
      const Tensor q = r.dot(a);
      a = a + kAlpha * s * r;
      c = c + kAlpha * q * w;
      b = b + kBeta * r;
      move(w, a * c.dot(w) + b, 0.1, 0);
    };
  };
  return record;
}

Reference full_reference(double alpha, std::int64_t block) {
  return [=, a = Tensor(), b = Tensor()](Tensor& w, const Tensor& g, int) mutable {
    const std::int64_t size = block == 0 ? w.numel() : block;
    const std::int64_t blocks = w.numel() / size;
    if (!a.defined()) {
      a = torch::zeros({blocks, size, size}, w.options());
      b = torch::zeros_like(w);
    }
    const Tensor columns = w.view({blocks, size, 1});
    const Tensor r = (g - torch::bmm(a, columns).view({-1}) - b);
    a = a + alpha * torch::bmm(r.view({blocks, size, 1}), columns.transpose(1, 2));
    b = b + kBeta * r;
    move(w, torch::bmm(a, columns).view({-1}) + b, 0.1, 0);
  };
}

Record full_to() {
  Record record = record_of(FullTOOptions(0.1).alpha(0.01).beta(kBeta));
  record.core = {{"alpha", "0.01"}, {"beta", "0.3"}};
  record.reference = [] { return full_reference(0.01, 0); };
  return record;
}

Record block_to() {
  Record record = record_of(BlockTOOptions(0.1).alpha(kAlpha).beta(kBeta).block(4));
  record.core = {{"alpha", "0.05"}, {"beta", "0.3"}, {"block", "4"}};
  record.reference = [] { return full_reference(kAlpha, 4); };
  return record;
}

/// Divides by the root of a bias-corrected second moment.
Tensor scaled(const Tensor& direction, Tensor& v, const Tensor& g, int t) {
  if (!v.defined()) v = torch::zeros_like(g);
  v = 0.999 * v + 0.001 * g * g;
  return direction / ((v / (1 - std::pow(0.999, t))).sqrt() + 1e-8);
}

Record adam_to() {
  Record record = record_of(AdamTOOptions(0.01).alpha(kAlpha).beta(kBeta));
  record.core = {{"alpha", "0.05"}, {"beta", "0.3"}};
  record.state = {"a", "b", "v"};
  record.reference = [] {
    return [a = Tensor(), b = Tensor(), v = Tensor()](Tensor& w, const Tensor& g, int t) mutable {
      if (!a.defined()) a = b = torch::zeros_like(w);
      const Tensor r = g - a * w - b;
      a = a + kAlpha * r * w;
      b = b + kBeta * r;
      move(w, scaled(a * w + b, v, g, t), 0.01, 0);
    };
  };
  return record;
}

Reference adam_reference(double l2, double decay) {
  return [=, m = Tensor(), v = Tensor()](Tensor& w, const Tensor& plain, int t) mutable {
    if (!m.defined()) m = torch::zeros_like(w);
    const Tensor g = plain + l2 * w;
    m = 0.9 * m + 0.1 * g;
    move(w, scaled(m / (1 - std::pow(0.9, t)), v, g, t), 0.01, decay);
  };
}

Record adam() {
  Record record = record_of(AdamOptions(0.01).weight_decay(kDecay));
  record.core = {{"l2", "0.01"}};
  record.state = {"exp_avg", "exp_avg_sq"};
  record.reference = [] { return adam_reference(kDecay, 0); };
  record.twin = [](Tensors weights) -> std::unique_ptr<torch::optim::Optimizer> {
    return std::make_unique<torch::optim::Adam>(
        std::move(weights), torch::optim::AdamOptions(0.01).weight_decay(kDecay));
  };
  return record;
}

Record adamw() {
  Record record = record_of(AdamWOptions(0.01).weight_decay(0.1));
  record.core = {{"weight_decay", "0.1"}};
  record.state = {"exp_avg", "exp_avg_sq"};
  record.reference = [] { return adam_reference(0, 0.1); };
  record.twin = [](Tensors weights) -> std::unique_ptr<torch::optim::Optimizer> {
    return std::make_unique<torch::optim::AdamW>(
        std::move(weights), torch::optim::AdamWOptions(0.01).weight_decay(0.1));
  };
  return record;
}

std::unique_ptr<torch::optim::Optimizer> torch_sgd(Tensors weights, double momentum,
                                                   bool nesterov) {
  return std::make_unique<torch::optim::SGD>(
      std::move(weights),
      torch::optim::SGDOptions(0.01).momentum(momentum).nesterov(nesterov).weight_decay(kDecay));
}

Reference momentum_reference(double momentum, bool nesterov) {
  return [=, b = Tensor()](Tensor& w, const Tensor& plain, int) mutable {
    if (!b.defined()) b = torch::zeros_like(w);
    const Tensor g = plain + kDecay * w;
    b = momentum * b + g;
    move(w, nesterov ? g + momentum * b : b, 0.01, 0);
  };
}

Record momentum() {
  Record record = record_of(MomentumOptions(0.01).form(MomentumForm::torch).weight_decay(kDecay));
  record.core = {{"form", "torch"}, {"l2", "0.01"}};
  record.state = {"momentum_buffer"};
  record.reference = [] { return momentum_reference(0.9, false); };
  record.twin = [](Tensors weights) { return torch_sgd(std::move(weights), 0.9, false); };
  return record;
}

Record nesterov() {
  Record record = record_of(NesterovOptions(0.01).weight_decay(kDecay));
  record.core = {{"l2", "0.01"}};
  record.state = {"momentum_buffer"};
  record.reference = [] { return momentum_reference(0.9, true); };
  record.twin = [](Tensors weights) { return torch_sgd(std::move(weights), 0.9, true); };
  return record;
}

Record sgd() {
  Record record = record_of(SGDOptions(0.01).weight_decay(kDecay));
  record.core = {{"l2", "0.01"}};
  record.reference = [] { return momentum_reference(0, false); };
  record.twin = [](Tensors weights) { return torch_sgd(std::move(weights), 0, false); };
  return record;
}

Record adagrad() {
  Record record = record_of(AdagradOptions(0.05).initial_accumulator_value(0.1));
  record.core = {{"initial_accumulator", "0.1"}};
  record.state = {"sum"};
  record.reference = [] {
    return [v = Tensor()](Tensor& w, const Tensor& g, int) mutable {
      if (!v.defined()) v = torch::full_like(w, 0.1);
      v = v + g * g;
      move(w, g / (v.sqrt() + 1e-10), 0.05, 0);
    };
  };
  record.twin = [](Tensors weights) -> std::unique_ptr<torch::optim::Optimizer> {
    return std::make_unique<torch::optim::Adagrad>(
        std::move(weights), torch::optim::AdagradOptions(0.05).initial_accumulator_value(0.1));
  };
  return record;
}

Record rmsprop() {
  Record record = record_of(RMSPropOptions(0.01));
  record.state = {"square_avg"};
  record.reference = [] {
    return [v = Tensor()](Tensor& w, const Tensor& g, int) mutable {
      if (!v.defined()) v = torch::zeros_like(w);
      v = 0.99 * v + 0.01 * g * g;
      move(w, g / (v.sqrt() + 1e-8), 0.01, 0);
    };
  };
  record.twin = [](Tensors weights) -> std::unique_ptr<torch::optim::Optimizer> {
    return std::make_unique<torch::optim::RMSprop>(std::move(weights),
                                                   torch::optim::RMSpropOptions(0.01));
  };
  return record;
}

Record lion() {
  Record record = record_of(LionOptions(0.01).weight_decay(0.1));
  record.core = {{"weight_decay", "0.1"}};
  record.state = {"exp_avg"};
  record.reference = [] {
    return [m = Tensor()](Tensor& w, const Tensor& g, int) mutable {
      if (!m.defined()) m = torch::zeros_like(w);
      const Tensor direction = torch::sign(0.9 * m + 0.1 * g);
      m = 0.99 * m + 0.01 * g;
      move(w, direction, 0.01, 0.1);
    };
  };
  return record;
}

/// Of a rule without a record of its own: it must equal the library's, which has its own reference.
Record from_declaration(const OptimizerInfo& info) {
  constexpr double kLr = 0.01;
  const detail::Kind& kind = detail::kinds().at(info.name);
  Record record;
  record.rule = info.name;
  record.lr = kLr;
  record.make = [&kind](Groups groups) {
    const auto options = kind.options();
    options->set_lr(kLr);
    return kind.optimizer(std::move(groups), *options);
  };
  record.options = [&kind](double lr) {
    auto options = kind.options();
    options->set_lr(lr);
    return options;
  };
  record.defaults = kind.options;
  record.reference = [name = info.name] {
    return [name, optimizer = std::shared_ptr<tandem::Optimizer>()](Tensor& w, const Tensor& g,
                                                                    int) mutable {
      const auto size = static_cast<std::size_t>(w.numel());
      if (optimizer == nullptr) optimizer = make_optimizer(name, size, {{"lr", "0.01"}});
      w = w.clone();
      optimizer->step(std::span(w.data_ptr<double>(), size),
                      std::span<const double>(g.data_ptr<double>(), size));
    };
  };
  for (const rules::StateArray& array : rules::known_declaration(info.name).state) {
    if (array.shape != rules::StateArray::Shape::like_weights) continue;
    record.state.push_back(array.torch.empty() ? array.name : array.torch);
  }
  return record;
}

}  // namespace

const std::vector<Record>& records() {
  static const std::vector<Record> kRecords = [] {
    std::vector<Record> all = {diag_to(), ro_to(),   full_to(),  block_to(), adam_to(),
                               adam(),    adamw(),   momentum(), nesterov(), sgd(),
                               adagrad(), rmsprop(), lion()};
    for (const OptimizerInfo& info : optimizer_infos()) {
      const bool written = std::any_of(
          all.begin(), all.end(), [&](const Record& record) { return record.rule == info.name; });
      if (!written) all.push_back(from_declaration(info));
    }
    return all;
  }();
  return kRecords;
}

const Record& record(const std::string& rule) {
  for (const Record& one : records()) {
    if (one.rule == rule) return one;
  }
  throw std::out_of_range(rule);
}

}  // namespace tandem::optim::testing
