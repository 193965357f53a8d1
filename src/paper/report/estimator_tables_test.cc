// SPDX-License-Identifier: MIT
#include "paper/report/estimator_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::paper {
namespace {

EstimatorComparison made(const std::string& rule, std::optional<std::size_t> epoch, double low,
                         double high) {
  EstimatorComparison comparison{.rule = rule, .epoch = epoch, .seeds = 5, .gradient = 0.25};
  comparison.without = {.setting = {"diag-to", 0, 0.125}, .agreeing = 5, .ratio = 0.5};
  comparison.with = {
      .setting = {rule, 0.01, 0.25}, .agreeing = 4, .alpha_at_edge = true, .ratio = 0.375};
  comparison.log_quotient = {.mean = std::log(0.75),
                             .standard_error = 0.1,
                             .s = 0.9,
                             .p = 0.0625,
                             .interval = {{std::log(low), std::log(high)}}};
  return comparison;
}

EstimatorComparison diverged(std::optional<std::size_t> epoch) {
  EstimatorComparison comparison = made("ro-to", epoch, 1, 1);
  comparison.with.ratio = std::nullopt;
  comparison.with.diverged = 2;
  comparison.log_quotient = {};
  return comparison;
}

std::vector<EstimatorRun> made_runs() {
  EstimatorRun run{.data = "mnist",
                   .model = "logistic",
                   .lambda = 0.034,
                   .start = "normal",
                   .dimension = 7850,
                   .steps = 937,
                   .options = {.epochs = 1},
                   .seeds = 5,
                   .grid = {{"diag-to", "ro-to"}, {0.01, 0.1}, {0.125, 0.25}},
                   .left_out = {"full-to"}};
  run.drivers.push_back({.driver = {"adam", {{"lr", "0.005"}}},
                         .comparisons = {made("diag-to", {}, 0.5, 0.99), made("diag-to", 1, 0.5, 2),
                                         diverged({}), diverged(1)},
                         .profile = {{{"diag-to", 0, 0.125}, 0.5}, {{"ro-to", 0.1, 0.125}, {}}}});
  return {run};
}

TEST(EstimatorTables, ShowBothSidesAndTheirQuotient) {
  EXPECT_EQ(estimator_table(made_runs()).csv(),
            "task,driver,rule,G = 0,alpha = 0,beta,alpha > 0,alpha,beta,quotient,95 %\r\n"
            "\"mnist logistic, lambda = 0.034\",adam lr=0.005,full-to,,,,7850 weights: left "
            "out,,,,\r\n"
            "\"mnist logistic, lambda = 0.034\",adam lr=0.005,diag-to,0.25,0.5,0.125,0.375,0.01 "
            "!,0.25,0.75,0.5 to 0.99\r\n"
            "\"mnist logistic, lambda = 0.034\",adam lr=0.005,ro-to,0.25,0.5,0.125,diverged,0.01 "
            "!,0.25,diverged 2/5,\r\n");
  EXPECT_EQ(estimator_epochs(made_runs()[0]).csv(),
            "driver,rule,epoch 1\r\nadam lr=0.005,diag-to,0.75 (0.5 to 2)\r\n"
            "adam lr=0.005,ro-to,diverged 2/5\r\n");
}

TEST(EstimatorTables, SentencesClaimNoMoreThanTheIntervals) {
  EXPECT_EQ(
      estimator_summary(made_runs()),
      "Of 2 comparisons over all epochs, the error with alpha > 0 is smaller than with alpha "
      "= 0 in 1 (the interval of the quotient is below 1), larger in 0, and not told apart in "
      "0; in 1 what the other seeds choose diverges on a seed. After Holm's correction over all of "
      "them it is smaller in 0 and larger in 0 (p < 0.05). The least quotient is 0.75: "
      "diag-to on mnist logistic, lambda = 0.034 with adam as driver.");
  const std::string page = estimator_page({.command = "tandem paper estimators",
                                           .note = "Quick.",
                                           .facts = {{"machine", "a"}},
                                           .runs = made_runs(),
                                           .missing = {{"covtype", "no file"}}});
  for (const char* part :
       {"```sh\ntandem paper estimators\n```", "Quick.", "by epoch", "covtype: no data: no file",
        "- machine: a", "Left out, for its matrix of 7850 x 7850: full-to.",
        "alpha > 0: 0.01, 0.1. beta: 0.125, 0.25."}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(EstimatorTables, ProgramsGetEveryDigit) {
  const std::string csv = estimator_csv(made_runs()).csv();
  EXPECT_NE(csv.find("mnist,logistic,0.034,normal,adam lr=0.005,diag-to,all,5,0.25,0.5,0.125,5,"
                     "0.375,0.01,0.25,4,0,"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",ro-to,all,5,0.25,0.5,0.125,5,,0.01,0.25,4,2,,,,\r\n"), std::string::npos)
      << csv;
  EXPECT_EQ(alpha_csv(made_runs()).csv(),
            "data,model,lambda,start,driver,rule,alpha,beta,ratio\r\n"
            "mnist,logistic,0.034,normal,adam lr=0.005,any,0,0.125,0.5\r\n"
            "mnist,logistic,0.034,normal,adam lr=0.005,ro-to,0.1,,diverged\r\n");
  const auto events = estimator_events(made_runs()[0]);
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0]["left_out"], true);
  EXPECT_NEAR(events[1]["quotient"].get<double>(), 0.75, 1e-12);
  EXPECT_TRUE(events[1]["epoch"].is_null());
  EXPECT_EQ(events[2]["epoch"], 1);
  EXPECT_TRUE(events[3]["quotient"].is_null());
  EXPECT_EQ(events[3]["seeds_diverged"], 2);
}

}  // namespace
}  // namespace tandem::paper
