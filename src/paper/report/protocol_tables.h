// SPDX-License-Identifier: MIT
// The search for the paper's protocol as tables and a page.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paper/equal_budget.h"
#include "paper/protocol.h"
#include "report/table.h"

namespace tandem::paper {

/// What the search found on one data set.
struct ProtocolSearch {
  std::string data;
  std::size_t seeds = 0;
  std::vector<ProtocolScore> scores = {};  // by rising distance
  std::optional<OrderTest> order = {};
  // Under the nearest protocol:
  std::vector<MomentumScore> momentum = {};
  std::vector<BudgetRow> budgets = {};
  // Under the protocol of our own tables, after all epochs:
  std::optional<Protocol> own = {};
  std::vector<BudgetRow> own_budgets = {};
};

/// Of these protocols the one that the other pages of docs/results were run with: cross entropy,
/// reported with lambda's part, a bias, standardised numbers; after so many epochs. Null if there is
/// none.
const Protocol* our_protocol(const std::vector<ProtocolScore>& scores, std::size_t epochs);

/// "double-softmax, loss without lambda, bias=off, scale=unit, 5 epochs".
std::string protocol_text(const Protocol& protocol);

/// The nearest protocols of one data set.
report::Table nearest_table(const ProtocolSearch& search, std::size_t most);
/// The nearest of each loss and each reported loss, cell by cell beside the paper.
report::Table cells_table(const ProtocolSearch& search);
/// The nearest protocol and that of our own tables, with what agrees with the paper.
report::Table agreement_table(const ProtocolSearch& search);
/// A protocol cell by cell, had training ended after other numbers of epochs.
report::Table epochs_table(const ProtocolSearch& search, const Protocol& protocol);
report::Table momentum_table(const ProtocolSearch& search);
/// What is left at an equal number of settings.
report::Table budget_table(const std::vector<BudgetRow>& rows);
/// The protocols that are nearest on the first two data sets together, NSL-KDD and CovType, whose
/// protocols are the same. Empty where one of them was not searched.
report::Table joint_table(const std::vector<ProtocolSearch>& searches, std::size_t most);
/// Every protocol and cell with all digits, for programs.
report::Table protocol_csv(const std::vector<ProtocolSearch>& searches);
/// What was found, in sentences that say no more than the figures.
std::string protocol_verdict(const ProtocolSearch& search);

/// `note` says what was left out, if anything was.
std::string protocol_page(const std::vector<ProtocolSearch>& searches, const std::string& command,
                          const std::string& note,
                          const std::vector<std::pair<std::string, std::string>>& missing);

}  // namespace tandem::paper
