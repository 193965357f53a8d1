// SPDX-License-Identifier: MIT
// State in the caller's memory: every rule with every set of options gives the bits that it gives in
// memory of its own, wherever the memory lies and whichever optimizer goes on with it; memory that
// lacks something is refused with a reason, and nothing changes.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/battery.h"
#include "tests/host_memory.h"

namespace tandem::testing {
namespace {

class Memory : public Battery {
 protected:
  /// Runs side by side: own memory, the caller's, and the caller's which is moved before every third
  /// step and handed to a new optimizer before every seventh.
  template <class T>
  void same(const OptionSet& set, const Layout& layout, int steps) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float" : " double"));
    const problems::Quadratic problem = bowl_for(it(), layout.dimension());
    const auto specs = layout.specs();
    const auto own = make(it(), set, specs), callers = make(it(), set, specs);
    auto wanderer = make(it(), set, specs);
    HostMemory memory(type_of<T>()), moving(type_of<T>());
    Model<T> first(layout, problem.start()), second(layout, problem.start()),
        third(layout, problem.start());
    for (int step = 1; step <= steps; ++step) {
      if (step % 7 == 0) {
        wanderer = make(it(), set, specs);
        EXPECT_EQ(wanderer->clock().step, 1u);
      }
      if (step % 3 == 0) moving.move();
      memory.bind(*callers);
      moving.bind(*wanderer);
      advance(*own, first, problem, step, step);
      advance(*callers, second, problem, step, step);
      advance(*wanderer, third, problem, step, step);
      ASSERT_TRUE(same_bits(first.weights(), second.weights())) << "step " << step;
      ASSERT_TRUE(same_bits(first.weights(), third.weights())) << "step " << step;
    }
    // The state as well, to the last bit of a file.
    EXPECT_EQ(saved(*own), saved(*callers));
    if (it().name != "full-to") {  // which says in a word why it has its form
      EXPECT_EQ(saved(*own), saved(*wanderer));
    }
    EXPECT_EQ(own->clock(), wanderer->clock());
  }
};

TEST_P(Memory, of_the_caller_gives_the_same_bits) {
  const int steps = it().name == "full-to" || it().name == "block-to" ? 45 : 30;
  for (const OptionSet& set : it().sets) {
    same<float>(set, one_part(37), steps);
    same<double>(set, one_part(37), steps);
    same<float>(set, many_parts(53, 1), steps);
    same<float>(set, one_part(9001, 3), it().largest < 9001 ? 0 : 8);
  }
}

TEST_P(Memory, is_asked_for_by_name) {
  const auto optimizer = make_optimizer(it().name, {{5}, {7}});
  const std::vector<StateNeed> needs = optimizer->state_needs(ElementType::float32);
  ASSERT_FALSE(needs.empty());
  EXPECT_EQ(needs.back().name, "scalars");
  ASSERT_EQ(needs.back().parts.size(), 1u);
  EXPECT_EQ(needs.back().parts[0], needs.back().scalars.size());
  EXPECT_EQ(needs.back().scalars[0].name, "step");
  // Those that the rule declares as shaped like the weights are.
  for (const OptimizerInfo& info : optimizer_infos()) {
    if (info.name != it().name) continue;
    for (const StateInfo& array : info.arrays) {
      const auto found = std::find_if(needs.begin(), needs.end(), [&](const StateNeed& need) {
        return need.name == array.name;
      });
      if (array.shape == "like_weights") {
        ASSERT_NE(found, needs.end()) << array.name;
        EXPECT_EQ(found->parts, (std::vector<std::size_t>{5, 7})) << array.name;
        EXPECT_TRUE(found->like_weights);
      } else if (array.shape == "scalar") {
        const auto& scalars = needs.back().scalars;
        EXPECT_TRUE(std::any_of(scalars.begin(), scalars.end(), [&](const auto& scalar) {
          return scalar.name == array.name && scalar.is_double;
        })) << array.name;
      }
    }
  }
}

TEST_P(Memory, that_lacks_something_is_refused) {
  const OptionSet& set = it().sets.front();
  const problems::Quadratic problem = bowl_for(it(), 24);
  const Layout layout = one_part(24);
  const auto optimizer = make(it(), set, layout.specs()), twin = make(it(), set, layout.specs());
  HostMemory memory(ElementType::float32), twins(ElementType::float32);
  Model<float> model(layout, problem.start()), other(layout, problem.start());
  for (int step = 1; step <= 4; ++step) {
    memory.bind(*optimizer);
    twins.bind(*twin);
    advance(*optimizer, model, problem, step, step);
    advance(*twin, other, problem, step, step);
  }
  const auto refused = [&](const std::string& name, const std::vector<std::string>& fragments,
                           const auto& spoil) {
    HostMemory bad(memory);
    spoil(bad.arrays().at(name));
    const std::string before = bad.bytes();
    EXPECT_TRUE(
        throws_saying<std::invalid_argument>([&] { bad.use(*optimizer, false); }, fragments))
        << name;
    EXPECT_EQ(bad.bytes(), before);
    // Without memory there is no step.
    EXPECT_THROW(model.step(*optimizer, problem, 5), std::invalid_argument);
    EXPECT_EQ(bad.bytes(), before);
  };
  for (const auto& [name, array] : memory.arrays()) {
    refused(name, {it().name, name, "expected"},
            [](HostMemory::Array& bad) { --bad.counts.front(); });
    refused(name, {it().name, name, "expected"}, [](HostMemory::Array& bad) {
      bad.type = bad.type == ElementType::float32 ? ElementType::float64 : ElementType::float32;
    });
    refused(name, {it().name, name, "parts"}, [](HostMemory::Array& bad) { bad.parts.pop_back(); });
    HostMemory without(memory);
    without.arrays().erase(name);
    EXPECT_TRUE(throws_saying<std::invalid_argument>([&] { without.use(*optimizer, false); },
                                                     {it().name, name, "missing"}));
  }
  refused("scalars", {"step"}, [](HostMemory::Array& bad) {
    std::memset(bad.parts[0].data(), 0, 8);  // the clock starts at 1
  });
  // After all that the state goes on as if nothing had been.
  for (int step = 5; step <= 12; ++step) {
    memory.bind(*optimizer);
    twins.bind(*twin);
    advance(*optimizer, model, problem, step, step);
    advance(*twin, other, problem, step, step);
  }
  EXPECT_TRUE(same_bits(model.weights(), other.weights()));
}

TEST_P(Memory, is_left_alone_by_a_gradient_that_is_not_finite) {
  const OptionSet& set = it().sets.front();
  const problems::Quadratic problem = bowl_for(it(), 24);
  const Layout layout = one_part(24);
  const auto optimizer = make(it(), set, layout.specs());
  HostMemory memory(ElementType::float32);
  Model<float> model(layout, problem.start());
  for (int step = 1; step <= 3; ++step) {
    memory.bind(*optimizer);
    advance(*optimizer, model, problem, step, step);
  }
  memory.bind(*optimizer);
  const std::string before = memory.bytes();
  const std::vector<float> weights = model.weights();
  model.differentiate(problem, 4);
  model.gradient(0, 11) = std::numeric_limits<float>::infinity();
  EXPECT_THROW(model.apply(*optimizer), NonFiniteGradient);
  EXPECT_EQ(memory.bytes(), before);
  EXPECT_TRUE(same_bits(model.weights(), weights));
}

/// Parts of one model on two machines: sums are added up between the phases.
TEST_P(Memory, of_two_machines_steps_as_one_model) {
  if (it().name == "full-to" || it().name == "block-to") {
    GTEST_SKIP() << it().name << " needs all weights in one place";
  }
  for (const OptionSet& set : it().sets) {
    if (set.make || set.options.contains("projection")) continue;  // a ball is over all weights
    SCOPED_TRACE(set.label);
    const problems::Quadratic problem = bowl_for(it(), 50);
    const auto whole = make(it(), set, 50);
    const auto left = make(it(), set, 30), right = make(it(), set, 20);
    const std::vector<double> start = problem.start();
    std::vector<double> w(start), w2(start), g(50), g2(50);
    for (std::uint64_t step = 1; step <= 60; ++step) {
      problem.stochastic_gradient(w, step, g);
      whole->step(w, g);
      problem.stochastic_gradient(w2, step, g2);
      const Segment<double> a{std::span(w2).first(30), std::span<const double>(g2).first(30)};
      const Segment<double> b{std::span(w2).last(20), std::span<const double>(g2).last(20)};
      const auto one = [](const Segment<double>& s) {
        return std::span<const Segment<double>>(&s, 1);
      };
      const GatheredSums x = left->gather(one(a)), y = right->gather(one(b));
      const GatheredSums totals{.nonfinite = x.nonfinite + y.nonfinite,
                                .ga = x.ga + y.ga,
                                .cw = x.cw + y.cw,
                                .ww = x.ww + y.ww,
                                .aa = x.aa + y.aa,
                                .ab = x.ab + y.ab,
                                .all_ww = x.all_ww + y.all_ww};
      left->apply(one(a), totals);
      right->apply(one(b), totals);
    }
    EXPECT_LT(difference(w2, w), 1e-12);
    EXPECT_GT(difference(w, start), 1e-3);
    // A gradient that is not finite on one of them stops both.
    std::vector<double> bad(g2);
    bad[45] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> before = w2;
    const Segment<double> a{std::span(w2).first(30), std::span<const double>(bad).first(30)};
    const Segment<double> b{std::span(w2).last(20), std::span<const double>(bad).last(20)};
    GatheredSums totals = left->gather({&a, 1});
    totals.nonfinite += right->gather({&b, 1}).nonfinite;
    EXPECT_EQ(totals.nonfinite, 1);
    EXPECT_THROW(left->apply({&a, 1}, totals), NonFiniteGradient);
    EXPECT_THROW(right->apply({&b, 1}, totals), NonFiniteGradient);
    EXPECT_EQ(w2, before);
  }
}

INSTANTIATE_TEST_SUITE_P(records, Memory, ::testing::ValuesIn(record_names()), name_of);

/// Full-TO's history grows, and becomes a matrix when that is cheaper.
TEST(GrowingMemory, changes_its_form_with_the_same_bits) {
  const std::size_t d = 520;
  const problems::Quadratic problem = bowl_for(record("full-to"), d);
  const OptionMap options = {{"lr", "0.02"}, {"alpha", "1e-4"}, {"beta", "0.2"}};
  FullTO own(d, {.lr = 0.02, .alpha = 1e-4, .beta = 0.2});
  const auto callers = make_optimizer("full-to", d, options);
  HostMemory memory(ElementType::float32);
  Model<float> first(one_part(d), problem.start()), second(one_part(d), problem.start());
  int changed = 0;
  for (int step = 1; step <= 700; ++step) {
    memory.bind(*callers);
    if (step % 100 == 0) memory.move(), memory.bind(*callers);
    advance(own, first, problem, step, step);
    advance(*callers, second, problem, step, step);
    ASSERT_TRUE(same_bits(first.weights(), second.weights())) << "step " << step;
    if (changed == 0 && own.form() == Form::dense) changed = step;
  }
  EXPECT_GT(changed, 100);
  EXPECT_LT(changed, 650);
}

TEST(GrowingMemory, that_has_not_grown_is_an_error) {
  const std::size_t d = 600;
  const problems::Quadratic problem = bowl_for(record("full-to"), d);
  const auto optimizer = make_optimizer("full-to", d, {{"form", "span"}, {"alpha", "1e-5"}});
  HostMemory memory(ElementType::float32);
  Model<float> model(one_part(d), problem.start());
  memory.bind(*optimizer);
  const auto rows = memory.arrays().at("history").parts.size();
  int step = 1;
  while (memory.arrays().at("history").parts.size() == rows) {
    advance(*optimizer, model, problem, step, step);
    ++step;
    HostMemory as_it_is(memory);
    memory.bind(*optimizer);
    if (memory.arrays().at("history").parts.size() == rows) continue;
    EXPECT_TRUE(throws_saying<std::invalid_argument>([&] { as_it_is.use(*optimizer, false); },
                                                     {"history", "parts", "expected"}));
  }
  memory.bind(*optimizer);
  advance(*optimizer, model, problem, step, step);
}

}  // namespace
}  // namespace tandem::testing
