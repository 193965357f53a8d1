// SPDX-License-Identifier: MIT
#include "paper/report/lambda_tables.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tandem::paper {
namespace {

std::vector<LambdaOutcome> made_outcomes() {
  LambdaScore zero{.lambda = 0};
  zero.best = {.loss = 0.25, .accuracy = 0.75, .options = {{"lr", "0.01"}}, .epoch = 3};
  zero.accuracy = 0.875;
  zero.measured = 2;
  zero.measured_loss = {.mean = 0.5, .deviation = 0.125};
  zero.measured_accuracy = {.mean = 0.625, .deviation = std::nullopt};
  zero.measured_options = {{"decay", "1"}, {"lr", "0.02"}};
  LambdaChoice choice{
      .data = "nsl-kdd", .model = "logistic", .pruned = false, .scores = {zero, {.lambda = 0.5}}};
  choice.chosen = 0;
  choice.by_accuracy = 0.5;
  return {{.data = "nsl-kdd",
           .choice = choice,
           .needs = {},
           .draws = LambdaDraws{.values = {0.125, 2}, .negative = 4}},
          {.data = "covtype", .choice = {}, .needs = {"a.gz", "b.gz"}, .draws = {}}};
}

TEST(LambdaTables, MarksTheChosenOneAndShowsThePaperBesideIt) {
  EXPECT_EQ(lambda_table(made_outcomes()).csv(),
            "data set,0,0.5,chosen,by accuracy,by seeds,paper,drawn\r\n"
            "nsl-kdd,0.25*,diverged,0,0.5,,0 (0.97 0.023 0.21 0.088 0.39),0.125 2\r\n"
            "covtype,no data,no data,no data,,,0.0005,\r\n");
}

TEST(LambdaTables, DetailsAreThoseOfTheTuningSeedAndOfTheOthers) {
  EXPECT_EQ(lambda_details(made_outcomes()).csv(),
            "data set,lambda,loss,accuracy,setting,epoch,loss of seeds,accuracy of seeds,setting "
            "of seeds\r\n"
            "nsl-kdd,0,0.25,0.875,lr=0.01,3,0.5 +- 0.1,0.625,decay=1 lr=0.02\r\n"
            "nsl-kdd,0.5,diverged,,,,,,\r\n");
  EXPECT_NE(
      lambda_csv(made_outcomes())
          .csv()
          .find("nsl-kdd,logistic,no,0,0.25,0.75,lr=0.01,3,0.875,2,0,0.5,0.125,0.625,,decay=1 "
                "lr=0.02,yes\r\n"),
      std::string::npos);
}

TEST(LambdaTables, NotesSayWhatWasDrawnAndWhatIsMissing) {
  std::vector<LambdaOutcome> outcomes = made_outcomes();
  std::vector<std::string> notes = lambda_notes(outcomes, 7);
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_NE(notes[2].find("seed 7, until five were positive; 4 negative"), std::string::npos);
  EXPECT_EQ(notes[3], "covtype: no data; it consists of a.gz, b.gz.");
  outcomes[0].choice->pruned = true;
  notes = lambda_notes(outcomes, 7);
  ASSERT_EQ(notes.size(), 5U);
  EXPECT_EQ(notes[2].rfind("Quick: ", 0), 0U);
}

}  // namespace
}  // namespace tandem::paper
