// SPDX-License-Identifier: MIT
// `tandem paper` as a user meets it: the list, the tables of rho on a small made NSL-KDD, what is
// refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_kdd.h"
#include "cli/test_program.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

class PaperCommand : public ::testing::Test {
 protected:
  PaperCommand() {
    std::ofstream(folder_ / "KDDTest+.txt") << made_kdd(100);
    // No data set of whoever runs this.
    for (const char* name : {"TANDEM_DATA", "XDG_DATA_HOME", "HOME"}) {
      setenv(name, path("").c_str(), 1);
    }
  }
  std::string path(const std::string& name) { return (folder_ / name).string(); }
  Result paper(const std::string& arguments, bool with_errors = false) {
    return program(
        fmt::format("paper {} --data-dir {} --store {}", arguments, path(""), path("runs.db")),
        with_errors);
  }
  void expect_refused(const std::string& arguments, const std::vector<std::string>& parts) {
    expect_end(paper(arguments, true), kUsage, parts);
  }

  tests::TempFolder folder_;
};

TEST_F(PaperCommand, WithoutANameItLists) {
  const Result result = program("paper");
  EXPECT_EQ(result.exit_code, kDone);
  expect_parts(result.out, {"strongly-convex", "convex", "ffn", "lambda", "memory", "resnet18",
                            "resnet50", "llama"});
}

TEST_F(PaperCommand, MemoryIsTableThree) {
  const auto lines = json_lines(program("paper memory --json").out);
  ASSERT_EQ(lines.size(), 12U);
  for (const auto& line : lines) {
    EXPECT_EQ(line["event"], "memory");
    if (!line["live"].is_null()) {
      EXPECT_EQ(line["live"], line["computed"]);
    }
  }
}

TEST_F(PaperCommand, TablesOfRhoWithTheirControls) {
  const std::string command = "strongly-convex --data nsl-kdd --out " + path("out");
  const Result result = paper(command, true);
  EXPECT_EQ(result.exit_code, kDone) << result.out;
  expect_parts(result.out, {"Ablations, against Adam", "Against Adam with TO's rates too",
                            "What learning A contributes", "Quick: a quarter of the epochs",
                            "strongly-convex-nsl-kdd-quick.md"});
  expect_parts(paper(command).out, {"(+16 +)", "adam, TO's rates too", "Of 5 tasks"});
  for (const char* name :
       {"strongly-convex-nsl-kdd-quick.md", "strongly-convex-kdd-quick-runs.csv.gz",
        "strongly-convex-kdd-quick-grid.csv.gz"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / name)) << name;
  }
  paper("strongly-convex --data nsl-kdd --static --out " + path("static"));
  const std::string page = contents(folder_ / "static/strongly-convex-nsl-kdd-quick.md");
  expect_parts(page, {"(+16 +)"});
  EXPECT_EQ(page.find(".html"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "static/strongly-convex-nsl-kdd-quick.html"));
  // The same from the store, as JSON: a row a cell, and a verdict a task.
  const auto lines = json_lines(paper("strongly-convex --data nsl-kdd --json").out);
  std::size_t verdicts = 0;
  std::size_t cells = 0;
  for (const auto& line : lines) {
    if (line.value("event", "") == "verdict") {
      ++verdicts;
    } else {
      EXPECT_EQ(line["budget"], "quick");
      EXPECT_EQ(line["pruned"], true);
      cells += line["paper_rho"].is_null() ? 0 : 1;
    }
  }
  EXPECT_EQ(verdicts, 5U);
  EXPECT_EQ(cells, 20U);  // momentum and the three forms
}

/// Another loss is another study; another reported loss is another view of the same runs.
TEST_F(PaperCommand, LossesAreMinimisedAndReportedAsAskedFor) {
  const auto rows = [&](const std::string& rest) {
    std::map<std::string, double> losses;
    for (const auto& line : json_lines(paper("strongly-convex --data nsl-kdd --json" + rest).out)) {
      if (line.contains("tuned_loss") && line["tuned_loss"].is_number()) {
        losses[line["study"].get<std::string>() + line["task"].get<std::string>() +
               line["optimizer"].get<std::string>()] = line["tuned_loss"];
      }
    }
    return losses;
  };
  const auto unbiased = rows(" --data-option bias=off");
  ASSERT_FALSE(unbiased.empty());
  for (const auto& [key, loss] : unbiased) {
    EXPECT_NE(key.find("bias=off"), std::string::npos) << key;
  }
  const auto short_runs = rows(" --epochs 2");
  ASSERT_FALSE(short_runs.empty());
  for (const auto& [key, loss] : short_runs) {
    EXPECT_EQ(key.find("strongly-convex-kdd-quick-2-epochs"), 0U) << key;
  }
  const auto total = rows("");
  const auto data = rows(" --report-loss data");
  ASSERT_FALSE(total.empty());
  ASSERT_EQ(total.size(), data.size());
  for (const auto& [key, loss] : total) EXPECT_LT(data.at(key), loss) << key;
  const auto twice = rows(" --loss double-softmax --report-loss data");
  ASSERT_FALSE(twice.empty());
  for (const auto& [key, loss] : twice) {
    EXPECT_NE(key.find("loss=double-softmax"), std::string::npos) << key;
    EXPECT_GE(loss, 0.3132) << key;  // the floor
  }
}

TEST_F(PaperCommand, TheSearchForAProtocolRanksWhatItTried) {
  const std::string command = "protocol --data nsl-kdd";
  const Result result = paper(command + " --out " + path("out"));
  EXPECT_EQ(result.exit_code, kDone) << result.out;
  expect_parts(result.out,
               {"double-softmax", "without lambda's part", "bias=off, scale=unit",
                "96 protocols were tried on 3 seeds", "momentum", "adam, TO's rates too"});
  for (const char* name : {"protocol-nsl-kdd-quick.md", "protocol-nsl-kdd-quick.csv"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / name)) << name;
  }
  double last = 0;
  std::size_t protocols = 0;
  std::map<std::string, std::size_t> budgets;
  for (const auto& line : json_lines(paper(command + " --json").out)) {
    if (line["event"] == "equal budget") ++budgets[line["protocol"]];
    if (line["event"] != "protocol") continue;
    ++protocols;
    EXPECT_GE(line["distance"].get<double>(), last);
    last = line["distance"];
    EXPECT_EQ(line["cells"].size(), 4U);  // two lambdas, Diag-TO and RO-TO
  }
  EXPECT_EQ(protocols, 96U);
  // Five comparisons for each lambda: three with Adam, two with alpha = 0.
  EXPECT_EQ(budgets, (std::map<std::string, std::size_t>{{"nearest", 10}, {"ours", 10}}));
  expect_refused(command + " --start zeros", {"--start is not an option of protocol"});
  expect_refused(command + " --report-loss data", {"--report-loss is not an option of protocol"});
}

TEST_F(PaperCommand, ADataSetThatIsNotThereIsNamed) {
  const Result result = paper("ffn --data covtype", true);
  EXPECT_EQ(result.exit_code, kData);
  expect_parts(result.out, {"ffn-covtype-quick", "no data", "covtype"});
}

TEST_F(PaperCommand, WhatCannotBeIsRefused) {
  expect_refused("strongly-convecks",
                 {"Unknown experiment 'strongly-convecks'", "did you mean 'strongly-convex'"});
  expect_refused("resnet", {"Unknown experiment 'resnet'", "did you mean 'resnet18'"});
  expect_refused("resnet18 --start zeros", {"Invalid --start zeros", "a net"});
  expect_refused("ffn --start zeros", {"Invalid --start zeros", "a net"});
  expect_refused("ffn --data mnist", {"Invalid --data", "ffn"});
  expect_refused("ffn --budget huge", {"huge"});
  expect_refused("ffn --loss hinge", {"hinge", "double-softmax"});
  expect_refused("resnet18 --loss double-softmax", {"Invalid loss", "resnet18"});
  expect_refused("ffn --data-option bias", {"--data-option", "bias"});
  expect_refused("ffn --data-option bias=a/b", {"'a/b'", "without /"});
  expect_refused("protocol --data-option bias=off", {"--data-option is not an option of protocol"});
  expect_refused("protocol --epochs 3", {"--epochs is not an option of protocol"});
  expect_refused("ffn --epochs -1", {"--epochs"});
  expect_refused("ffn --epochs 2000000", {"--epochs", "1000000"});
  expect_refused("lambda --report-loss data", {"--report-loss is not an option of lambda"});
  expect_refused("lambda --static", {"--static is not an option of lambda"});
  expect_refused("memory", {"is not an option of memory"});
  expect_refused("", {"is not an option of the list"});
  // Before any work: there is no store yet.
  expect_refused("strongly-convex --data nsl-kdd --out " + path("KDDTest+.txt"),
                 {"--out: cannot make the folder", "KDDTest+.txt"});
  EXPECT_FALSE(std::filesystem::exists(path("runs.db")));
  expect_refused("ffn --data nsl-kdd --data-option bais=off", {"bais", "did you mean 'bias'"});
}

}  // namespace
}  // namespace tandem::cli
