// SPDX-License-Identifier: MIT
// `tandem report` as a user meets it: its formats and files, and stores that have nothing to tell.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_program.h"
#include "report/render.h"
#include "report/web_assets.h"
#include "store/store.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

/// Two tasks, and a grid of which some diverge and whose best is at an end.
std::string study_text(const std::string& name, const std::string& more = "") {
  return fmt::format(R"(
name = "{}"
epochs = 4
seeds = [1, 2, 3]
{}
[[task]]
data = "synthetic:rows=120,features=4,noise=0.1,seed=5"
lambda = [0.1, 0.01]
batch = 10
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]
[[optimizer]]
name = "diag-to"
label = "mine & <yours>"
lr = [0.02, 0.2, 1e9]
)",
                     name, more);
}

/// One store for all tests, since they only read it: a study, and one that is pruned.
class ReportCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new tests::TempFolder();
    std::ofstream(*folder_ / "first.toml") << study_text("first");
    std::ofstream(*folder_ / "second.toml") << study_text("../second", "prune = 2");
    for (const char* name : {"first.toml", "second.toml"}) {
      ASSERT_EQ(program(fmt::format("study {} --store {}", path(name), path("runs.db"))).exit_code,
                kDone);
    }
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string path(const std::string& name) { return (*folder_ / name).string(); }
  static Result report(const std::string& arguments, bool with_errors = false) {
    return program("report --store " + path("runs.db") + " " + arguments, with_errors);
  }

  static inline tests::TempFolder* folder_ = nullptr;
};

TEST_F(ReportCommand, Terminal) {
  const Result result = report("--study first");
  EXPECT_EQ(result.exit_code, kDone);
  expect_parts(result.out, {"least loss", "rho x 1e3", "p (Holm)", "gap to F*", "baseline",
                            "at equal seconds", "lambda=0.1 ", "lambda=0.01 ", "mine & <yours>"});
  EXPECT_EQ(result.out.find("(pruned)"), std::string::npos);
  const Result words = report("--study first", true);
  expect_parts(words.out, {"Tuned on seed 0, measured on 3 others"});
  EXPECT_EQ(words.out.find("not complete"), std::string::npos);
  EXPECT_EQ(report("--study first -q", true).out, "");
}

TEST_F(ReportCommand, Markdown) {
  const Result result = report("--study first --format markdown");
  EXPECT_EQ(result.exit_code, kDone);
  expect_parts(result.out, {"| task", "| adam", "| mine & &lt;yours>", "---:"});
}

TEST_F(ReportCommand, Latex) {
  const Result result = report("--study first --format latex");
  EXPECT_EQ(result.exit_code, kDone);
  expect_parts(result.out, {"\\begin{tabular}", "\\toprule", "\\bottomrule", "mine \\& "});
}

TEST_F(ReportCommand, CsvIsOneTableWithARowForEachTaskAndOptimizer) {
  const Result result = report("--study first --format csv");
  EXPECT_EQ(result.exit_code, kDone);
  EXPECT_EQ(result.out.rfind("task,optimizer,least loss,", 0), 0U) << result.out;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 5);
}

TEST_F(ReportCommand, JsonHasTheKeysOfTheDesign) {
  const Result result = report("--study first --json");
  EXPECT_EQ(result.exit_code, kDone);
  const auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 4U);
  for (const auto& line : lines) {
    for (const char* key : {"study", "data", "model", "lambda", "optimizer", "options", "edge",
                            "rho", "mark", "s", "p", "interval", "min_loss", "gap", "diverged",
                            "members", "gradient_evaluations", "seconds", "state_bytes"}) {
      EXPECT_TRUE(line.contains(key)) << key;
    }
    EXPECT_EQ(line["study"], "first");
    EXPECT_EQ(line["min_loss"].size(), 3U);
    for (const auto& gap : line["gap"]) EXPECT_GT(gap, 0);
    EXPECT_EQ(line["gradient_evaluations"], 4 * 120);
  }
  EXPECT_EQ(lines[0]["lambda"], 0.1);
  EXPECT_EQ(lines[2]["lambda"], 0.01);
  EXPECT_TRUE(lines[0]["rho"].is_null());
  EXPECT_TRUE(lines[1]["rho"].is_number());
  EXPECT_EQ(lines[1]["optimizer"], "mine & <yours>");
  EXPECT_EQ(lines[1]["members"], 3);
  EXPECT_EQ(lines[1]["diverged"], 1);
}

TEST_F(ReportCommand, PruningIsMarkedInEveryOutput) {
  for (const char* format : {"terminal", "markdown", "latex", "csv"}) {
    expect_parts(report(fmt::format("--study ../second --format {}", format)).out, {"(pruned)"});
  }
  for (const auto& line : json_lines(report("--study ../second --json").out)) {
    EXPECT_EQ(line["pruned"], true);
  }
  expect_parts(report("--study ../second", true).out, {"pruned by successive halving"});
  ASSERT_EQ(report("--study ../second --html " + path("pruned.html")).exit_code, kDone);
  expect_parts(contents(path("pruned.html")), {"(pruned)", "pruned by successive halving"});
  const Result plan =
      program("study " + path("second.toml") + " --dry-run --store " + path("none.db"), true);
  expect_parts(plan.out, {"pruned by successive halving"});
}

TEST_F(ReportCommand, HtmlIsOnePageWithTablesFiguresCommandAndMachine) {
  const Result result = report("--study first --static --html " + path("first.html"));
  EXPECT_EQ(result.exit_code, kDone);
  const std::string page = contents(path("first.html"));
  expect_parts(page, {"<title>", "first", "<table", "mine &amp; &lt;yours&gt;", "F* = ",
                      "tandem study first.toml --store runs.db", "machine", "Content-Security"});
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<yours>"), std::string::npos);
  if (report::figures_available()) {
    EXPECT_NE(page.find("<svg"), std::string::npos);
  }
}

TEST_F(ReportCommand, HtmlIsInteractiveWhereThereIsAFrontEnd) {
  const Result result = report("--html " + path("both.html"), true);
  EXPECT_EQ(result.exit_code, kDone);
  const std::string page = contents(path("both.html"));
  expect_parts(page, {"<title>Studies</title>", "first", "../second"});
  EXPECT_EQ(page.find("<yours>"), std::string::npos);
  if (report::web_available()) {
    expect_parts(page, {"id=\"tandem-data\"", "script-src 'sha256-", "<table"});
  } else {
    expect_parts(result.out, {"static", "without node"});
    EXPECT_EQ(page.find("<script"), std::string::npos);
  }
}

TEST_F(ReportCommand, Figures) {
  if (!report::figures_available()) GTEST_SKIP() << "gnuplot was not found";
  const auto folder = *folder_ / "figures";
  EXPECT_EQ(report("--study first --figures " + folder.string()).exit_code, kDone);
  std::size_t svgs = 0;
  std::size_t pngs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string content = contents(entry.path());
    if (entry.path().extension() == ".svg") {
      EXPECT_NE(content.find("<svg"), std::string::npos);
      ++svgs;
    } else {
      EXPECT_EQ(content.rfind("\x89PNG", 0), 0U) << entry.path();
      ++pngs;
    }
  }
  EXPECT_EQ(svgs, pngs);
  EXPECT_GE(svgs, 2U * 6);  // of two tasks
}

TEST_F(ReportCommand, FiguresOfSeveralStudiesStayInTheFolder) {
  if (!report::figures_available()) GTEST_SKIP() << "gnuplot was not found";
  const auto folder = *folder_ / "deep" / "figures";
  EXPECT_EQ(report("--figure-formats svg --figures " + folder.string()).exit_code, kDone);
  EXPECT_TRUE(std::filesystem::is_directory(folder / "first"));
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "deep" / "second"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

TEST_F(ReportCommand, AllStudiesUnlessOneIsNamed) {
  EXPECT_EQ(json_lines(report("--json").out).size(), 8U);
  EXPECT_EQ(json_lines(report("--json --study first").out).size(), 4U);
}

TEST_F(ReportCommand, Trouble) {
  Result result = program("report --store " + path("absent.db"), true);
  EXPECT_EQ(result.exit_code, kData);
  expect_parts(result.out, {"tandem: ", "absent.db"});
  EXPECT_FALSE(std::filesystem::exists(path("absent.db")));
  result = report("--study frist", true);
  EXPECT_EQ(result.exit_code, kUsage);
  expect_parts(result.out, {"Unknown study 'frist'", "did you mean 'first'?"});
  EXPECT_EQ(report("--format word", true).exit_code, kUsage);
  EXPECT_EQ(report("--figures x --figure-formats gif", true).exit_code, kUsage);
  { store::Store::open(path("empty.db"), store::Store::Mode::write); }
  result = program("report --store " + path("empty.db"), true);
  EXPECT_EQ(result.exit_code, kFailed);
  expect_parts(result.out, {"empty.db has no studies"});
  result = program("report --study first --store " + path("empty.db"), true);
  EXPECT_EQ(result.exit_code, kUsage);
  expect_parts(result.out, {"which has none"});
}

TEST_F(ReportCommand, AStudyThatIsNotCompleteSaysSo) {
  {
    store::Store store = store::Store::open(path("part.db"), store::Store::Mode::write);
    const store::Study study = store.ensure_study(
        {.name = "part", .text = "{}", .fingerprint = "f", .epochs = 1, .seeds = {1, 2}});
    const store::Task task = store.ensure_task(
        {.study_id = study.id, .key = "t", .data = "d", .model = "logistic", .batch = 1});
    store.add_units(study.id, {{.task_id = task.id, .key = "u", .optimizer = "adam"}});
    store.add_units(study.id, {{.task_id = task.id, .key = "v", .optimizer = "sgd"}});
    const auto unit = store.lease(study.id, "me", 60);
    store.finish(*unit,
                 {{.optimizer = "adam",
                   .method = "adam",
                   .options = {{"lr", "1"}},
                   .points = {{.epoch = 0, .train_loss = 2}, {.epoch = 1, .train_loss = 1}}}});
  }
  const std::string command = "report --store " + path("part.db") + " ";
  const Result result = program(command, true);
  EXPECT_EQ(result.exit_code, kDone);
  expect_parts(result.out, {"The study is not complete"});
  for (const auto& line : json_lines(program(command + "--json").out)) {
    EXPECT_EQ(line["measured"], 0);
    EXPECT_TRUE(line["rho"].is_null());
  }
  EXPECT_EQ(program(command + "--html " + path("part.html")).exit_code, kDone);
  expect_parts(contents(path("part.html")), {"nothing was measured", "not complete"});
}

}  // namespace
}  // namespace tandem::cli
