// SPDX-License-Identifier: MIT
// What only some optimizers have: scopes, rates that follow a scheduler, rounding, diagnostics; and
// estimators that are modules.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

#include "test_models.h"
#include "threads.h"

namespace tandem::optim::testing {
namespace {

using torch::Tensor;

void train(torch::optim::Optimizer& optimizer, const Tensors& weights, int first, int last) {
  for (int t = first; t <= last; ++t) {
    set_gradients(weights, t);
    optimizer.step();
  }
}

// ---- Scopes --------------------------------------------------------------------------------------

TEST(Scope, WholeIsOneMatrixAndTensorIsOneEach) {
  const RankOneTOOptions options = RankOneTOOptions(0.1).alpha(0.05).beta(0.3);
  const Tensors whole = make_weights(torch::kDouble);
  const Tensors single = copies(whole);
  const Tensors grouped = copies(whole);
  RankOneTO one(whole, options);
  RankOneTO each(single, RankOneTOOptions(options).scope(Scope::tensor));
  RankOneTO groups(Groups{{Tensors{grouped[0]}}, {Tensors{grouped[1], grouped[2]}}},
                   RankOneTOOptions(options).scope(Scope::group));
  train(one, whole, 1, 20);
  train(each, single, 1, 20);
  train(groups, grouped, 1, 20);

  // A tensor alone is a model of its own.
  const Tensors alone = make_weights(torch::kDouble);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    RankOneTO own(Tensors{alone[i]}, options);
    for (int t = 1; t <= 20; ++t) {
      set_gradients(alone, t);
      own.step();
    }
    EXPECT_TRUE(torch::equal(alone[i], single[i])) << i;
  }
  EXPECT_TRUE(torch::equal(grouped[0], single[0]));
  EXPECT_FALSE(torch::equal(grouped[1], single[1]));
  EXPECT_FALSE(same_bits(whole, single));
  EXPECT_FALSE(same_bits(whole, grouped));
}

TEST(Scope, ScopesOfOneTypeOnly) {
  Tensors mixed = make_weights(torch::kFloat);
  mixed[1] = mixed[1].detach().to(torch::kDouble).set_requires_grad(true);
  set_gradients(mixed, 1);
  RankOneTO whole(mixed, RankOneTOOptions(0.1));
  try {
    whole.step();
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("Scope::tensor"), std::string::npos) << error.what();
  }
  RankOneTO each(mixed, RankOneTOOptions(0.1).scope(Scope::tensor));
  each.step();
  EXPECT_EQ(each.state_of(mixed[1])->arrays().at("a").scalar_type(), torch::kDouble);
}

TEST(Scope, GroupsOfOneMatrixMayDifferInRatesOnly) {
  const Tensors weights = make_weights(torch::kDouble);
  RankOneTO rates(Groups{{Tensors{weights[0]}},
                         {Tensors{weights[1]}, std::make_unique<RankOneTOOptions>(0.01)}},
                  RankOneTOOptions(0.1).alpha(0.05));
  set_gradients(weights, 1);
  rates.step();
  RankOneTO alphas(Groups{{Tensors{weights[0]}},
                          {Tensors{weights[1]},
                           std::make_unique<RankOneTOOptions>(RankOneTOOptions(0.1).alpha(0.5))}},
                   RankOneTOOptions(0.1).alpha(0.05));
  try {
    alphas.step();
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("alpha of group 0 is 0.05, of group 1 0.5"),
              std::string::npos)
        << error.what();
  }
}

TEST(Scope, FullTOOnTheWholeModelIsMomentumWithoutAlpha) {
  const Tensors weights = make_weights(torch::kDouble);
  const Tensors twins = copies(weights);
  FullTO full(weights, FullTOOptions(0.1).alpha(0).beta(0.1));
  Momentum momentum(twins, MomentumOptions(0.1).momentum(0.9));
  train(full, weights, 1, 100);
  train(momentum, twins, 1, 100);
  EXPECT_LT(difference(flat(weights), flat(twins)), 1e-12);
}

TEST(Scope, AParameterWithoutAGradientIsNotInThatStepOfTheMatrix) {
  const Tensors weights = make_weights(torch::kDouble);
  RankOneTO optimizer(weights, RankOneTOOptions(0.1).alpha(0.05).beta(0.3));
  train(optimizer, weights, 1, 3);
  const Tensor before = weights[1].detach().clone();
  ParamState::Arrays state;
  for (const auto& [name, tensor] : optimizer.state_of(weights[1])->arrays()) {
    state[name] = tensor.clone();
  }
  set_gradients(weights, 4);
  Tensor(weights[1]).mutable_grad() = Tensor();
  optimizer.step();
  EXPECT_TRUE(torch::equal(weights[1], before));
  for (const auto& [name, tensor] : optimizer.state_of(weights[1])->arrays()) {
    EXPECT_TRUE(torch::equal(tensor, state.at(name))) << name;
  }
  train(optimizer, weights, 5, 6);
  EXPECT_FALSE(torch::equal(weights[1], before));
}

// ---- Options -------------------------------------------------------------------------------------

TEST(TorchOptions, ReadingAnOptionDoesNotSetIt) {
  const Tensors weights = make_weights(torch::kFloat);
  auto group = std::make_unique<DiagonalTOOptions>(0.5);
  EXPECT_DOUBLE_EQ(group->alpha(), 0.01);
  group->beta() = 0.7;  // through a reference, as torch allows
  DiagonalTO optimizer(Groups{{weights, std::move(group)}},
                       DiagonalTOOptions(0.1).alpha(0.2).beta(0.4));
  const auto& merged = static_cast<const DiagonalTOOptions&>(optimizer.param_groups()[0].options());
  EXPECT_DOUBLE_EQ(merged.lr(), 0.5);
  EXPECT_DOUBLE_EQ(merged.alpha(), 0.2);
  EXPECT_DOUBLE_EQ(merged.beta(), 0.7);
}

TEST(TorchOptions, AnOptionGivenItsTypesDefaultIsGiven) {
  const Tensors weights = make_weights(torch::kFloat);
  DiagonalTO optimizer(
      Groups{{weights, std::make_unique<DiagonalTOOptions>(DiagonalTOOptions().alpha(0.01))}},
      DiagonalTOOptions(0.1).alpha(0.2));
  const auto& merged = static_cast<const DiagonalTOOptions&>(optimizer.param_groups()[0].options());
  EXPECT_DOUBLE_EQ(merged.alpha(), 0.01);
  EXPECT_DOUBLE_EQ(merged.lr(), 0.1);
}

TEST(TorchOptions, SchedulersMoveLrOrAllRates) {
  for (const bool all : {false, true}) {
    const Tensors weights = make_weights(torch::kDouble);
    const Tensors twins = copies(weights);
    DiagonalTO scheduled(weights, DiagonalTOOptions(0.1).alpha(0.08).beta(0.4).schedule_all(all));
    torch::optim::StepLR scheduler(scheduled, 1, 0.5);
    DiagonalTO by_hand(twins, DiagonalTOOptions(0.1).alpha(0.08).beta(0.4));
    for (int t = 1; t <= 5; ++t) {
      const double factor = scheduled.param_groups()[0].options().get_lr() / 0.1;
      auto& options = static_cast<DiagonalTOOptions&>(by_hand.param_groups()[0].options());
      options.lr(0.1 * factor);
      if (all) options.alpha(0.08 * factor).beta(0.4 * factor);
      set_gradients(weights, t);
      set_gradients(twins, t);
      scheduled.step();
      by_hand.step();
      scheduler.step();
    }
    EXPECT_LT(difference(flat(weights), flat(twins)), 1e-14) << all;
    EXPECT_LT(scheduled.param_groups()[0].options().get_lr(), 0.02);
  }
}

TEST(TorchOptions, StructureCannotChangeOnceThereIsState) {
  const Tensors weights = make_weights(torch::kFloat);
  BlockTO optimizer(weights, BlockTOOptions(0.1).block(4));
  train(optimizer, weights, 1, 1);
  static_cast<BlockTOOptions&>(optimizer.param_groups()[0].options()).block(8);
  set_gradients(weights, 2);
  for (int again = 0; again < 2; ++again) {
    const Tensors before = copies(weights);
    EXPECT_THROW(optimizer.step(), std::invalid_argument);
    EXPECT_TRUE(same_bits(weights, before));
  }
}

TEST(TorchOptions, StochasticRoundingMovesWhatNearestCannot) {
  // Steps of 1e-4 on weights of 1, whose neighbours are 2^-8 and 2^-7 away.
  const auto run = [](bool stochastic, std::uint64_t seed) {
    Tensor w = torch::ones({4096}, torch::kBFloat16).set_requires_grad(true);
    SGD optimizer(Tensors{w}, SGDOptions(1e-4).stochastic_rounding(stochastic).seed(seed));
    for (int t = 0; t < 100; ++t) {
      w.mutable_grad() = torch::ones_like(w);
      optimizer.step();
    }
    return w.detach().to(torch::kDouble);
  };
  EXPECT_TRUE(torch::equal(run(false, 1), torch::ones({4096}, torch::kDouble)));
  EXPECT_NEAR(run(true, 1).mean().item<double>(), 0.99, 0.001);
  EXPECT_TRUE(torch::equal(run(true, 1), run(true, 1)));
  EXPECT_FALSE(torch::equal(run(true, 1), run(true, 2)));
}

TEST(TorchOptions, TensorsDrawNoiseOfTheirOwn) {
  Tensors weights = {torch::ones({512}, torch::kBFloat16).set_requires_grad(true),
                     torch::ones({512}, torch::kBFloat16).set_requires_grad(true)};
  SGD optimizer(weights, SGDOptions(1e-3).stochastic_rounding(true));
  for (Tensor& w : weights) w.mutable_grad() = torch::ones_like(w);
  optimizer.step();
  EXPECT_FALSE(torch::equal(weights[0], weights[1]));
}

TEST(TorchDiagnostics, AreOverAllParameters) {
  const Tensors weights = make_weights(torch::kDouble);
  DiagonalTO optimizer(weights, DiagonalTOOptions(0.1).alpha(0.5).beta(0.25));
  EXPECT_TRUE(std::isnan(optimizer.last().gradient_norm));
  const Tensor w = flat(weights).clone();
  set_gradients(weights, 1);
  Tensors gradients;
  for (const Tensor& parameter : weights) gradients.push_back(parameter.grad());
  optimizer.step();
  const double norm = flat(gradients).norm().item<double>();
  EXPECT_NEAR(optimizer.last().gradient_norm, norm, 1e-12 * norm);
  EXPECT_NEAR(optimizer.last().residual_norm, norm, 1e-12 * norm);  // the first prediction is 0
  EXPECT_NEAR(optimizer.last().delta, 0.5 * w.square().max().item<double>() + 0.25, 1e-12);
  Adam adam(weights);
  adam.step();
  EXPECT_TRUE(std::isnan(adam.last().delta));
}

TEST(TorchThreads, AreTorchsOwn) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::array<std::thread::id, 2> seen;
  detail::torch_executor()->run(2, [&](std::size_t i) { seen[i] = std::this_thread::get_id(); });
  EXPECT_EQ(detail::torch_executor()->threads(), 2);
  EXPECT_NE(seen[0], seen[1]);
  at::set_num_threads(before);
}

TEST(TorchOptimizer, MayBeMoved) {
  const Tensors weights = make_weights(torch::kFloat);
  DiagonalTO first(weights, 0.1);  // a rate alone, as torch's
  train(first, weights, 1, 1);
  DiagonalTO second = std::move(first);
  train(second, weights, 2, 2);
  EXPECT_EQ(second.state_of(weights[0])->arrays().size(), 2U);
}

TEST(TorchOptimizer, TrainsANet) {
  torch::manual_seed(3);
  torch::nn::Sequential net(torch::nn::Linear(4, 16), torch::nn::Tanh(), torch::nn::Linear(16, 2));
  DiagonalTO optimizer(net->parameters(), DiagonalTOOptions(0.2).alpha(0.01).beta(0.5));
  const Tensor x = torch::randn({64, 4});
  const Tensor y = (x.select(1, 0) * x.select(1, 1) > 0).to(torch::kLong);
  double first = 0;
  double last = 0;
  for (int step = 0; step < 400; ++step) {
    optimizer.zero_grad();
    const Tensor loss = torch::nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    (step == 0 ? first : last) = loss.item<double>();
  }
  EXPECT_LT(last, 0.3 * first);
}

// ---- Modules as estimators -----------------------------------------------------------------------

struct LinearImpl : torch::nn::Module {
  explicit LinearImpl(std::int64_t size)
      : a(register_parameter("a", torch::zeros({size}, torch::kDouble))),
        b(register_parameter("b", torch::zeros({size}, torch::kDouble))) {}
  Tensor forward(const Tensor& w) { return a * w + b; }

  Tensor a;
  Tensor b;
};
TORCH_MODULE(Linear);

TEST(ModuleTO, WithALinearModuleIsDiagonalTO) {
  const Tensors weights = make_weights(torch::kDouble);
  const Tensors twins = copies(weights);
  Linear linear(flat(weights).numel());
  auto trainer = std::make_unique<torch::optim::SGD>(
      Groups{{Tensors{linear->a}, std::make_unique<torch::optim::SGDOptions>(0.05)},
             {Tensors{linear->b}, std::make_unique<torch::optim::SGDOptions>(0.3)}},
      torch::optim::SGDOptions(0.1));
  ModuleTO module(weights, torch::nn::AnyModule(linear), std::move(trainer), ModuleTOOptions(0.1));
  DiagonalTO diagonal(twins, DiagonalTOOptions(0.1).alpha(0.05).beta(0.3));
  EXPECT_TRUE(std::isnan(module.last_loss()));
  for (int t = 1; t <= 200; ++t) {
    set_gradients(weights, t);
    set_gradients(twins, t);
    module.step();
    diagonal.step();
    const double residual = diagonal.last().residual_norm;
    ASSERT_NEAR(module.last_loss(), residual * residual / 2, 1e-9) << t;
  }
  EXPECT_LT(difference(flat(weights), flat(twins)), 1e-11);
  EXPECT_LT(difference(linear->a,
                       [&] {
                         Tensors parts;
                         for (const Tensor& w : twins)
                           parts.push_back(diagonal.state_of(w)->arrays().at("a"));
                         return flat(parts);
                       }()),
            1e-9);
}

TEST(ModuleTO, GoesOnFromAnArchive) {
  const auto make = [](const Tensors& weights, Linear& linear) {
    return std::make_unique<ModuleTO>(
        weights, torch::nn::AnyModule(linear),
        std::make_unique<torch::optim::Adam>(linear->parameters(), 0.01), ModuleTOOptions(0.05));
  };
  const Tensors without = make_weights(torch::kDouble);
  Linear straight_linear(64);
  auto straight = make(without, straight_linear);
  train(*straight, without, 1, 12);
  const Tensors first = make_weights(torch::kDouble);
  Linear linear(64);
  auto before = make(first, linear);
  train(*before, first, 1, 6);
  std::stringstream stream;
  torch::save(*before, stream);
  const Tensors second = copies(first);
  Linear copy(64);
  {
    const torch::NoGradGuard no_grad;
    copy->a.copy_(linear->a);
    copy->b.copy_(linear->b);
  }
  auto after = make(second, copy);
  torch::load(*after, stream);
  train(*after, second, 7, 12);
  EXPECT_TRUE(same_bits(second, without));
}

struct WrongImpl : torch::nn::Module {
  Tensor forward(const Tensor& w) { return w.narrow(0, 0, 3); }
};
TORCH_MODULE(Wrong);

TEST(ModuleTO, RefusesAnEstimatorOfAnotherSize) {
  const Tensors weights = make_weights(torch::kDouble);
  set_gradients(weights, 1);
  const Tensors before = copies(weights);
  ModuleTO optimizer(weights, torch::nn::AnyModule(Wrong()),
                     std::make_unique<torch::optim::SGD>(Tensors{}, 0.1));
  EXPECT_THROW(optimizer.step(), std::invalid_argument);
  EXPECT_TRUE(same_bits(weights, before));
  EXPECT_THROW(ModuleTO(weights, torch::nn::AnyModule(), nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace tandem::optim::testing
