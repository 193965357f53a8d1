// SPDX-License-Identifier: MIT
#include "paper/report/protocol_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tandem::paper {
namespace {

using report::Table;
using study::ReportLoss;
using Align = Table::Align;

std::string thousandths(double value) { return fmt::format("{:.3g}", 1e3 * value); }

std::string signed_thousandths(const std::optional<double>& value) {
  return value ? fmt::format("{:+.3g}", 1e3 * *value) : "none";
}

std::string options_text(const Protocol& protocol) {
  std::string text;
  for (const auto& [name, value] : protocol.data_options) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

std::string report_text(ReportLoss report) {
  return report == ReportLoss::total ? "with lambda's part" : "without lambda's part";
}

std::string range_text(const std::vector<double>& rhos) {
  if (rhos.empty()) return "";
  const auto [least, most] = std::minmax_element(rhos.begin(), rhos.end());
  return fmt::format("{} to {}", signed_thousandths(*least), signed_thousandths(*most));
}

const char* agreement_text(Agreement agreement) {
  switch (agreement) {
    case Agreement::within_seeds:
      return "within seeds";
    case Agreement::same_sign:
      return "sign";
    case Agreement::none:
      return "no";
  }
  return "";
}

/// The nearest of each loss and each reported loss.
std::vector<const ProtocolScore*> champions(const ProtocolSearch& search) {
  std::vector<const ProtocolScore*> best;
  std::set<std::pair<problems::Loss, ReportLoss>> seen;
  for (const ProtocolScore& score : search.scores) {
    if (seen.insert({score.protocol.loss, score.protocol.report}).second) best.push_back(&score);
  }
  return best;
}

const char* selection_text(Selection selection) {
  return selection == Selection::one_seed ? "one seed" : "all seeds";
}

/// The protocols that differ in the number of epochs alone.
bool same_but_epochs(const Protocol& one, const Protocol& two) {
  return one.loss == two.loss && one.data_options == two.data_options && one.report == two.report &&
         one.selection == two.selection;
}

/// A column a protocol, a row a cell.
Table cells_of(const std::vector<const ProtocolScore*>& scores,
               const std::vector<std::string>& titles) {
  std::vector<Table::Column> columns{
      {"lambda", Align::right}, {"optimizer"}, {"the paper", Align::right}};
  for (const std::string& title : titles) columns.push_back({title, Align::right});
  Table table(columns);
  if (scores.empty()) return table;
  for (std::size_t c = 0; c < scores.front()->cells.size(); ++c) {
    const ProtocolCell& paper = scores.front()->cells[c];
    std::vector<std::string> line{fmt::format("{}", paper.lambda), paper.optimizer,
                                  signed_thousandths(paper.paper)};
    for (const ProtocolScore* score : scores) {
      const ProtocolCell& cell = score->cells.at(c);
      std::string text = signed_thousandths(cell.rho);
      if (cell.diverged > 0 && cell.rho) {
        text +=
            fmt::format(" ({} of {} diverged)", cell.diverged, cell.diverged + cell.rhos.size());
      }
      line.push_back(std::move(text));
    }
    table.add(std::move(line));
  }
  return table;
}

}  // namespace

const Protocol* our_protocol(const std::vector<ProtocolScore>& scores, std::size_t epochs) {
  static const std::map<std::string, std::string> ours{{"bias", "on"}, {"scale", "standard"}};
  for (const ProtocolScore& score : scores) {
    const Protocol& one = score.protocol;
    const bool same_data =
        std::all_of(one.data_options.begin(), one.data_options.end(), [](const auto& option) {
          const auto found = ours.find(option.first);
          return found == ours.end() || found->second == option.second;
        });
    if (same_data && one.epochs == epochs && one.report == ReportLoss::total &&
        one.loss == problems::Loss::cross_entropy && one.selection == Selection::one_seed) {
      return &one;
    }
  }
  return nullptr;
}

std::string protocol_text(const Protocol& protocol) {
  return fmt::format("{}, loss {}, {}, {} epochs, settings chosen on {}",
                     problems::loss_name(protocol.loss), report_text(protocol.report),
                     options_text(protocol), protocol.epochs, selection_text(protocol.selection));
}

Table nearest_table(const ProtocolSearch& search, std::size_t most) {
  Table table({{"loss"},
               {"reported"},
               {"inputs"},
               {"epochs", Align::right},
               {"chosen on"},
               {"distance x 1e3", Align::right},
               {"of that of zeros", Align::right},
               {"same sign", Align::right}});
  for (std::size_t i = 0; i < std::min(most, search.scores.size()); ++i) {
    const ProtocolScore& score = search.scores[i];
    table.add({problems::loss_name(score.protocol.loss), report_text(score.protocol.report),
               options_text(score.protocol), std::to_string(score.protocol.epochs),
               selection_text(score.protocol.selection), thousandths(score.distance),
               fmt::format("{:.2f}", score.distance / distance_of_zeros(score)),
               fmt::format("{} of {}", score.same_sign, score.cells.size())});
  }
  return table;
}

Table cells_table(const ProtocolSearch& search) {
  const std::vector<const ProtocolScore*> best = champions(search);
  std::vector<std::string> titles;
  for (const ProtocolScore* score : best) {
    const Protocol& one = score->protocol;
    titles.push_back(fmt::format("{}, {}, {}, T = {}, {}", problems::loss_name(one.loss),
                                 report_text(one.report), options_text(one), one.epochs,
                                 selection_text(one.selection)));
  }
  return cells_of(best, titles);
}

Table agreement_table(const ProtocolSearch& search) {
  std::vector<const ProtocolScore*> shown;
  std::vector<Table::Column> columns{
      {"lambda", Align::right}, {"optimizer"}, {"the paper", Align::right}};
  const auto add = [&](const ProtocolScore& score, const std::string& title) {
    shown.push_back(&score);
    columns.push_back({title, Align::right});
    columns.push_back({"over seeds", Align::right});
    columns.push_back({"agrees"});
  };
  if (!search.scores.empty()) add(search.scores.front(), "nearest");
  for (const ProtocolScore& score : search.scores) {
    if (search.own && same_but_epochs(score.protocol, *search.own) &&
        score.protocol.epochs == search.own->epochs) {
      add(score, "our tables'");
    }
  }
  Table table(columns);
  for (std::size_t c = 0; !shown.empty() && c < shown.front()->cells.size(); ++c) {
    const ProtocolCell& paper = shown.front()->cells[c];
    std::vector<std::string> line{fmt::format("{}", paper.lambda), paper.optimizer,
                                  signed_thousandths(paper.paper)};
    for (const ProtocolScore* score : shown) {
      const ProtocolCell& cell = score->cells.at(c);
      line.push_back(signed_thousandths(cell.rho));
      line.push_back(range_text(cell.rhos));
      line.emplace_back(agreement_text(agreement(cell)));
    }
    table.add(std::move(line));
  }
  return table;
}

Table epochs_table(const ProtocolSearch& search, const Protocol& protocol) {
  std::vector<const ProtocolScore*> scores;
  for (const ProtocolScore& score : search.scores) {
    if (same_but_epochs(score.protocol, protocol)) scores.push_back(&score);
  }
  std::sort(scores.begin(), scores.end(), [](const ProtocolScore* one, const ProtocolScore* two) {
    return one->protocol.epochs < two->protocol.epochs;
  });
  std::vector<std::string> titles;
  for (const ProtocolScore* score : scores) {
    titles.push_back(fmt::format("T = {}", score->protocol.epochs));
  }
  return cells_of(scores, titles);
}

Table momentum_table(const ProtocolSearch& search) {
  std::vector<Table::Column> columns{{"form"}, {"grid"}, {"distance x 1e3", Align::right}};
  if (!search.momentum.empty()) {
    for (const ProtocolCell& cell : search.momentum.front().score.cells) {
      columns.push_back({fmt::format("lambda {} ({})", cell.lambda, signed_thousandths(cell.paper)),
                         Align::right});
    }
  }
  Table table(columns);
  for (const MomentumScore& each : search.momentum) {
    std::vector<std::string> line{each.form, each.grid, thousandths(each.score.distance)};
    for (const ProtocolCell& cell : each.score.cells) line.push_back(signed_thousandths(cell.rho));
    table.add(std::move(line));
  }
  return table;
}

Table budget_table(const std::vector<BudgetRow>& rows) {
  Table table({{"lambda", Align::right},
               {"optimizer"},
               {"against"},
               {"settings", Align::right},
               {"rho x 1e3", Align::right},
               {"range", Align::right},
               {"whole grids", Align::right}});
  for (const BudgetRow& row : rows) {
    const std::string range = row.diverged > 0 ? fmt::format("{} of {} diverged", row.diverged,
                                                             row.diverged + row.rhos.size())
                                               : range_text(row.rhos);
    table.add({fmt::format("{}", row.lambda), row.optimizer, row.against,
               std::to_string(row.settings), signed_thousandths(row.rho), range,
               signed_thousandths(row.whole)});
  }
  return table;
}

Table joint_table(const std::vector<ProtocolSearch>& searches, std::size_t most) {
  std::vector<Table::Column> columns{{"loss"},      {"reported"},
                                     {"inputs"},    {"epochs", Align::right},
                                     {"chosen on"}, {"together", Align::right}};
  std::vector<std::vector<ProtocolScore>> by_data;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, searches.size()); ++i) {
    by_data.push_back(searches[i].scores);
    columns.push_back({searches[i].data, Align::right});
  }
  Table table(columns);
  if (by_data.size() < 2) return table;
  for (const JointScore& score : joint_scores(by_data)) {
    if (table.rows() == most) break;
    const Protocol& one = score.protocol;
    std::vector<std::string> line{problems::loss_name(one.loss),
                                  report_text(one.report),
                                  options_text(one),
                                  std::to_string(one.epochs),
                                  selection_text(one.selection),
                                  fmt::format("{:.2f}", score.joint)};
    for (const double share : score.shares) line.push_back(fmt::format("{:.2f}", share));
    table.add(std::move(line));
  }
  return table;
}

Table protocol_csv(const std::vector<ProtocolSearch>& searches) {
  Table table({{"data"},
               {"loss"},
               {"report_loss"},
               {"options"},
               {"epochs"},
               {"chosen_on"},
               {"distance"},
               {"same_sign"},
               {"cells"},
               {"rho"}});
  for (const ProtocolSearch& search : searches) {
    for (const ProtocolScore& score : search.scores) {
      std::string rhos;
      for (const ProtocolCell& cell : score.cells) {
        rhos += fmt::format("{}{} {}: {}", rhos.empty() ? "" : "; ", cell.optimizer, cell.lambda,
                            cell.rho ? fmt::format("{:.6g}", *cell.rho) : "none");
      }
      table.add({search.data, problems::loss_name(score.protocol.loss),
                 study::report_loss_names()[score.protocol.report == ReportLoss::total ? 0 : 1],
                 options_text(score.protocol), std::to_string(score.protocol.epochs),
                 selection_text(score.protocol.selection), fmt::format("{:.6g}", score.distance),
                 std::to_string(score.same_sign), std::to_string(score.cells.size()), rhos});
    }
  }
  return table;
}

std::string protocol_verdict(const ProtocolSearch& search) {
  if (search.scores.empty()) return fmt::format("{}: no protocol was tried.", search.data);
  const ProtocolScore& best = search.scores.front();
  const double zeros = distance_of_zeros(best);
  std::string text = fmt::format(
      "{}: {} protocols were tried on {} seeds, against {} cells. The nearest is {}: its rho "
      "differ "
      "from the paper's by {}e-3 (root mean square), where a table of zeros differs by {}e-3; {} "
      "of "
      "{} have the paper's sign.",
      search.data, search.scores.size(), search.seeds, best.cells.size(),
      protocol_text(best.protocol), thousandths(best.distance), thousandths(zeros), best.same_sign,
      best.cells.size());
  if (best.distance >= zeros) text += " None is nearer to the paper than zeros are: none fits.";
  if (search.order) {
    text += fmt::format(
        " With the paper's rows in the {} other orders of lambda some protocol is at least as near "
        "in {}.",
        search.order->orders - 1, search.order->as_near - 1);
  }
  if (!search.momentum.empty()) {
    const MomentumScore& momentum = search.momentum.front();
    const double none = distance_of_zeros(momentum.score);
    text += fmt::format(
        " Of {} forms and grids of momentum under that protocol, {} with {} is the nearest to the "
        "paper's column: {}e-3, where zeros are at {}e-3{}.",
        search.momentum.size(), momentum.form, momentum.grid, thousandths(momentum.score.distance),
        thousandths(none), momentum.score.distance >= none ? ": none fits" : "");
  }
  return text;
}

std::string protocol_page(const std::vector<ProtocolSearch>& searches, const std::string& command,
                          const std::string& note,
                          const std::vector<std::pair<std::string, std::string>>& missing) {
  std::string page = fmt::format(
      "# How the paper may have run its experiments\n\n```sh\n{}\n```\n\n{}{}"
      "Each setting was trained on all seeds. Settings of Adam and of the other optimizer are "
      "chosen on one seed, each in turn, while the others give a rho each, or on all seeds, by the "
      "mean over those that are reported; a cell is the mean rho, x 1e3. The number of epochs T, "
      "the reported loss and this choice follow from the same runs. The more protocols are tried, "
      "the nearer the nearest is by chance.\n",
      command, note, note.empty() ? "" : "\n\n");
  if (const Table joint = joint_table(searches, 12); joint.rows() > 0) {
    page += fmt::format(
        "\n## {} and {} together\n\nThe same protocol on both: its distance on each over that of a "
        "table of zeros, and the root of the mean of their squares. Below 1 is nearer than "
        "zeros.\n\n{}",
        searches[0].data, searches[1].data, joint.markdown());
  }
  for (const ProtocolSearch& search : searches) {
    page += fmt::format("\n## {}\n\n{}\n\n### The nearest protocols\n\n{}\n", search.data,
                        protocol_verdict(search), nearest_table(search, 12).markdown());
    page += fmt::format(
        "### Cell by cell\n\nA cell agrees \"within seeds\" where the paper's rho lies inside the "
        "range of our rho over seeds, by \"sign\" where only the sign is the same.\n\n{}\nThe "
        "nearest of each loss and each reported loss:\n\n{}",
        agreement_table(search).markdown(), cells_table(search).markdown());
    if (!search.scores.empty()) {
      page += fmt::format("\n### By the number of epochs\n\nThe nearest protocol:\n\n{}",
                          epochs_table(search, search.scores.front().protocol).markdown());
    }
    if (search.own) {
      page += fmt::format("\nThe protocol of our own tables ({}, {}, {}):\n\n{}",
                          problems::loss_name(search.own->loss), report_text(search.own->report),
                          options_text(*search.own), epochs_table(search, *search.own).markdown());
    }
    if (!search.momentum.empty()) {
      page += fmt::format(
          "\n### The column of momentum\n\nUnder the nearest protocol; the paper's rho in "
          "brackets.\n\n{}",
          momentum_table(search).markdown());
    }
    if (search.budgets.empty()) continue;
    page += fmt::format(
        "\n### At an equal number of settings\n\nRho x 1e3 of the median over all draws of so many "
        "settings of either side, chosen on one seed and scored on another; the range is that of "
        "the {} pairs of seeds. Behind it rho of the whole grids, chosen and scored likewise. The "
        "nearest protocol:\n\n{}",
        search.seeds * (search.seeds - 1), budget_table(search.budgets).markdown());
    if (search.own_budgets.empty()) continue;
    page += fmt::format("\nThe protocol of our own tables:\n\n{}",
                        budget_table(search.own_budgets).markdown());
  }
  for (const auto& [study, why] : missing) {
    page += fmt::format("\n{}: no data. {}\n", study, why.substr(0, why.find('\n')));
  }
  return page;
}

}  // namespace tandem::paper
