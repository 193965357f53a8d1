// SPDX-License-Identifier: MIT
// What must hold for every optimizer of the adapter.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tandem/registry.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sstream>

#include "fields.h"
#include "test_models.h"

namespace tandem::optim::testing {

namespace {

std::vector<std::string> rules() {
  std::vector<std::string> names;
  for (const Record& one : records()) names.push_back(one.rule);
  return names;
}

using torch::Tensor;

class TorchBattery : public ::testing::TestWithParam<std::string> {
 protected:
  const Record& it() const { return record(GetParam()); }
  std::unique_ptr<Optimizer> make(const Tensors& weights) const {
    return it().make(Groups{torch::optim::OptimizerParamGroup(weights)});
  }
  static void steps(torch::optim::Optimizer& optimizer, const Tensors& weights, int first,
                    int last) {
    for (int t = first; t <= last; ++t) {
      set_gradients(weights, t);
      optimizer.step();
    }
  }
  /// One matrix for all, so that tensors are not for themselves.
  bool coupled() const { return it().rule == "ro-to" || it().rule == "full-to"; }
  template <class E, class Action>
  static void expect_throws(Action action, const std::vector<std::string>& fragments) {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const E& error) {
      for (const std::string& fragment : fragments) {
        EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos)
            << "'" << fragment << "' is not in: " << error.what();
      }
    }
  }
};

TEST(TorchRecords, AreThoseOfTheLibrary) {
  std::vector<std::string> all;
  for (const OptimizerInfo& info : optimizer_infos()) all.push_back(info.name);
  std::vector<std::string> here = rules();
  std::sort(all.begin(), all.end());
  std::sort(here.begin(), here.end());
  EXPECT_EQ(here, all);
}

TEST_P(TorchBattery, HasTheDefaultsOfTheLibrary) {
  const OptionMap found = detail::core_options(detail::settings_of(*it().defaults()));
  for (const OptimizerInfo& info : optimizer_infos()) {
    if (info.name != it().rule) continue;
    for (const OptionInfo& option : info.options) {
      const auto one = found.find(option.name);
      if (one == found.end()) continue;
      // Texts differ ("0.0" and "0"), numbers do not.
      EXPECT_EQ(std::atof(one->second.c_str()), std::atof(option.default_value.c_str()))
          << option.name << ": " << one->second << ", " << option.default_value;
    }
  }
}

TEST_P(TorchBattery, EqualsPlainAten) {
  for (const auto& [type, tolerance] :
       {std::pair(torch::kDouble, 1e-11), std::pair(torch::kFloat, 2e-4)}) {
    const Tensors weights = make_weights(type);
    auto optimizer = make(weights);
    Tensor w = flat(weights).to(torch::kDouble);
    const Reference reference = it().reference();
    for (int t = 1; t <= 300; ++t) {
      set_gradients(weights, t);
      Tensors gradients;
      for (const Tensor& parameter : weights) gradients.push_back(parameter.grad());
      // The reference sees the gradient at its own weights: the bowl's, again.
      Tensors twin = copies(weights);
      std::int64_t offset = 0;
      for (Tensor& part : twin) {
        const torch::NoGradGuard no_grad;
        part = w.narrow(0, offset, part.numel()).view(part.sizes()).clone();
        offset += part.numel();
      }
      set_gradients(twin, t);
      Tensors twin_gradients;
      for (const Tensor& part : twin) twin_gradients.push_back(part.grad());
      reference(w, flat(twin_gradients), t);
      optimizer->step();
    }
    EXPECT_LT(difference(flat(weights), w), tolerance) << torch::toString(type);
    EXPECT_GT(difference(w, flat(make_weights(type)).to(torch::kDouble)), 0.1);
  }
}

TEST_P(TorchBattery, IsTheLibraryToTheBit) {
  const Tensors weights = make_weights(torch::kFloat);
  auto optimizer = make(weights);
  const Tensor start = flat(weights).clone();
  std::vector<float> w(start.data_ptr<float>(), start.data_ptr<float>() + start.numel());
  OptionMap options = it().core;
  options["lr"] = std::to_string(it().lr);
  std::vector<SegmentSpec> segments;
  for (const Tensor& parameter : weights) {
    segments.push_back({static_cast<std::size_t>(parameter.numel())});
  }
  const auto core = make_optimizer(it().rule, segments, options);
  for (int t = 1; t <= 50; ++t) {
    set_gradients(weights, t);
    Tensors gradients;
    for (const Tensor& parameter : weights) gradients.push_back(parameter.grad());
    const Tensor g = flat(gradients).contiguous();
    std::vector<Segment<float>> parts;
    std::size_t offset = 0;
    for (const SegmentSpec& segment : segments) {
      parts.push_back({std::span(w).subspan(offset, segment.size),
                       std::span<const float>(g.data_ptr<float>() + offset, segment.size)});
      offset += segment.size;
    }
    core->step(parts);
    optimizer->step();
  }
  EXPECT_EQ(std::memcmp(flat(weights).data_ptr<float>(), w.data(), w.size() * sizeof(float)), 0);
  EXPECT_EQ(optimizer->rule(), it().rule);
  EXPECT_EQ(optimizer->state_bytes(), core->state_bytes());
}

class TorchTwins : public TorchBattery {};

TEST_P(TorchTwins, AreEqualStepByStep) {
  const Tensors ours = make_weights(torch::kDouble);
  const Tensors theirs = copies(ours);
  auto optimizer = make(ours);
  auto twin = it().twin(theirs);
  for (int t = 1; t <= 400; ++t) {
    set_gradients(ours, t);
    set_gradients(theirs, t);
    // A gradient that is missing now and then: both pass the parameter by, and count its steps
    // apart.
    if (t % 7 == 0) Tensor(ours[1]).mutable_grad() = Tensor(theirs[1]).mutable_grad() = Tensor();
    optimizer->step();
    twin->step();
    ASSERT_LT(difference(flat(ours), flat(theirs)), 1e-12) << "step " << t;
  }
}

TEST_P(TorchBattery, NeedsNoGradientAndPassesByWhatHasNone) {
  Tensors weights = make_weights(torch::kFloat);
  weights.push_back(torch::ones({3}));                              // frozen
  weights.push_back(torch::empty({0, 4}).set_requires_grad(true));  // empty
  const Tensors before = copies(weights);
  auto optimizer = make(weights);
  EXPECT_FALSE(optimizer->step().defined());  // nothing has a gradient yet
  EXPECT_TRUE(same_bits(weights, before));
  set_gradients({weights[0], weights[1], weights[2]}, 1);
  if (it().rule != "full-to") Tensor(weights[1]).mutable_grad() = Tensor();
  optimizer->step();
  EXPECT_FALSE(torch::equal(weights[0], before[0]));
  EXPECT_EQ(torch::equal(weights[1], before[1]), it().rule != "full-to");
  EXPECT_FALSE(torch::equal(weights[2], before[2]));
  EXPECT_TRUE(torch::equal(weights[3], before[3]));
  if (it().rule == "full-to") {
    Tensor(weights[1]).mutable_grad() = Tensor();
    const Tensors now = copies(weights);
    expect_throws<std::invalid_argument>([&] { optimizer->step(); },
                                         {"full-to", "parameter 1 of group 0", "no gradient"});
    EXPECT_TRUE(same_bits(weights, now));
  }
}

TEST_P(TorchBattery, StepsOnMemoryOfAnyShape) {
  const Tensors plain = make_weights(torch::kDouble);
  Tensors odd = {
      plain[0].detach().t().contiguous().t().set_requires_grad(true),              // columns first
      torch::zeros({16, 2}, torch::kDouble).select(1, 1).set_requires_grad(true),  // gaps
      plain[2].detach().clone().set_requires_grad(true)};
  {
    const torch::NoGradGuard no_grad;
    odd[1].copy_(plain[1]);
  }
  ASSERT_FALSE(odd[0].is_contiguous());
  ASSERT_FALSE(odd[1].is_contiguous());
  auto one = make(plain);
  auto other = make(odd);
  for (int t = 1; t <= 30; ++t) {
    set_gradients(plain, t);
    set_gradients(odd, t);  // contiguous gradients, unlike the weights
    one->step();
    other->step();
  }
  // Orders of summation differ where the rule sums.
  EXPECT_LT(difference(flat(odd), flat(plain)), 1e-12);
  for (const auto& [name, tensor] : one->state_of(plain[0])->arrays()) {
    EXPECT_LT(difference(other->state_of(odd[0])->arrays().at(name), tensor), 1e-9) << name;
  }
}

TEST_P(TorchBattery, KeepsItsStateWhenTheMemoryFormatChanges) {
  const Tensors plain = make_weights(torch::kDouble);
  const Tensors changed = copies(plain);
  auto one = make(plain);
  auto other = make(changed);
  steps(*one, plain, 1, 5);
  steps(*other, changed, 1, 5);
  Tensor(changed[0]).set_data(changed[0].detach().t().contiguous().t());
  steps(*one, plain, 6, 12);
  steps(*other, changed, 6, 12);
  EXPECT_TRUE(same_bits(plain, changed));
}

TEST_P(TorchBattery, StepsOnBFloat16WithFloatState) {
  const Tensors weights = make_weights(torch::kBFloat16);
  const Tensors wide = make_weights(torch::kBFloat16);
  auto optimizer = make(weights);
  steps(*optimizer, weights, 1, 20);
  for (const auto& [name, tensor] : optimizer->state_of(weights[0])->arrays()) {
    EXPECT_EQ(tensor.scalar_type(), torch::kFloat) << name;
  }
  EXPECT_EQ(weights[0].scalar_type(), torch::kBFloat16);
  EXPECT_FALSE(same_bits(weights, wide));
  // Near the run in double: rounding is all that differs.
  const Tensors exact = make_weights(torch::kDouble);
  auto precise = make(exact);
  steps(*precise, exact, 1, 20);
  EXPECT_LT(difference(flat(weights), flat(exact)), it().rule == "lion" ? 0.2 : 0.05);
}

TEST_P(TorchBattery, RunsTheClosureWithGradientsOn) {
  const Tensors weights = make_weights(torch::kFloat);
  auto optimizer = make(weights);
  const torch::NoGradGuard no_grad;  // of the caller
  const Tensor loss = optimizer->step([&] {
    optimizer->zero_grad();
    Tensor sum = torch::zeros({});
    for (const Tensor& parameter : weights) sum = sum + parameter.square().sum();
    sum.backward();
    return sum;
  });
  EXPECT_GT(loss.item<float>(), 0);
  EXPECT_FALSE(torch::equal(weights[0], make_weights(torch::kFloat)[0]));
}

TEST_P(TorchBattery, FillsUpTheOptionsOfGroups) {
  const Tensors weights = make_weights(torch::kDouble);
  const Tensors twins = copies(weights);
  // A group that says its rate leaves the rest to the optimizer, as two optimizers do.
  Groups groups;
  groups.emplace_back(Tensors{weights[0]});
  groups.emplace_back(Tensors{weights[1], weights[2]}, it().options(it().lr / 2));
  auto together = it().make(std::move(groups));
  EXPECT_DOUBLE_EQ(together->param_groups()[0].options().get_lr(), it().lr);
  EXPECT_DOUBLE_EQ(together->param_groups()[1].options().get_lr(), it().lr / 2);
  auto first = make({twins[0]});
  auto second = make({twins[1], twins[2]});
  second->param_groups()[0].options().set_lr(it().lr / 2);
  for (int t = 1; t <= 10; ++t) {
    set_gradients(weights, t);
    set_gradients(twins, t);
    together->step();
    first->step();
    second->step();
  }
  if (coupled()) {
    EXPECT_FALSE(torch::equal(weights[0], make_weights(torch::kDouble)[0]));
  } else {
    EXPECT_TRUE(same_bits(weights, twins));
  }
}

TEST_P(TorchBattery, TakesGroupsLaterAlsoThroughTorchsOwnFunction) {
  Tensors weights = make_weights(torch::kDouble);
  Tensors twins = copies(weights);
  auto ours = make({weights[0]});
  auto theirs = make({twins[0]});
  ours->add_param_group({Tensors{weights[1]}, it().options(it().lr / 2)});
  static_cast<torch::optim::Optimizer&>(*theirs).add_param_group(
      {Tensors{twins[1]}, it().options(it().lr / 2)});
#if TORCH_VERSION_MAJOR >= 2
  // It drops options that it does not know: the group has the optimizer's.
  EXPECT_DOUBLE_EQ(theirs->param_groups()[1].options().get_lr(), it().lr);
  theirs->param_groups()[1].options().set_lr(it().lr / 2);
#endif
  for (int t = 1; t <= 5; ++t) {
    set_gradients({weights[0], weights[1]}, t);
    set_gradients({twins[0], twins[1]}, t);
    ours->step();
    theirs->step();
  }
  EXPECT_TRUE(same_bits({weights[0], weights[1]}, {twins[0], twins[1]}));
  ours->add_param_group({Tensors{weights[2]}});
  set_gradients(weights, 6);
  if (coupled()) {
    const Tensors before = copies(weights);
    expect_throws<std::invalid_argument>([&] { ours->step(); },
                                         {it().rule, "parameter 0 of group 2", "Scope::group"});
    EXPECT_TRUE(same_bits(weights, before));
  } else {
    ours->step();
    EXPECT_FALSE(torch::equal(weights[2], make_weights(torch::kDouble)[2]));
  }
}

TEST_P(TorchBattery, FollowsASchedulerAndChangedOptions) {
  const Tensors weights = make_weights(torch::kDouble);
  const Tensors twins = copies(weights);
  auto scheduled = make(weights);
  auto by_hand = make(twins);
  torch::optim::StepLR scheduler(*scheduled, 2, 0.5);
  for (int t = 1; t <= 6; ++t) {
    by_hand->param_groups()[0].options().set_lr(scheduled->param_groups()[0].options().get_lr());
    set_gradients(weights, t);
    set_gradients(twins, t);
    scheduled->step();
    by_hand->step();
    scheduler.step();
  }
  EXPECT_TRUE(same_bits(weights, twins));
  EXPECT_DOUBLE_EQ(scheduled->param_groups()[0].options().get_lr(), it().lr * 0.25);
}

/// The library's own optimizers over the tensors of an optimizer, with all options set before each
/// step.
class ByOptions {
 public:
  /// A unit's tensors, and the number of the group of each.
  struct Unit {
    std::vector<std::size_t> tensors;
    std::unique_ptr<tandem::Optimizer> core;
  };

  ByOptions(const std::string& rule, Tensors weights, std::vector<std::size_t> group_of,
            const std::vector<std::vector<std::size_t>>& units)
      : rule_(rule), weights_(std::move(weights)), group_of_(std::move(group_of)) {
    for (const std::vector<std::size_t>& tensors : units) units_.push_back({tensors, nullptr});
  }

  void step(const std::vector<OptionMap>& groups) {
    for (Unit& unit : units_) {
      const std::size_t first = group_of_[unit.tensors.front()];
      const bool several = group_of_[unit.tensors.back()] != first;
      std::vector<SegmentSpec> specs;
      std::vector<Segment<float>> segments;
      Tensors gradients;
      for (const std::size_t i : unit.tensors) {
        const OptionMap& own = groups[group_of_[i]];
        const auto size = static_cast<std::size_t>(weights_[i].numel());
        specs.push_back({size});
        if (several) {
          specs.back().lr = std::stod(own.at("lr"));
          specs.back().weight_decay =
              own.contains("weight_decay") ? std::stod(own.at("weight_decay")) : 0;
        }
        gradients.push_back(weights_[i].grad().contiguous());
        EXPECT_TRUE(weights_[i].is_contiguous());
        segments.push_back(
            {{weights_[i].data_ptr<float>(), size}, {gradients.back().data_ptr<float>(), size}});
      }
      if (unit.core == nullptr) unit.core = make_optimizer(rule_, specs, groups[first]);
      unit.core->set_options(specs, groups[first]);
      unit.core->step(std::span<const Segment<float>>(segments));
    }
  }

 private:
  std::string rule_;
  Tensors weights_;
  std::vector<std::size_t> group_of_;
  std::vector<Unit> units_;
};

/// An option by its name.
void set_option(Options& options, const char* name, double value) {
  auto text = detail::to_text(options);
  text.at(name) = fmt::format("{}", value);
  detail::from_text(options, text);
}

TEST_P(TorchBattery, RatesThatMoveGiveTheBitsOfOptionsThatChange) {
  const auto defaults = detail::to_text(*it().options(it().lr));
  const bool trainable = defaults.contains("schedule_all");
  const std::vector<std::size_t> group_of = {0, 1, 1};
  using Units = std::vector<std::vector<std::size_t>>;
  const Units each = {{0}, {1}, {2}};
  const std::map<std::string, Units> scopes =
      coupled() ? std::map<std::string, Units>{{"whole", {{0, 1, 2}}},
                                               {"group", {{0}, {1, 2}}},
                                               {"tensor", each}}
                : std::map<std::string, Units>{{"", each}};
  for (const auto& [scope, units] : scopes) {
    for (const bool schedule_all : {false, true}) {
      if (schedule_all && !trainable) continue;
      SCOPED_TRACE(fmt::format("{} {} {}", it().rule, scope, schedule_all));
      const Tensors weights = make_weights(torch::kFloat);
      const Tensors twins = copies(weights);
      const double first_lr[] = {it().lr, it().lr / 2};
      Groups groups;
      for (const double lr : first_lr) {
        auto options = it().options(lr);
        auto text = detail::to_text(*options);
        if (!scope.empty()) text["scope"] = scope;
        if (trainable) text["schedule_all"] = schedule_all ? "true" : "false";
        detail::from_text(*options, text);
        const bool first = groups.empty();
        groups.emplace_back(first ? Tensors{weights[0]} : Tensors{weights[1], weights[2]},
                            std::move(options));
      }
      const auto optimizer = it().make(std::move(groups));
      ByOptions by_options(it().rule, twins, group_of, units);
      for (int t = 1; t <= 20; ++t) {
        SCOPED_TRACE(t);
        std::vector<OptionMap> all;
        for (std::size_t g = 0; g < 2; ++g) {
          auto& options = static_cast<Options&>(optimizer->param_groups()[g].options());
          // A power of two, so that groups that share a matrix agree on alpha and beta.
          const double factor = std::ldexp(1.0, -(t / 3));
          OptionMap core = detail::settings_of(options).core;
          const auto move = [&](const char* name, const char* in_core, double value) {
            set_option(options, name, value);
            core[in_core] = fmt::format("{}", value);
          };
          // One group's rate stays in some steps, and decay in others.
          move("lr", "lr", first_lr[g] * (schedule_all ? factor : 1 / (1.0 + t / (1 + g))));
          const bool decoupled = detail::settings_of(options).rates.weight_decay.has_value();
          if (decoupled) {
            move("weight_decay", "weight_decay", 0.01 * (1 + g) / (1 + t / 2));
          } else {
            move("weight_decay", "l2", 0.01 * (1 + g) / (1 + t / 2));
          }
          if (trainable) {
            move("l2", "l2", 0.01 / t);
            move("alpha", "alpha", 0.02 / (1 + t / 4));
            move("beta", "beta", 0.3 / (1 + t / 5));
            const double moved = schedule_all ? factor : 1;
            core["alpha"] = fmt::format("{}", 0.02 / (1 + t / 4) * moved);
            core["beta"] = fmt::format("{}", 0.3 / (1 + t / 5) * moved);
          }
          all.push_back(std::move(core));
        }
        set_gradients(weights, t);
        set_gradients(twins, t);
        optimizer->step();
        by_options.step(all);
        ASSERT_TRUE(same_bits(weights, twins));
      }
    }
  }
}

TEST_P(TorchBattery, AMovedRateThatCannotBeChangesNothing) {
  const Tensors weights = make_weights(torch::kFloat);
  const Tensors twins = copies(weights);
  const auto make_two = [&](const Tensors& of) {
    return it().make(Groups{{Tensors{of[0]}, it().options(it().lr)},
                            {Tensors{of[1], of[2]}, it().options(it().lr)}});
  };
  const auto disturbed = make_two(weights);
  const auto calm = make_two(twins);
  const auto set = [](Optimizer& optimizer, std::size_t group, const char* name, double value) {
    set_option(static_cast<Options&>(optimizer.param_groups()[group].options()), name, value);
  };
  const auto& options = static_cast<const Options&>(calm->param_groups()[1].options());
  const double decay = std::stod(detail::to_text(options).at("weight_decay"));
  for (int t = 1; t <= 8; ++t) {
    const double lr = it().lr / t;
    set_gradients(weights, t);
    if (t > 2) {
      const Tensors before = copies(weights);
      for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
        set(*disturbed, 0, "lr", 2 * lr);
        set(*disturbed, 1, "lr", bad);
        for (int again = 0; again < 2; ++again) {
          expect_throws<std::invalid_argument>([&] { disturbed->step(); },
                                               {it().rule, "lr", fmt::format("{}", bad)});
        }
        set(*disturbed, 1, "lr", lr);
        set(*disturbed, 1, "weight_decay", bad);
        expect_throws<std::invalid_argument>([&] { disturbed->step(); },
                                             {it().rule, fmt::format("{}", bad)});
        set(*disturbed, 1, "weight_decay", decay);
      }
      EXPECT_TRUE(same_bits(weights, before));
    }
    for (std::size_t g = 0; g < 2; ++g) {
      set(*disturbed, g, "lr", lr);
      set(*calm, g, "lr", lr);
    }
    set_gradients(twins, t);
    disturbed->step();
    calm->step();
    ASSERT_TRUE(same_bits(weights, twins)) << t;
  }
}

TEST_P(TorchBattery, GoesOnFromAnArchiveToTheSameBits) {
  const Tensors without = make_weights(torch::kFloat);
  auto straight = make(without);
  steps(*straight, without, 1, 20);

  const Tensors first = make_weights(torch::kFloat);
  auto before = make(first);
  steps(*before, first, 1, 8);
  std::stringstream stream;
  torch::save(*before, stream);

  const Tensors second = copies(first);
  auto after = it().make(Groups{{second, it().options(123.0)}});  // the rate comes with the state
  torch::load(*after, stream);
  EXPECT_DOUBLE_EQ(after->param_groups()[0].options().get_lr(), it().lr);
  steps(*after, second, 9, 20);
  EXPECT_TRUE(same_bits(second, without));
}

TEST_P(TorchBattery, GoesOnFromNamesToTheSameBits) {
  const Tensors without = make_weights(torch::kFloat);
  auto straight = make(without);
  steps(*straight, without, 1, 20);
  const auto names = [](const Tensors& weights) {
    torch::OrderedDict<std::string, Tensor> named;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      named.insert("layer." + std::to_string(i), weights[i]);
    }
    return named;
  };
  const std::string path = ::testing::TempDir() + "tandem-torch-" + it().rule + ".safetensors";
  const Tensors first = make_weights(torch::kFloat);
  auto before = make(first);
  steps(*before, first, 1, 8);
  expect_throws<std::invalid_argument>([&] { before->save_state(path); }, {"name_parameters"});
  before->name_parameters(names(first));
  before->save_state(path);

  const Tensors second = copies(first);
  auto after = make(second);
  after->name_parameters(names(second));
  after->load_state(path);
  for (const std::string& name : it().state) {
    EXPECT_TRUE(torch::equal(after->state_of(second[0])->arrays().at(name),
                             before->state_of(first[0])->arrays().at(name)))
        << name;
  }
  steps(*after, second, 9, 20);
  EXPECT_TRUE(same_bits(second, without));

  // Other names, and other rules, are refused, and nothing changes.
  Tensors more = copies(first);
  more.push_back(torch::ones({2}).set_requires_grad(true));
  auto other = make(more);
  other->name_parameters(names(more));
  expect_throws<StateError>([&] { other->load_state(path); }, {path, "layer.3", "missing"});
  auto fewer = make({first[0], first[1]});
  fewer->name_parameters(names({first[0], first[1]}));
  expect_throws<StateError>([&] { fewer->load_state(path); }, {path, "layer.2", "not here"});
  Tensors reshaped = copies(first);
  reshaped[1] = torch::ones({17}).set_requires_grad(true);
  auto odd = make(reshaped);
  odd->name_parameters(names(reshaped));
  if (!it().state.empty()) {
    expect_throws<StateError>([&] { odd->load_state(path); }, {path, "layer.1"});
  }
  const Record& foreign = record(it().rule == "adam" ? "lion" : "adam");
  auto foreigner = foreign.make(Groups{{copies(first)}});
  foreigner->name_parameters(names(foreigner->param_groups()[0].params()));
  expect_throws<StateError>([&] { foreigner->load_state(path); }, {path, it().rule, foreign.rule});
  std::filesystem::remove(path);
  expect_throws<StateError>([&] { after->load_state(path); }, {path});
}

TEST_P(TorchBattery, RefusesArchivesOfOthersByName) {
  const Tensors weights = make_weights(torch::kFloat);
  auto optimizer = make(weights);
  steps(*optimizer, weights, 1, 3);
  std::stringstream stream;
  torch::save(*optimizer, stream);
  Tensors reshaped = copies(weights);
  reshaped[2] = torch::ones({3}).set_requires_grad(true);
  auto other = make(reshaped);
  expect_throws<StateError>([&] { torch::load(*other, stream); },
                            {"parameter 2 of group 0", "16", "3"});
  stream.clear();
  stream.seekg(0);
  const Record& foreign = record(it().rule == "adam" ? "lion" : "adam");
  auto foreigner = foreign.make(Groups{{copies(weights)}});
  expect_throws<StateError>([&] { torch::load(*foreigner, stream); }, {it().rule, foreign.rule});
}

TEST_P(TorchBattery, RefusesWhatItCannotStepOnByName) {
  const auto refuse = [&](const Tensor& parameter, const Tensor& gradient,
                          const std::vector<std::string>& fragments) {
    Tensors weights = make_weights(torch::kFloat);
    weights.push_back(parameter);
    auto optimizer = make(weights);
    torch::OrderedDict<std::string, Tensor> named;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      named.insert("layer." + std::to_string(i), weights[i]);
    }
    optimizer->name_parameters(named);
    set_gradients({weights[0], weights[1], weights[2]}, 1);
    Tensor(parameter).mutable_grad() = gradient;
    const Tensors before = copies({weights[0], weights[1], weights[2]});
    expect_throws<std::invalid_argument>([&] { optimizer->step(); }, fragments);
    EXPECT_TRUE(same_bits({weights[0], weights[1], weights[2]}, before));
  };
  const Tensor embedding = torch::ones({4, 2}).set_requires_grad(true);
  const Tensor sparse = torch::sparse_coo_tensor(torch::tensor({{1}}), torch::ones({1, 2}), {4, 2});
  refuse(embedding, sparse, {it().rule, "'layer.3'", "sparse"});
  const Tensor half = torch::ones({4}, torch::kHalf).set_requires_grad(true);
  refuse(half, torch::ones({4}, torch::kHalf), {it().rule, "'layer.3'", "Half", "bfloat16"});
  const Tensor expanded = torch::ones({1}).expand({4}).set_requires_grad(true);
  refuse(expanded, torch::ones({4}), {it().rule, "'layer.3'", "share memory"});
}

TEST_P(TorchBattery, LooksAtAllGradientsBeforeItChangesAny) {
  Tensors weights = make_weights(torch::kFloat);
  auto optimizer = make(weights);
  steps(*optimizer, weights, 1, 2);
  set_gradients(weights, 3);
  Tensor(weights[2]).mutable_grad().view({-1})[5] = std::numeric_limits<float>::infinity();
  const Tensors before = copies(weights);
  expect_throws<NonFiniteGradient>([&] { optimizer->step(); },
                                   {it().rule, "parameter 2 of group 0", "element 5"});
  EXPECT_TRUE(same_bits(weights, before));

  const auto visit_skip = [&](OnNonFinite policy) {
    auto options = it().options(it().lr);
    if (auto* diagonal = dynamic_cast<DiagonalTOOptions*>(options.get())) {
      diagonal->on_nonfinite(policy);
    }
    return options;
  };
  if (it().rule == "diag-to") {
    auto skipping = it().make(Groups{{weights, visit_skip(OnNonFinite::skip)}});
    skipping->step();
    EXPECT_EQ(skipping->skipped_steps(), 1U);
    EXPECT_TRUE(same_bits(weights, before));
  }
}

TEST_P(TorchBattery, RefusesBadOptionsAndTwiceTheSameParameter) {
  const Tensors weights = make_weights(torch::kFloat);
  auto negative = it().make(Groups{{weights, it().options(-1.0)}});
  set_gradients(weights, 1);
  expect_throws<std::invalid_argument>([&] { negative->step(); }, {it().rule, "lr", "-1"});
  expect_throws<std::invalid_argument>(
      [&] {
        make({weights[0], weights[0]});
      },
      {it().rule, "parameter 1 of group 0", "twice"});
  auto good = make({weights[0]});
  expect_throws<std::invalid_argument>([&] { good->add_param_group({Tensors{weights[0]}}); },
                                       {it().rule, "twice"});
  const Record& foreign = record(it().rule == "adam" ? "lion" : "adam");
  expect_throws<std::invalid_argument>(
      [&] {
        good->add_param_group({Tensors{weights[1]}, foreign.options(0.1)});
      },
      {"group 1"});
}

TEST_P(TorchBattery, MakesAutogradNoticeThatWeightsMoved) {
  const Tensor w = torch::ones({5}).set_requires_grad(true);
  auto optimizer = make({w});
  const Tensor loss = w.square().sum();
  loss.backward({}, /*retain_graph=*/true);
  optimizer->step();
  EXPECT_THROW(loss.backward(), c10::Error) << "w was saved for this backward, and moved since";
}

TEST_P(TorchBattery, DoesNotDependOnTheNumberOfThreads) {
  const int before = at::get_num_threads();
  std::vector<Tensors> seen;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    const std::int64_t size = coupled() && it().rule == "full-to" ? 900 : 100000;
    Tensors weights = {(0.002 * torch::sin(torch::arange(size) * 0.01)).set_requires_grad(true),
                       (0.002 * torch::cos(torch::arange(1000) * 0.1)).set_requires_grad(true)};
    // Many small ones beside it: threads take a share of the tensors, or of a tensor.
    for (int i = 0; i < (it().rule == "full-to" ? 2 : 70); ++i) {
      weights.push_back((0.002 * torch::sin(torch::arange(500 + i) * 0.3)).set_requires_grad(true));
    }
    auto optimizer = make(weights);
    steps(*optimizer, weights, 1, 4);
    seen.push_back(weights);
  }
  at::set_num_threads(before);
  EXPECT_TRUE(same_bits(seen[0], seen[1]));
  EXPECT_TRUE(same_bits(seen[0], seen[2]));
}

std::string test_name(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::erase(name, '-');
  return name;
}

std::vector<std::string> rules_of_torch() {
  std::vector<std::string> names;
  for (const Record& one : records()) {
    if (one.twin != nullptr) names.push_back(one.rule);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Records, TorchBattery, ::testing::ValuesIn(rules()), test_name);
INSTANTIATE_TEST_SUITE_P(Records, TorchTwins, ::testing::ValuesIn(rules_of_torch()), test_name);

}  // namespace
}  // namespace tandem::optim::testing
