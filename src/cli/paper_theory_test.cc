// SPDX-License-Identifier: MIT
// `tandem paper theory` as a user meets it: constants of one's own, experiments, files, bad input.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/test_process.h"
#include "cli/test_program.h"
#include "report/render.h"
#include "study/test_rows.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

class PaperTheory : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("TANDEM_DATA"); }

  static Result theory(const std::string& arguments, bool with_errors = false) {
    return program("paper theory " + arguments, with_errors);
  }
  static void expect_refused(const std::string& arguments, const std::vector<std::string>& parts) {
    const Result result = theory(arguments, true);
    expect_end(result, kUsage, parts);
    EXPECT_EQ(result.out.rfind("tandem: ", 0), 0U) << result.out;
  }
  /// A KDDTest+.txt of 60 lines, in which attacks last longer.
  std::string small_kdd() {
    std::filesystem::create_directories(folder_ / "data/nsl-kdd");
    std::ofstream file(folder_ / "data/nsl-kdd/KDDTest+.txt");
    for (int n = 0; n < 60; ++n) {
      file << n % 7 + 4 * (n % 2) << ",tcp,http,SF";
      for (int column = 4; column < 41; ++column) file << "," << (n + column) % 3;
      file << (n % 2 == 0 ? ",normal,21\n" : ",neptune,3\n");
    }
    return (folder_ / "data").string();
  }

  tests::TempFolder folder_;
};

TEST_F(PaperTheory, IsInTheList) {
  bool found = false;
  for (const auto& line : json_lines(program("paper --json").out)) {
    found = found || line["name"] == "theory";
  }
  EXPECT_TRUE(found);
}

TEST_F(PaperTheory, CertifiedRatesForConstantsOfOnesOwn) {
  const Result text = theory("--c 0.5 --L 1 --Dw 1 --DG 2");
  EXPECT_EQ(text.exit_code, kDone);
  expect_parts(text.out, {"Rates, certified. All conditions hold: Theorem 1 does.", "1/c < gamma",
                          "D_hat", "M2"});

  const auto one = json_lines(theory("--json --c 0.5 --L 1 --Dw 1 --DG 2 --DV 3").out);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]["event"], "rates");
  EXPECT_EQ(one[0]["kind"], "certified");
  EXPECT_EQ(one[0]["theorem"], 1);
  EXPECT_EQ(one[0]["holds"], true);
  EXPECT_EQ(one[0]["gamma"], 4);
  EXPECT_EQ(one[0]["D_V"], 3);
  EXPECT_GT(one[0]["M1"], 0);
  EXPECT_EQ(one[0]["conditions"].size(), 7U);

  const auto two = json_lines(theory("--json --L 1 --Dw 1 --DG 2").out);
  EXPECT_EQ(two[0]["theorem"], 2);
  EXPECT_EQ(two[0]["holds"], true);
  EXPECT_TRUE(two[0]["M1"].is_null());
  EXPECT_EQ(two[0]["D_F"], 4);
  EXPECT_GT(two[0]["M4"], two[0]["M3"]);
  const auto drop = json_lines(theory("--json --L 1 --Dw 1 --DG 2 --DF 0.5").out);
  EXPECT_EQ(drop[0]["D_F"], 0.5);
  EXPECT_LT(drop[0]["M3"], two[0]["M3"]);
  EXPECT_TRUE(two[0]["c"].is_null());
}

TEST_F(PaperTheory, SaysWhichConditionsOwnRatesFail) {
  const std::string own = "--c 0.5 --L 1 --Dw 1 --DG 2 --gamma 1 --beta 4 --alpha 0 --mu 5";
  const Result text = theory(own);
  EXPECT_EQ(text.exit_code, kDone);
  expect_parts(text.out, {"Rates, own. Outside Theorem 1: 1/c < gamma fails: 2 is not below 1"});
  const auto lines = json_lines(theory("--json " + own).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["kind"], "own");
  EXPECT_EQ(lines[1]["holds"], false);
  EXPECT_EQ(lines[1]["conditions"][0]["holds"], false);
  EXPECT_TRUE(lines[1]["conditions"][1]["left"].is_null());  // infinite
  EXPECT_EQ(lines[1]["conditions"][2]["holds"], true);
}

TEST_F(PaperTheory, BadInputIsNamed) {
  expect_refused("--c -1 --L 1 --Dw 1 --DG 2", {"c is -1; expected a finite number > 0"});
  expect_refused("--c 2 --L 1 --Dw 1 --DG 2", {"c is 2; expected at most L = 1"});
  expect_refused("--c 0.5 --L nan --Dw 1 --DG 2", {"--L: found 'nan', expected a finite number"});
  expect_refused("--c half --L 1 --Dw 1 --DG 2", {"--c", "half"});
  expect_refused("--c 0.5 --L 1 --DG 2", {"--Dw is missing", "--L, --Dw, --DG"});
  expect_refused("--gamma 1", {"--L is missing"});
  expect_refused("--L 1 --Dw 1 --DG 2 --gamma 1 --beta 2", {"--alpha is missing"});
  expect_refused("--L 1 --Dw 1 --DG 2 --gamma 1 --beta 2 --alpha -1 --mu 3",
                 {"alpha is -1; expected a finite number >= 0"});
  expect_refused("--L 1 --Dw 1 --DG 2 --out " + (folder_ / "out").string(), {"--out"});
  expect_refused("--bta 4", {"Unknown argument '--bta'", "--beta"});
  expect_refused("--budget huge", {"--budget", "huge"});
  expect_refused("convex", {"Found 'convex' beside theory"});
  expect_refused("--store x.db", {"--store is not an option of theory"});
  expect_refused("--steps 10", {"steps is 10; expected 100 or more"});
  expect_refused("--steps 100 --repetitions 1", {"repetitions is 1"});
  std::ofstream(folder_ / "file") << "x";
  expect_refused("--out " + (folder_ / "file").string(), {"--out", "file"});
  expect_refused("--out " + (folder_ / "file/sub").string(), {"--out", "file/sub"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(PaperTheory, ExperimentsAsJsonAndFiles) {
  const std::filesystem::path out = folder_ / "out";
  const Result result = theory("--json --steps 200 --repetitions 3 --data-dir " + small_kdd() +
                               " --out " + out.string());
  ASSERT_EQ(result.exit_code, kDone);
  std::vector<std::string> experiments;
  std::size_t methods = 0;
  for (const auto& line : json_lines(result.out)) {
    if (line["event"] == "constants") {
      experiments.push_back(line["experiment"]);
      EXPECT_EQ(line["holds"],
                line["experiment"] == "certified" || line["experiment"] == "nonconvex");
      EXPECT_EQ(line["theorem"], line["experiment"] == "nonconvex" ? 2 : 1);
      if (line["experiment"] == "certified") {
        EXPECT_LE(line["L"], 2 * line["c"].get<double>());
      }
    }
    if (line["event"] != "theory") continue;
    ++methods;
    EXPECT_EQ(line["steps"], 200);
    EXPECT_EQ(line["repetitions"], 3);
    for (const char* slope : {"slope_weights", "slope_estimate"}) {
      EXPECT_LE(line[slope]["low"], line[slope]["high"]);
      EXPECT_TRUE(line[slope]["value"].is_number());
    }
    if (line["certified"]) {
      EXPECT_TRUE(line["experiment"] == "certified" || line["experiment"] == "nonconvex");
    }
    EXPECT_EQ(line.contains("least"), line["experiment"] == "nonconvex");
  }
  EXPECT_EQ(experiments,
            (std::vector<std::string>{"certified", "nsl-kdd", "generated", "nonconvex"}));
  EXPECT_EQ(methods, 4 * 7U);
  EXPECT_EQ(json_lines(result.out).back()["event"], "done");

  expect_parts(contents(out / "theory.md"),
               {"tandem paper theory --budget quick --steps 200 --repetitions 3\n", "- tandem: 0.",
                "- machine: ", "- time: ", "(a) Certified rates", "on NSL-KDD, outside the theorem",
                "generated rows, outside the theorem", "| full-to |", "Full-TO's curves differ",
                "(c) Theorem 2, not convex", "so the projection never acts",
                "All conditions hold: Theorem 2 does.", "| full-to | 20 |", "| full-to | 200 |"});
  const std::string csv = contents(out / "theory.csv");
  expect_parts(csv, {"experiment,method,step,", "certified,full-to,200,", "nsl-kdd,ro-to,1,",
                     "generated,\"adam, rate 1/t\",200,"});
  for (const char* name : {"theory-certified-weights.svg", "theory-certified-estimate.svg",
                           "theory-nsl-kdd-weights.svg", "theory-generated-estimate.svg",
                           "theory-nonconvex-gradient.svg", "theory-nonconvex-estimate.svg"}) {
    EXPECT_EQ(std::filesystem::exists(out / name), report::figures_available()) << name;
  }
}

TEST_F(PaperTheory, WithoutRealDataItSaysSo) {
  if (std::filesystem::exists("/usr/share/datasets/nsl-kdd")) GTEST_SKIP() << "there are data";
  const std::filesystem::path out = folder_ / "out";
  const Result result = theory("--steps 100 --repetitions 2 --out " + out.string());
  EXPECT_EQ(result.exit_code, kDone);
  for (const std::string& text : {result.out, contents(out / "theory.md")}) {
    expect_parts(text, {"(b) Milder rates on NSL-KDD: no data", "KDDTest+.txt",
                        "(b) Milder rates on generated rows", "no real data"});
  }
  bool told = false;
  for (const auto& line : json_lines(theory("--json --steps 100 --repetitions 2").out)) {
    told = told || (line["event"] == "no data" && line["experiment"] == "nsl-kdd");
  }
  EXPECT_TRUE(told);
}

TEST_F(PaperTheory, SeedsAndThreads) {
  const auto methods = [](const std::string& more) {
    std::vector<nlohmann::json> lines;
    for (auto& line : json_lines(theory("--json --steps 100 --repetitions 2 " + more).out)) {
      if (line["event"] == "theory") lines.push_back(line);
    }
    return lines;
  };
  const auto first = methods("--threads 1");
  ASSERT_GE(first.size(), 14U);
  EXPECT_EQ(methods("--threads 3"), first);
  EXPECT_NE(methods("--seed 2"), first);
}

TEST_F(PaperTheory, CtrlCEndsIt) {
  const std::filesystem::path out = folder_ / "out";
  EXPECT_EQ(
      exit_code_of_ctrl_c({"paper", "theory", "--steps", "100000000", "--out", out.string()}, out),
      kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

}  // namespace
}  // namespace tandem::cli
