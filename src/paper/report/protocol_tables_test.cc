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
  EXPECT_TRUE(has(text, "double-softmax, loss without lambda's part, bias=off, 3 epochs")) << text;
  EXPECT_TRUE(has(text, "differ from the paper's by 1e-3")) << text;
  EXPECT_TRUE(has(text, "a table of zeros differs by 16e-3")) << text;
  EXPECT_FALSE(has(text, "None is nearer")) << text;
  EXPECT_TRUE(has(protocol_verdict(search_of(0.02)), "none fits"));
  EXPECT_TRUE(has(protocol_verdict({.data = "covtype"}), "no protocol was tried"));
}

TEST(ProtocolTables, EachLossHasItsNearest) {
  const ProtocolSearch search = search_of(0.001);
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
  EXPECT_TRUE(has(page, "our own tables (cross-entropy, with lambda's part, bias=on,")) << page;
}

}  // namespace
}  // namespace tandem::paper
