// SPDX-License-Identifier: MIT
// What torch::optim::Optimizer::state() holds, and what becomes of changes to it.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "test_models.h"

namespace tandem::optim::testing {
namespace {

using torch::Tensor;

void train(torch::optim::Optimizer& optimizer, const Tensors& weights, int first, int last) {
  for (int t = first; t <= last; ++t) {
    set_gradients(weights, t);
    optimizer.step();
  }
}

template <class Action>
void expect_state_error(const Action& action, const std::vector<std::string>& fragments) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const StateError& error) {
    for (const std::string& fragment : fragments) {
      EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos)
          << "'" << fragment << "' is not in: " << error.what();
    }
  }
}

torch::OrderedDict<std::string, Tensor> names_of(const Tensors& weights) {
  torch::OrderedDict<std::string, Tensor> names;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    names.insert("layer." + std::to_string(i), weights[i]);
  }
  return names;
}

std::string archived(const Optimizer& optimizer) {
  std::ostringstream stream;
  torch::save(optimizer, stream);
  return stream.str();
}

TEST(TorchState, HasTheKeysOfEachRule) {
  for (const Record& record : records()) {
    SCOPED_TRACE(record.rule);
    const Tensors weights = make_weights(torch::kFloat);
    const auto optimizer = record.make(Groups{{weights}});
    EXPECT_TRUE(optimizer->state().empty());
    EXPECT_EQ(optimizer->state_of(weights[0]), nullptr);
    train(*optimizer, weights, 1, 3);
    EXPECT_EQ(optimizer->state().size(), weights.size());
    for (const Tensor& parameter : weights) {
      const ParamState* state = optimizer->state_of(parameter);
      ASSERT_NE(state, nullptr);
      EXPECT_EQ(state->step(), 3);
      std::vector<std::string> keys;
      for (const auto& [key, tensor] : state->arrays()) {
        keys.push_back(key);
        EXPECT_EQ(tensor.sizes(), parameter.sizes()) << key;
        EXPECT_FALSE(tensor.requires_grad());
      }
      EXPECT_EQ(keys, record.state);
      const bool first = parameter.is_same(weights[0]);
      EXPECT_EQ(state->unit().has_value(),
                record.rule == "block-to" || (record.rule == "full-to" && first));
    }
  }
}

TEST(TorchState, IsWhatStepsAreMadeOn) {
  const Tensors weights = make_weights(torch::kFloat);
  Adam optimizer(weights, AdamOptions(0.01));
  train(optimizer, weights, 1, 1);
  const Tensor average = optimizer.state_of(weights[0])->arrays().at("exp_avg");
  const Tensor before = average.clone();
  const auto version = average._version();
  train(optimizer, weights, 2, 2);
  EXPECT_TRUE(average.is_same(optimizer.state_of(weights[0])->arrays().at("exp_avg")));
  EXPECT_FALSE(torch::equal(average, before));
  EXPECT_GT(average._version(), version);
}

TEST(TorchState, IsThatOfTorchsOwn) {
  const Tensors ours = make_weights(torch::kDouble);
  const Tensors theirs = copies(ours);
  Adam optimizer(ours, AdamOptions(0.01));
  torch::optim::Adam twin(theirs, torch::optim::AdamOptions(0.01));
  train(optimizer, ours, 1, 9);
  train(twin, theirs, 1, 9);
  // One parameter each has a key that the other map must not know.
  ASSERT_EQ(twin.state().size(), 3U);
  for (const auto& [key, state] : twin.state()) {
    const auto& own = static_cast<const torch::optim::AdamParamState&>(*state);
    bool found = false;
    for (const Tensor& parameter : ours) {
      const ParamState& here = *optimizer.state_of(parameter);
      if (own.exp_avg().sizes() != parameter.sizes()) continue;
      EXPECT_EQ(here.step(), own.step());
      EXPECT_LT(difference(here.arrays().at("exp_avg"), own.exp_avg()), 1e-12);
      EXPECT_LT(difference(here.arrays().at("exp_avg_sq"), own.exp_avg_sq()), 1e-12);
      found = true;
    }
    EXPECT_TRUE(found);
  }
}

// ---- Changes by others -----------------------------------------------------------------------------

/// Gives an optimizer the state of another one as copies.
void copy_state(const Optimizer& from, const Tensors& of, Optimizer& to, const Tensors& at) {
  const auto copy = [](const Tensor& tensor) { return tensor.clone(); };
  for (std::size_t i = 0; i < of.size(); ++i) {
    ParamState state = *from.state_of(of[i]);
    for (auto& [key, tensor] : state.arrays()) tensor = copy(tensor);
    if (state.unit()) {
      for (auto& [key, list] : state.unit()->arrays) {
        std::transform(list.begin(), list.end(), list.begin(), copy);
      }
    }
    *to.state_of(at[i]) = std::move(state);
  }
}

TEST(TorchState, ReplacedIsHonoured) {
  for (const Record& record : records()) {
    SCOPED_TRACE(record.rule);
    const Tensors straight = make_weights(torch::kDouble);
    const auto one = record.make(Groups{{straight}});
    train(*one, straight, 1, 10);
    // Another run gets weights and state of the first one in the middle of it.
    const Tensors other = make_weights(torch::kDouble, 7);
    const auto two = record.make(Groups{{other}});
    train(*two, other, 1, 4);
    copy_state(*one, straight, *two, other);
    {
      const torch::NoGradGuard no_grad;
      for (std::size_t i = 0; i < other.size(); ++i) other[i].copy_(straight[i]);
    }
    train(*one, straight, 11, 20);
    train(*two, other, 11, 20);
    // RO-TO takes its sums anew.
    EXPECT_LT(difference(flat(other), flat(straight)), 1e-12);
    EXPECT_EQ(two->state_of(other[0])->step(), 20);
  }
}

TEST(TorchState, WrittenInPlaceIsHonoured) {
  for (const Record& record : records()) {
    SCOPED_TRACE(record.rule);
    if (record.state.empty()) continue;
    const Tensors weights = make_weights(torch::kDouble);
    const Tensors twins = copies(weights);
    const auto written = record.make(Groups{{weights}});
    const auto replaced = record.make(Groups{{twins}});
    train(*written, weights, 1, 5);
    train(*replaced, twins, 1, 5);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      for (auto& [key, tensor] : written->state_of(weights[i])->arrays()) tensor.mul_(0.5);
      for (auto& [key, tensor] : replaced->state_of(twins[i])->arrays()) tensor = tensor * 0.5;
    }
    // A step that fails in between does not make it forgotten.
    set_gradients(weights, 6);
    Tensor(weights[0]).mutable_grad().view({-1})[1] = std::numeric_limits<double>::infinity();
    EXPECT_THROW(written->step(), NonFiniteGradient);
    train(*written, weights, 6, 10);
    train(*replaced, twins, 6, 10);
    EXPECT_TRUE(same_bits(weights, twins));
    const Tensors without = make_weights(torch::kDouble);
    const auto left_alone = record.make(Groups{{without}});
    train(*left_alone, without, 1, 10);
    EXPECT_FALSE(same_bits(weights, without));
  }
}

TEST(TorchState, ClearedStartsAnew) {
  for (const Record& record : records()) {
    SCOPED_TRACE(record.rule);
    const Tensors weights = make_weights(torch::kFloat);
    const auto optimizer = record.make(Groups{{weights}});
    train(*optimizer, weights, 1, 6);
    optimizer->state().clear();
    const Tensors twins = copies(weights);
    const auto fresh = record.make(Groups{{twins}});
    train(*optimizer, weights, 7, 12);
    train(*fresh, twins, 7, 12);
    EXPECT_TRUE(same_bits(weights, twins));
    EXPECT_EQ(optimizer->state_of(weights[0])->step(), 6);
  }
}

TEST(TorchState, InAnotherLayoutIsTheSame) {
  const Tensors weights = make_weights(torch::kDouble);
  const Tensors twins = copies(weights);
  Adam one(weights, AdamOptions(0.01));
  Adam other(twins, AdamOptions(0.01));
  train(one, weights, 1, 3);
  train(other, twins, 1, 3);
  ParamState::Arrays& arrays = other.state_of(twins[0])->arrays();
  arrays.at("exp_avg") = arrays.at("exp_avg").t().contiguous().t();  // columns first
  Tensor wide = torch::zeros({4, 8, 2}, torch::kDouble);             // with gaps
  wide.select(2, 1).copy_(arrays.at("exp_avg_sq"));
  arrays.at("exp_avg_sq") = wide.select(2, 1);
  train(one, weights, 4, 8);
  train(other, twins, 4, 8);
  EXPECT_TRUE(same_bits(weights, twins));
}

TEST(TorchState, StepMayBeChanged) {
  const Tensors weights = make_weights(torch::kDouble);
  const Tensors theirs = copies(weights);
  Adam ours(weights, AdamOptions(0.01));
  torch::optim::Adam twin(theirs, torch::optim::AdamOptions(0.01));
  train(ours, weights, 1, 3);
  train(twin, theirs, 1, 3);
  for (const Tensor& parameter : weights) ours.state_of(parameter)->step(1000);
  for (auto& [key, state] : twin.state()) {
    static_cast<torch::optim::AdamParamState&>(*state).step(1000);
  }
  train(ours, weights, 4, 6);
  train(twin, theirs, 4, 6);
  EXPECT_LT(difference(flat(weights), flat(theirs)), 1e-12);
}

TEST(TorchState, ThatCannotBeSteppedOnIsRefused) {
  const auto refuse = [](const std::function<void(ParamState&, ParamState&)>& spoil,
                         const std::vector<std::string>& fragments) {
    const Tensors weights = make_weights(torch::kFloat);
    NAdamW optimizer(weights, NAdamWOptions(0.01));
    optimizer.name_parameters(names_of(weights));
    train(optimizer, weights, 1, 2);
    spoil(*optimizer.state_of(weights[0]), *optimizer.state_of(weights[1]));
    const Tensors before = copies(weights);
    set_gradients(weights, 3);
    for (int again = 0; again < 2; ++again) {
      expect_state_error([&] { optimizer.step(); }, fragments);
      EXPECT_TRUE(same_bits(weights, before));
      EXPECT_EQ(optimizer.state_of(weights[2])->step(), 2);
    }
  };
  refuse([](ParamState&, ParamState& state) { state.arrays().erase("exp_avg"); },
         {"nadamw: parameter 'layer.1'", "no 'exp_avg'"});
  refuse([](ParamState&, ParamState& state) { state.arrays().at("exp_avg_sq") = Tensor(); },
         {"'layer.1'", "'exp_avg_sq'", "not defined"});
  refuse([](ParamState&, ParamState& state) { state.arrays().at("exp_avg") = torch::zeros({15}); },
         {"'layer.1'", "'exp_avg'", "[15]", "[16]"});
  refuse(
      [](ParamState&, ParamState& state) {
        state.arrays().at("exp_avg") = torch::zeros({16}, torch::kDouble);
      },
      {"'layer.1'", "'exp_avg'", "Double", "Float"});
  refuse(
      [](ParamState&, ParamState& state) {
        state.arrays().at("exp_avg") = torch::zeros({16}, torch::kComplexFloat);
      },
      {"'layer.1'", "'exp_avg'", "ComplexFloat"});
  refuse([](ParamState&,
            ParamState& state) { state.arrays().at("exp_avg") = torch::zeros({16}).to_sparse(); },
         {"'layer.1'", "'exp_avg'", "sparse"});
  refuse([](ParamState&,
            ParamState& state) { state.arrays().at("exp_avg") = torch::zeros({16}, torch::kMeta); },
         {"'layer.1'", "'exp_avg'", "meta"});
  refuse([](ParamState&, ParamState& state) { state.scalars().clear(); },
         {"'layer.1'", "no 'mu_product'"});
  refuse([](ParamState&, ParamState& state) { state.step(-3); }, {"'layer.1'", "step -3"});
  refuse([](ParamState&,
            ParamState& state) { state.arrays().at("exp_avg") = state.arrays().at("exp_avg_sq"); },
         {"'layer.1'", "shares memory"});
  refuse(
      [](ParamState& other, ParamState& state) {
        state.arrays().at("exp_avg") = other.arrays().at("exp_avg").view({-1}).narrow(0, 3, 16);
      },
      {"shares memory"});
}

TEST(TorchState, OfAnotherOptimizerIsRefused) {
  const Tensors weights = make_weights(torch::kFloat);
  Adam optimizer(weights, AdamOptions(0.01));
  train(optimizer, weights, 1, 1);
  for (auto& [key, state] : optimizer.state()) {
    state = std::make_unique<torch::optim::AdamParamState>();
  }
  set_gradients(weights, 2);
  expect_state_error([&] { optimizer.step(); }, {"parameter 0 of group 0", "another optimizer"});
  EXPECT_EQ(optimizer.state_of(weights[0]), nullptr);
}

// ---- Scopes ----------------------------------------------------------------------------------------

TEST(TorchState, OfAScopeIsWhole) {
  const Tensors weights = make_weights(torch::kFloat);
  RankOneTO optimizer(weights, RankOneTOOptions(0.1));
  train(optimizer, weights, 1, 3);
  for (const Tensor& parameter : weights) {
    EXPECT_EQ(optimizer.state_of(parameter)->scalars(), optimizer.state_of(weights[0])->scalars());
  }
  const ParamState kept = *optimizer.state_of(weights[1]);
  optimizer.state_of(weights[1])->scalars()["c_known"] = std::uint64_t{0};
  set_gradients(weights, 4);
  expect_state_error([&] { optimizer.step(); }, {"parameter 1 of group 0", "c_known"});
  *optimizer.state_of(weights[1]) = kept;
  // Without one of its members a scope has no state.
  auto& states = optimizer.state();
  for (auto place = states.begin(); place != states.end(); ++place) {
    if (place->second.get() != optimizer.state_of(weights[2])) continue;
    states.erase(place);
    break;
  }
  expect_state_error([&] { optimizer.step(); }, {"parameter 2 of group 0", "no state", "scope"});
}

TEST(TorchState, CountsTheStepsOfEachTensorOrOfAScope) {
  const Tensors weights = make_weights(torch::kFloat);
  const Tensors others = copies(weights);
  DiagonalTO each(weights, 0.1);
  RankOneTO scope(others, 0.1);
  for (int t = 1; t <= 4; ++t) {
    for (const Tensors& all : {weights, others}) {
      set_gradients(all, t);
      if (t == 3) Tensor(all[1]).mutable_grad() = Tensor();
    }
    each.step();
    scope.step();
  }
  EXPECT_EQ(each.state_of(weights[1])->step(), 3);
  EXPECT_EQ(each.state_of(weights[0])->step(), 4);
  EXPECT_EQ(scope.state_of(others[1])->step(), 4);
}

TEST(TorchState, OfFullTOGrowsAndChangesItsForm) {
  Tensors weights = {torch::randn({600}).set_requires_grad(true)};
  FullTO optimizer(weights, FullTOOptions(0.01).alpha(1e-4));
  std::size_t most = 0;
  int dense_since = 0;
  for (int t = 1; t <= 2000 && dense_since == 0; ++t) {
    set_gradients(weights, t);
    optimizer.step();
    const UnitState& unit = *optimizer.state_of(weights[0])->unit();
    if (std::get<std::uint64_t>(unit.scalars.at("dense")) == 1) {
      dense_since = t;
    } else {
      ASSERT_TRUE(unit.arrays.contains("history"));
      EXPECT_GE(unit.arrays.at("products").size(), most);
      most = unit.arrays.at("products").size();
    }
  }
  EXPECT_GT(most, 2U);
  ASSERT_GT(dense_since, 0);
  const UnitState& unit = *optimizer.state_of(weights[0])->unit();
  EXPECT_EQ(unit.arrays.size(), 4U);
  EXPECT_EQ(unit.arrays.at("A").front().numel(), 600 * 600);
  EXPECT_FALSE(unit.arrays.contains("history"));

  // On both sides of the change the run goes on from an archive to the same bits.
  for (const int at : {dense_since - 1, dense_since, dense_since + 1}) {
    SCOPED_TRACE(at - dense_since);
    Tensors straight = {torch::linspace(-1, 1, 600).set_requires_grad(true)};
    FullTO whole(straight, FullTOOptions(0.01).alpha(1e-4));
    train(whole, straight, 1, at);
    const std::string archive = archived(whole);
    const Tensors resumed = copies(straight);
    train(whole, straight, at + 1, at + 4);
    FullTO second(resumed, FullTOOptions(0.5));
    std::istringstream stream(archive);
    torch::load(second, stream);
    train(second, resumed, at + 1, at + 4);
    EXPECT_TRUE(same_bits(resumed, straight));
  }
}

TEST(TorchState, IsAsItWasAfterAMemoryLimit) {
  // Two matrices; the limit lets one of them make no further step.
  Tensors weights = {torch::ones({600}).set_requires_grad(true),
                     torch::ones({20}).set_requires_grad(true)};
  const std::uint64_t limit = std::uint64_t{400} << 10;
  FullTO optimizer(
      weights,
      FullTOOptions(0.01).alpha(1e-4).form(Form::span).memory_limit(limit).scope(Scope::tensor));
  for (int t = 1; t <= 200; ++t) {
    set_gradients(weights, t);
    const Tensors before = copies(weights);
    const std::string state = archived(optimizer);
    try {
      optimizer.step();
    } catch (const MemoryLimitError&) {
      EXPECT_GT(t, 2);
      EXPECT_TRUE(same_bits(weights, before));
      EXPECT_TRUE(archived(optimizer) == state);
      return;
    }
  }
  FAIL() << "the limit was never reached";
}

TEST(TorchState, IsNotMadeByAStepThatIsSkippedOrFails) {
  for (const auto policy : {OnNonFinite::skip, OnNonFinite::raise}) {
    const Tensors weights = make_weights(torch::kFloat);
    RankOneTO whole(weights, RankOneTOOptions(0.1).on_nonfinite(policy));
    DiagonalTO each(weights, DiagonalTOOptions(0.1).on_nonfinite(policy));
    set_gradients(weights, 1);
    Tensor(weights[1]).mutable_grad()[3] = std::numeric_limits<float>::quiet_NaN();
    for (Optimizer* optimizer : std::initializer_list<Optimizer*>{&whole, &each}) {
      if (policy == OnNonFinite::skip) {
        optimizer->step();
      } else {
        EXPECT_THROW(optimizer->step(), NonFiniteGradient);
      }
      EXPECT_TRUE(optimizer->state().empty());
      EXPECT_EQ(optimizer->skipped_steps(), policy == OnNonFinite::skip ? 1U : 0U);
      EXPECT_TRUE(std::isnan(optimizer->last().gradient_norm));
    }
    set_gradients(weights, 1);
    whole.step();
    set_gradients(weights, 2);
    Tensor(weights[1]).mutable_grad()[3] = std::numeric_limits<float>::quiet_NaN();
    if (policy == OnNonFinite::skip) {
      for (int again = 0; again < 3; ++again) whole.step();
      EXPECT_EQ(whole.skipped_steps(), 4U);
    }
    EXPECT_EQ(whole.state_of(weights[0])->step(), 1);
    EXPECT_FALSE(std::isnan(whole.last().gradient_norm));
  }
}

TEST(TorchState, IsMadeInInferenceModeToo) {
  const Tensors weights = make_weights(torch::kFloat);
  DiagonalTO optimizer(weights, 0.1);
  set_gradients(weights, 1);
  {
    const c10::InferenceMode inference;
    optimizer.step();
  }
  EXPECT_FALSE(optimizer.state_of(weights[0])->arrays().at("a").is_inference());
  train(optimizer, weights, 2, 3);
}

// ---- Files -----------------------------------------------------------------------------------------

TEST(TorchState, KeepsItsLayoutInAnArchive) {
  const Tensors straight = {torch::randn({6, 5}).t().set_requires_grad(true)};
  RankOneTO one(straight, 0.1);
  train(one, straight, 1, 5);
  const std::string archive = archived(one);
  const Tensors resumed = {straight[0].detach().t().clone().t().set_requires_grad(true)};
  train(one, straight, 6, 10);
  RankOneTO other(resumed, 0.1);
  std::istringstream stream(archive);
  torch::load(other, stream);
  EXPECT_EQ(other.state_of(resumed[0])->arrays().at("a").strides(), resumed[0].strides());
  train(other, resumed, 6, 10);
  EXPECT_TRUE(same_bits(resumed, straight));
}

TEST(TorchState, ALoadThatFailsChangesNothing) {
  const Tensors weights = make_weights(torch::kFloat);
  DiagonalTO good(weights, 0.1);
  train(good, weights, 1, 3);
  const std::string before = archived(good);
  // Of the right sizes, with a state that does not fit.
  const Tensors others = copies(weights);
  DiagonalTO bad(others, 0.1);
  train(bad, others, 1, 2);
  bad.state_of(others[1])->arrays().at("b") = torch::zeros({4, 4});
  std::istringstream stream(archived(bad));
  expect_state_error([&] { torch::load(good, stream); },
                     {"diag-to", "parameter 1 of group 0", "'b'", "[4, 4]", "[16]"});
  EXPECT_TRUE(archived(good) == before);
  train(good, weights, 4, 5);
}

class StateFile : public ::testing::Test {
 protected:
  ~StateFile() override { std::filesystem::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "tandem-state-test.safetensors";
};

TEST_F(StateFile, HoldsParametersWithoutAStateToo) {
  const Tensors weights = make_weights(torch::kFloat);
  const Tensors twins = copies(weights);
  Adam one(weights, AdamOptions(0.01));
  one.name_parameters(names_of(weights));
  set_gradients({weights[0], weights[2]}, 1);
  one.step();
  one.save_state(path_);
  Adam other(twins, AdamOptions(0.01));
  other.name_parameters(names_of(twins));
  other.load_state(path_);
  EXPECT_EQ(other.state_of(twins[1]), nullptr);
  EXPECT_EQ(other.state_of(twins[2])->step(), 1);
}

TEST_F(StateFile, SkippedStepsComeWithIt) {
  const Tensors weights = make_weights(torch::kFloat);
  RankOneTO one(weights, RankOneTOOptions(0.1).on_nonfinite(OnNonFinite::skip));
  one.name_parameters(names_of(weights));
  train(one, weights, 1, 2);
  Tensor(weights[0]).mutable_grad().view({-1})[0] = std::numeric_limits<float>::infinity();
  one.step();
  one.save_state(path_);
  RankOneTO other(weights, 0.1);
  other.name_parameters(names_of(weights));
  other.load_state(path_);
  EXPECT_EQ(other.skipped_steps(), 1U);
}

TEST_F(StateFile, OfBothStateTypes) {
  for (const torch::ScalarType type : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
    for (const auto state : {StateType::full, StateType::bfloat16}) {
      if (type == torch::kDouble && state == StateType::bfloat16) continue;
      SCOPED_TRACE(torch::toString(type));
      const auto options = AdamOptions(0.01).state_type(state).stochastic_rounding(true);
      const Tensors straight = make_weights(type);
      Adam one(straight, options);
      one.name_parameters(names_of(straight));
      train(one, straight, 1, 5);
      one.save_state(path_);
      const Tensors resumed = copies(straight);
      Adam other(resumed, options);
      other.name_parameters(names_of(resumed));
      other.load_state(path_);
      const auto found = other.state_of(resumed[0])->arrays().at("exp_avg").scalar_type();
      EXPECT_EQ(found, state == StateType::bfloat16 ? torch::kBFloat16
                       : type == torch::kDouble     ? torch::kDouble
                                                    : torch::kFloat);
      train(one, straight, 6, 10);
      train(other, resumed, 6, 10);
      EXPECT_TRUE(same_bits(resumed, straight));
    }
  }
  // A state of another type does not fit.
  const Tensors weights = make_weights(torch::kFloat);
  Adam full(weights, AdamOptions(0.01));
  full.name_parameters(names_of(weights));
  expect_state_error([&] { full.load_state(path_); },
                     {path_, "'layer.0'", "'exp_avg'", "BFloat16", "Float"});
}

}  // namespace
}  // namespace tandem::optim::testing
