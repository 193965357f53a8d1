// SPDX-License-Identifier: MIT
// The search for a protocol in words and tables.
#include "paper/report/protocol_tables.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::paper {
namespace {

ProtocolScore score_of(problems::Loss loss, double rho, double distance) {
  return {.data = "nsl-kdd",
          .protocol = {.loss = loss,
                       .data_options = {{"bias", "off"}},
                       .report = study::ReportLoss::data,
                       .epochs = 3},
          .cells = {{.optimizer = "diag-to", .lambda = 0.97, .paper = 0.016, .rho = rho}},
          .distance = distance,
          .same_sign = rho > 0 ? 1U : 0U};
}

ProtocolSearch search_of(double distance) {
  ProtocolSearch search{.data = "nsl-kdd", .seeds = 3};
  search.scores = {score_of(problems::Loss::double_softmax, 0.015, distance),
                   score_of(problems::Loss::cross_entropy, -0.01, 0.026)};
  search.momentum = {{"momentum", "Adam's rates", score_of(problems::Loss::double_softmax, 0, 1)}};
  return search;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ProtocolTables, TheVerdictSaysHowManyWereTriedAndWhenNoneFits) {
  const std::string text = protocol_verdict(search_of(0.001));
  EXPECT_TRUE(has(text, "2 protocols were tried on 3 seeds, against 1 cells")) << text;
  EXPECT_TRUE(has(text,
                  "double-softmax, loss without lambda's part, bias=off, 3 epochs, "
                  "settings chosen on one seed:"))
      << text;
  EXPECT_TRUE(has(text, "differ from the paper's by 1e-3")) << text;
  EXPECT_TRUE(has(text, "a table of zeros differs by 16e-3")) << text;
  EXPECT_FALSE(has(text, "None is nearer")) << text;
  EXPECT_TRUE(has(protocol_verdict(search_of(0.02)), "none fits"));
  EXPECT_TRUE(has(protocol_verdict({.data = "covtype"}), "no protocol was tried"));
}

TEST(ProtocolTables, EachLossHasItsNearest) {
  ProtocolSearch search = search_of(0.001);
  EXPECT_FALSE(has(protocol_page({search}, "", "", {}), "our own tables"));
  search.own = Protocol{.data_options = {{"bias", "on"}}, .epochs = 3};
  EXPECT_EQ(nearest_table(search, 1).rows(), 1U);
  const std::string cells = cells_table(search).markdown();
  EXPECT_TRUE(has(cells, "double-softmax")) << cells;
  EXPECT_TRUE(has(cells, "cross-entropy")) << cells;
  EXPECT_TRUE(has(cells, "+15")) << cells;
  EXPECT_EQ(protocol_csv({search}).rows(), 2U);
  const std::string epochs = epochs_table(search, search.scores.front().protocol).markdown();
  EXPECT_TRUE(has(epochs, "T = 3")) << epochs;
  EXPECT_TRUE(has(epochs, "+15")) << epochs;
  EXPECT_FALSE(has(epochs, "-10")) << epochs;  // of the other loss
  const std::string page =
      protocol_page({search}, "COMMAND", "NOTE", {{"covtype", "no file\nmore"}});
  EXPECT_TRUE(has(page, "COMMAND")) << page;
  EXPECT_TRUE(has(page, "NOTE")) << page;
  EXPECT_TRUE(has(page, "covtype: no data. no file\n")) << page;
  EXPECT_TRUE(has(page, "Adam's rates")) << page;
  EXPECT_TRUE(has(page, "our own tables (cross-entropy, with lambda's part, bias=on)")) << page;
}

TEST(ProtocolTables, OurOwnProtocolIsFoundByWhatItHas) {
  std::vector<ProtocolScore> scores;
  for (const char* bias : {"off", "on"}) {
    for (const std::size_t epochs : {3, 5}) {
      for (const auto report : {study::ReportLoss::data, study::ReportLoss::total}) {
        scores.push_back({.data = "nsl-kdd",
                          .protocol = {.data_options = {{"bias", bias}, {"vocabulary", "9"}},
                                       .report = report,
                                       .epochs = epochs}});
      }
    }
  }
  EXPECT_EQ(our_protocol(scores, 5), &scores[7].protocol);
  EXPECT_EQ(our_protocol(scores, 4), nullptr);
  scores[7].protocol.loss = problems::Loss::double_softmax;
  EXPECT_EQ(our_protocol(scores, 5), nullptr);
  EXPECT_EQ(our_protocol({}, 5), nullptr);
}

TEST(ProtocolTables, EqualBudgetsShowRangesAndWhatDiverged) {
  ProtocolSearch search = search_of(0.001);
  search.budgets = {{.lambda = 0.97,
                     .optimizer = "diag-to",
                     .against = "adam, TO's rates too",
                     .settings = 60,
                     .rhos = {0.001, -0.002, 0.004},
                     .rho = 0.001,
                     .whole = 0.0052},
                    {.lambda = 0.97,
                     .optimizer = "ro-to",
                     .against = "adam",
                     .settings = 60,
                     .rhos = {0.001},
                     .diverged = 5}};
  const std::string table = budget_table(search.budgets).markdown();
  EXPECT_TRUE(has(table, "| 60 | +1 | -2 to +4 | +5.2 |")) << table;
  EXPECT_TRUE(has(table, "| none | 5 of 6 diverged | none |")) << table;
  const std::string page = protocol_page({search}, "", "", {});
  EXPECT_TRUE(has(page, "At an equal number of settings")) << page;
  EXPECT_TRUE(has(page, "the 6 pairs of seeds")) << page;
}

TEST(ProtocolTables, TwoDataSetsAreScoredTogether) {
  ProtocolSearch kdd = search_of(0.001);
  ProtocolSearch covtype = search_of(0.001);
  covtype.data = "covtype";
  EXPECT_EQ(joint_table({kdd}, 9).rows(), 0U);
  // Zeros are at 0.016: 0.002 and 0.012 are 1/8 and 3/4 of that.
  kdd.scores[0].distance = 0.002;
  covtype.scores[0].distance = 0.012;
  covtype.scores.pop_back();  // what one of them did not try is left out
  const report::Table table = joint_table({kdd, covtype}, 9);
  EXPECT_EQ(table.rows(), 1U);
  EXPECT_TRUE(has(table.markdown(),
                  "| double-softmax | without lambda's part | bias=off | 3 | one "
                  "seed | 0.54 | 0.12 | 0.75 |"))
      << table.markdown();
  EXPECT_EQ(joint_table({kdd, kdd}, 1).rows(), 1U);
  const std::string page = protocol_page({kdd, covtype}, "", "", {});
  EXPECT_TRUE(has(page, "## nsl-kdd and covtype together")) << page;
}

TEST(ProtocolTables, EveryCellSaysWhatAgrees) {
  ProtocolSearch search = search_of(0.001);
  ProtocolCell& cell = search.scores[0].cells[0];
  cell.rhos = {0.012, 0.018};
  EXPECT_TRUE(has(agreement_table(search).markdown(), "| +16 | +15 | +12 to +18 | within seeds |"));
  cell.rhos = {0.012, 0.0159};
  EXPECT_EQ(agreement(cell), Agreement::same_sign);
  cell.rho = -0.001;
  EXPECT_EQ(agreement(cell), Agreement::none);
  cell.rho.reset();
  cell.rhos.clear();
  EXPECT_EQ(agreement(cell), Agreement::none);
  search.own = search.scores[1].protocol;
  EXPECT_TRUE(has(agreement_table(search).markdown(), "| +16 | none |  | no | -10 |  | no |"))
      << agreement_table(search).markdown();
  EXPECT_EQ(agreement_table({.data = "covtype"}).rows(), 0U);
}

TEST(ProtocolTables, TheVerdictTellsOfOtherOrders) {
  ProtocolSearch search = search_of(0.001);
  EXPECT_FALSE(has(protocol_verdict(search), "other orders"));
  search.order = OrderTest{.orders = 120, .as_near = 4};
  EXPECT_TRUE(has(protocol_verdict(search),
                  "in the 119 other orders of lambda some protocol is at "
                  "least as near in 3"))
      << protocol_verdict(search);
}

}  // namespace
}  // namespace tandem::paper
