// SPDX-License-Identifier: MIT
// The constants satisfy the theorems for any problem, and check() names each condition that fails.
#include "paper/theory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem::theory {
namespace {

/// From 10^low to 10^high, equally likely in every decade.
double any_power(double low, double high) {
  const int part = *rc::gen::inRange(0, 10'001);
  return std::pow(10.0, low + (high - low) * part / 10'000);
}

Facts any_facts(bool convex) {
  Facts facts{.L = any_power(-4, 4), .D_w = any_power(-3, 3), .D_G = any_power(-3, 3)};
  if (convex) facts.c = facts.L / any_power(0, 4);
  if (*rc::gen::arbitrary<bool>()) facts.D_V = facts.D_G * facts.D_G * any_power(-3, 0);
  return facts;
}

const Facts kFacts{.c = 0.5, .L = 1, .D_w = 1, .D_G = 2};

std::vector<std::string> names_of(const std::vector<Condition>& conditions) {
  std::vector<std::string> names;
  for (const Condition& condition : conditions) names.push_back(condition.name);
  return names;
}

/// S_alpha by adding up, with the integral for the rest.
double summed(const Rates& rates) {
  double sum = 0;
  constexpr int kTerms = 200'000;
  for (int t = kTerms; t >= 1; --t) {
    sum += rates.alpha_schedule().at({.step = static_cast<std::uint64_t>(t)});
  }
  return sum + rates.alpha / (kTerms - 0.5 + rates.mu);
}

RC_GTEST_PROP(Theory, CertifiedRatesSatisfyTheoremOne, ()) {
  const Facts facts = any_facts(true);
  const double theta = *rc::gen::elementOf(std::vector<double>{0, 0.01, 0.1, 0.5, 0.9});
  const Rates rates = certified_rates(facts, theta);
  RC_ASSERT(check(facts, rates).empty());
  RC_ASSERT(std::abs(rates.alpha_sum() * facts.D_w * facts.D_w - theta) <= 1e-12);

  // The proof's own steps, written again.
  const Bounds bound = bounds(facts, rates);
  const double slack = 1 + 1e-9;
  RC_ASSERT(bound.D_b * slack >= facts.D_G + bound.D_A * facts.D_w);
  RC_ASSERT(bound.D_A * slack >= theta / facts.D_w * (bound.D_b + facts.D_G));
  RC_ASSERT(bound.M1 && bound.M2);
  const double c = *facts.c;
  const double gamma = rates.gamma;
  const double delta = rates.alpha * facts.D_w * facts.D_w / rates.mu + rates.beta;
  const double variance = facts.D_V.value_or(facts.D_G * facts.D_G);
  const double upper =
      ((rates.beta - 2 * gamma * bound.Q - 1) * *bound.M2 - variance * delta * delta) /
      (4 * facts.L * facts.L * bound.Q * gamma);
  const double lower =
      (gamma / c * *bound.M2 + bound.D_hat * bound.D_hat * gamma * gamma) / (gamma * c - 1);
  RC_ASSERT(lower <= *bound.M1 * slack);
  RC_ASSERT(*bound.M1 <= upper * slack);
  RC_ASSERT(*bound.M1 >= 4 * facts.D_w * facts.D_w * (rates.mu + 1));
  RC_ASSERT(*bound.M2 >= facts.D_G * facts.D_G * (rates.mu + 1));
}

RC_GTEST_PROP(Theory, CertifiedRatesSatisfyTheoremTwo, ()) {
  const Facts facts = any_facts(false);
  const Rates rates = certified_rates(facts);
  RC_ASSERT(check(facts, rates).empty());
  const Bounds bound = bounds(facts, rates);
  RC_ASSERT(rates.gamma < 1 / facts.L);
  RC_ASSERT(rates.beta > 1 + 6 * rates.gamma * std::hypot(bound.D_A, facts.L));
  RC_ASSERT(!bound.M1 && !bound.M2);
}

/// The recurrences behind M3 and M4 with equality, where F falls by all of D_F in one step: what the
/// errors add up to stays below, whichever step that is.
RC_GTEST_PROP(Theory, LeastErrorsStayBelowTheirBounds, ()) {
  Facts facts = any_facts(false);
  if (*rc::gen::arbitrary<bool>()) facts.D_F = facts.D_w * facts.D_G * any_power(-3, 0);
  const Rates rates = certified_rates(facts);
  const Bounds bound = bounds(facts, rates);
  RC_ASSERT(bound.M3 && bound.M4);
  const double delta = rates.alpha * facts.D_w * facts.D_w / rates.mu + rates.beta;
  const double variance = facts.D_V.value_or(facts.D_G * facts.D_G);
  const double drop = facts.D_F.value_or(2 * facts.D_w * facts.D_G);
  const double rest = rates.beta - 2 * rates.gamma * bound.Q;
  const int fall = *rc::gen::inRange(1, 3000);
  double error = facts.D_G * facts.D_G;  // of the estimate
  double errors = 0;
  double gradients = 0;
  for (int t = 1; t <= 3000; ++t) {
    const double time = t + rates.mu;
    const double fallen = t == fall ? 2 * drop : 0;
    errors += error / time;
    gradients += error / time + fallen / rates.gamma;
    const double moved = (rates.gamma / time * error + fallen) / (5.0 / 6);  // gamma_t |P_t|^2
    error = (1 - rest / time) * error + bound.Q * moved + variance * delta * delta / (time * time);
    RC_ASSERT(errors <= *bound.M3 * (1 + 1e-9));
    RC_ASSERT(gradients <= *bound.M4 * (1 + 1e-9));
  }
}

TEST(Theory, FarthestIsTheSumOfAllSteps) {
  Facts facts = kFacts;
  facts.c.reset();
  const Rates rates = certified_rates(facts);
  double sum = 0.5;
  for (std::uint64_t t = 1; t <= 1000; ++t) {
    sum += rates.gamma_schedule().at({.step = t}) * bounds(facts, rates).D_hat;
  }
  EXPECT_GE(farthest(facts, rates, 0.5, 1000), sum);
  EXPECT_LE(farthest(facts, rates, 0.5, 1000), sum * 1.05);
}

TEST(Theory, SchedulesAreThoseOfTheTheorem) {
  const Rates rates{.gamma = 3, .beta = 5, .alpha = 7, .mu = 11};
  for (const std::uint64_t t : {1U, 2U, 1000U}) {
    const Clock clock{.step = t};
    const auto time = static_cast<double>(t);
    EXPECT_DOUBLE_EQ(rates.gamma_schedule().at(clock), 3 / (time + 11));
    EXPECT_DOUBLE_EQ(rates.beta_schedule().at(clock), 5 / (time - 1 + 11));
    EXPECT_DOUBLE_EQ(rates.alpha_schedule().at(clock), 7 / ((time - 1 + 11) * (time - 1 + 11)));
  }
}

TEST(Theory, TrigammaIsTheSumOfAlphas) {
  for (const double mu : {0.5, 6.0, 173.0}) {
    const Rates rates{.gamma = 1, .beta = 1, .alpha = 2.5, .mu = mu};
    EXPECT_NEAR(rates.alpha_sum() / summed(rates), 1, 1e-9) << "mu = " << mu;
  }
}

TEST(Theory, EachFailedConditionIsNamed) {
  const Rates good = certified_rates(kFacts);
  EXPECT_TRUE(check(kFacts, good).empty());
  const std::string beta = "1 + 4 gamma^2 L^2 Q / (c (gamma c - 1)) + 2 gamma Q < beta";
  const auto failed = [&](auto&& change, const Facts& facts = kFacts) {
    Rates rates = good;
    change(rates);
    return names_of(check(facts, rates));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(failed([](Rates& r) { r.gamma = 2; }), (Names{"1/c < gamma", beta}));
  EXPECT_EQ(failed([](Rates& r) { r.beta = 4; }), (Names{beta}));
  // Twelve times theta = 0.1 is more than 1: D_A, and so beta's bound, are infinite.
  EXPECT_EQ(failed([](Rates& r) { r.alpha *= 12; }), (Names{beta, "sum of alpha_t < 1/D_w^2"}));
  EXPECT_EQ(failed([](Rates& r) {
              r.mu = r.beta;
              r.alpha = 0;
            }),
            (Names{"beta_1 < 1", "alpha D_w^2 / mu + beta < mu"}));
  EXPECT_EQ(failed([](Rates& r) { r.mu = r.beta + 0.01; }),
            (Names{"alpha D_w^2 / mu + beta < mu"}));

  // Where the weights may be next to nothing alpha may be large; where the function is flat, gamma.
  const Facts narrow{.c = 0.5, .L = 1, .D_w = 1e-3, .D_G = 2e-3};
  Rates rates = certified_rates(narrow, 0);
  rates.alpha = rates.mu * rates.mu;
  EXPECT_EQ(names_of(check(narrow, rates)), (Names{"alpha_1 < 1"}));
  const Facts flat{.c = 1e-3, .L = 1e-3, .D_w = 1, .D_G = 2e-3};
  rates = certified_rates(flat, 0);
  rates.mu = rates.beta * 1.1;
  EXPECT_EQ(names_of(check(flat, rates)), (Names{"gamma_1 < 1"}));

  Facts nonconvex = kFacts;
  nonconvex.c.reset();
  rates = certified_rates(nonconvex);
  EXPECT_TRUE(check(nonconvex, rates).empty());
  rates.gamma = 1;
  rates.beta = 1;
  EXPECT_EQ(names_of(check(nonconvex, rates)), (Names{"gamma < 1/L", "1 + 6 gamma Q < beta"}));
}

TEST(Theory, ConditionsTellTheirSides) {
  Rates rates = certified_rates(kFacts);
  rates.gamma = 1;
  const auto failed = check(kFacts, rates);
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[0].left, 2);
  EXPECT_EQ(failed[0].right, 1);
  EXPECT_EQ(failed[0].text(), "1/c < gamma fails: 2 is not below 1");
  EXPECT_TRUE(std::isinf(failed[1].left));
  EXPECT_FALSE(bounds(kFacts, rates).M1);
}

TEST(Theory, MilderRatesFailTheConditionOnBetaAlone) {
  for (const double c : {0.5, 1.0 / 6, 1.0 / 26}) {
    Facts facts = kFacts;
    facts.c = c;
    const Rates rates = milder_rates(facts);
    EXPECT_EQ(rates.gamma, 2 / c);
    EXPECT_EQ(rates.beta, 4);
    EXPECT_EQ(rates.mu, 4 / c);
    EXPECT_EQ(
        names_of(check(facts, rates)),
        std::vector<std::string>{"1 + 4 gamma^2 L^2 Q / (c (gamma c - 1)) + 2 gamma Q < beta"});
  }
}

TEST(Theory, WrongNumbersAreNamed) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  Facts facts = kFacts;
  facts.D_F = -1;
  EXPECT_EQ(message([&] { certified_rates(facts); }), "D_F is -1; expected a finite number > 0");
  facts = kFacts;
  facts.D_w = 0;
  EXPECT_EQ(message([&] { certified_rates(facts); }), "D_w is 0; expected a finite number > 0");
  facts = kFacts;
  facts.c = 2;
  EXPECT_EQ(message([&] { certified_rates(facts); }),
            "c is 2; expected at most L = 1, as for every function");
  EXPECT_EQ(message([] { certified_rates(kFacts, 1); }), "theta is 1; expected 0 <= theta < 1");
  EXPECT_EQ(message([] { check(kFacts, {.gamma = 1, .beta = 1, .alpha = -1, .mu = 1}); }),
            "alpha is -1; expected a finite number >= 0");
  EXPECT_EQ(message([] {
              check(kFacts, {.gamma = 1, .beta = std::numeric_limits<double>::infinity(), .mu = 1});
            }),
            "beta is inf; expected a finite number > 0");
  facts = kFacts;
  facts.c.reset();
  EXPECT_EQ(message([&] { milder_rates(facts); }),
            "milder rates: c is not given; expected a number > 0");
}

}  // namespace
}  // namespace tandem::theory
