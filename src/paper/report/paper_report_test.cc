// SPDX-License-Identifier: MIT
// The paper's cells beside ours, raw rows as CSV, and the page.
#include "paper/report/paper_report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "study/study_file.h"
#include "tests/temp_folder.h"

namespace tandem::paper {
namespace {

using study::OptimizerRuns;
using study::Run;
using study::StudyRuns;

Run run_of(double loss, std::uint64_t seed, const std::string& lr) {
  return {.options = {{"lr", lr}},
          .seed = seed,
          .diverged = lr == "9",
          .points = {{.epoch = 0, .train_loss = 9},
                     {.epoch = 1,
                      .gradient_evaluations = 7,
                      .seconds = 0.5,
                      .train_loss = loss,
                      .data_loss = 0.7}}};
}

OptimizerRuns runs_of(const std::string& label, double loss) {
  OptimizerRuns runs{.label = label, .method = label, .baseline = label == "adam"};
  runs.grid = {{"lr", {"0.1", "9"}}};
  runs.tuned = {run_of(loss, 0, "0.1"), run_of(loss, 0, "9")};
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    runs.measured.push_back(run_of(loss + 0.01 * static_cast<double>(seed), seed, "0.1"));
  }
  return runs;
}

StudyRuns made_study() {
  StudyRuns study{.name = "made", .complete = true, .epochs = 1, .seeds = {1, 2}};
  study.text = study::canonical_text(study::parse_study(
      "[[task]]\ndata = \"synthetic\"\n[[optimizer]]\nname = \"adam\"\nbaseline = true\n"
      "lr = [0.1, 9]\n[[optimizer]]\nname = \"diag-to\"\nlr = [0.1, 9]\n[[optimizer]]\n"
      "name = \"saga\"\nlr = [0.1, 9]\n[[optimizer]]\npart_of = \"diag-to\"\n"
      "label = \"a, part\"\nablation = true\nlr = 0.1\n",
      "made.toml"));
  study.version = "1.2";
  study.machine = "a machine";
  OptimizerRuns part = runs_of("a, part", 0.9);
  part.ablation = true;
  study.tasks.push_back(
      {.name = "kdd task",
       .data = "nsl-kdd",
       .model = "logistic",
       .lambda = 0.97,
       .optimizers = {runs_of("adam", 1), runs_of("diag-to", 0.8), runs_of("saga", 1.1), part}});
  return study;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string unpacked(const std::filesystem::path& path) {
  const auto source = data::open_source(path);
  std::vector<std::uint8_t> bytes(std::size_t{1} << 20);
  bytes.resize(source->read(bytes));
  return {bytes.begin(), bytes.end()};
}

TEST(PaperReport, OursStandsBesideThePapers) {
  const std::string table = beside_paper(compare(made_study()), {"missing task"}).markdown();
  EXPECT_NE(table.find("| task"), std::string::npos);
  EXPECT_EQ(table.find("adam |"), std::string::npos);            // the baseline has no column
  EXPECT_NE(table.find("(+16 +)"), std::string::npos) << table;  // Table 2, KDD, lambda 1
  EXPECT_NE(table.find("-98"), std::string::npos) << table;      // ours of saga, no cell there
  EXPECT_NE(table.find("| missing task | no data"), std::string::npos) << table;
  const std::string nothing = beside_paper({}, {"missing task"}).markdown();
  EXPECT_NE(nothing.find("| missing task | no data |"), std::string::npos) << nothing;
}

TEST(PaperReport, EffortCountsEachRunOnce) {
  const Effort effort = effort_of(made_study());
  EXPECT_EQ(effort.members, 6U);  // the part's are those of the whole
  EXPECT_EQ(effort.runs, 6U);
  EXPECT_EQ(effort.member_epochs, 12);
  EXPECT_EQ(effort.seconds, 6);
}

TEST(PaperReport, WritesThePageAndRawRows) {
  const tests::TempFolder temp;
  const std::filesystem::path folder = temp / "results";
  const auto page = write_paper(folder, "kdd",
                                {.title = "Tables",
                                 .command = "tandem paper x",
                                 .note = "A note.",
                                 .studies = {made_study()},
                                 .missing = {{"other", "no file\nsecond line"}}});
  EXPECT_EQ(page, folder / "kdd.md");
  const std::string text = text_of(page);
  for (const char* part :
       {"# Tables\n", "tandem paper x\n", "A note.", "tandem 1.2, a machine.", "(+16 +)",
        "other: no data. no file\n", "## Ablations", "Of 1 task,", "lr 0.1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const std::string runs = unpacked(folder / "made-runs.csv.gz");
  EXPECT_EQ(
      runs.find(
          "task,optimizer,seed,epoch,gradient_evaluations,train_loss,data_loss,validation_loss\n"),
      0U);
  EXPECT_NE(runs.find("kdd task,diag-to,2,1,7,0.82,0.7,0\n"), std::string::npos) << runs;
  EXPECT_NE(runs.find("kdd task,\"a, part\",1,1,7,0.91,0.7,0\n"), std::string::npos) << runs;
  const std::string grid = unpacked(folder / "made-grid.csv.gz");
  EXPECT_EQ(grid,
            "task,optimizer,lr,least_train_loss,outcome\n"
            "kdd task,adam,0.1,1,finished\nkdd task,adam,9,,diverged\n"
            "kdd task,diag-to,0.1,0.8,finished\nkdd task,diag-to,9,,diverged\n"
            "kdd task,saga,0.1,1.1,finished\nkdd task,saga,9,,diverged\n");
}

}  // namespace
}  // namespace tandem::paper
