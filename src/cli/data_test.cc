// SPDX-License-Identifier: MIT
// `tandem data` as a user meets it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/test_program.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

class DataCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TANDEM_DATA", folder_.c_str(), 1);
    std::ofstream(folder_ / "set") << "1 1:1\n2 2:1\n1 1:2 2:1\n";
    std::ofstream(folder_ / "bad") << "1 1:1\n2 0:1\n";
  }

  static void expect_error(const std::string& arguments, int exit_code,
                           const std::vector<std::string>& parts) {
    expect_end(program(arguments, true), exit_code, parts);
  }

  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
};

TEST_F(DataCommand, ListsTheDataSets) {
  const auto lines = json_lines(program("data list --json").out);
  ASSERT_EQ(lines.size(), 11U);
  EXPECT_EQ(lines[0]["name"], "mnist");
  EXPECT_EQ(lines[0]["files"].size(), 4U);
  EXPECT_EQ(lines[0]["found_in"], "");
  const Result table = program("data list");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("libsvm:PATH"), std::string::npos);
  EXPECT_NE(table.out.find(folder_.string()), std::string::npos);
}

TEST_F(DataCommand, DescribesADataSet) {
  const Result result = program("data describe libsvm:set --json --validation 0.34");
  EXPECT_EQ(result.exit_code, 0);
  const auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["event"], "notes");
  EXPECT_EQ(lines[1]["part"], "train");
  EXPECT_EQ(lines[1]["rows"], 2);
  EXPECT_EQ(lines[1]["features"], 3);
  EXPECT_EQ(lines[1]["class_counts"].size(), 2U);
  EXPECT_EQ(lines[2]["part"], "validation");
  const Result text = program("data describe libsvm:set --option form=sparse");
  EXPECT_NE(text.out.find("3 rows from"), std::string::npos);
  EXPECT_NE(text.out.find("sparse"), std::string::npos);
  EXPECT_EQ(program("data describe synthetic:rows=10 -q").exit_code, 0);
}

TEST_F(DataCommand, DescribesTexts) {
  std::filesystem::create_directory(folder_ / "alpaca");
  std::ofstream(folder_ / "alpaca/alpaca_data.json")
      << R"([{"instruction":"Say é","output":"é"},{"instruction":"Add","input":"1 2","output":"3"},)"
      << R"({"instruction":"Name one","output":"one"}])";
  const Result result =
      program("data describe alpaca --option template=plain --validation 0.34 --json");
  EXPECT_EQ(result.exit_code, 0);
  const auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1]["rows"], 2);
  EXPECT_EQ(lines[2]["rows"], 1);
  EXPECT_TRUE(lines[1]["prompt_characters"].contains("median"));
  EXPECT_TRUE(lines[1].contains("fingerprint"));
  const Result text = program("data describe alpaca");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("1 / 1 / 3"), std::string::npos) << text.out;
  EXPECT_EQ(program("data verify alpaca").exit_code, 0);
  expect_error("train --data alpaca --optimizer sgd --lr 0.1 --epochs 1", 2,
               {"'alpaca' has texts, not features", "--model llama:"});
  expect_error("train --data alpaca --model ffn:3 --optimizer sgd --lr 0.1 --epochs 1", 2,
               {"'alpaca' has texts, not features"});
  std::ofstream(folder_ / "bad.json") << R"([{"instruction":"a","output":1}])";
  expect_error("data describe alpaca:file=bad.json", 3,
               {"bad.json, item 1, key 'output'", "the number 1", "a text"});
}

TEST_F(DataCommand, TellsUsageFromDamage) {
  expect_error("data describe minst", 2, {"Unknown data set 'minst', did you mean 'mnist'?"});
  expect_error("data describe mnist --option pda=1", 2, {"Unknown option 'pda'", "'pad'"});
  expect_error("data describe mnist --option pad", 2, {"'pad'", "NAME=VALUE"});
  expect_error("data describe synthetic --validation 2", 2,
               {"--validation: found '2', expected a number from 0 to 0.9"});
  expect_error("data describe", 2, {"NAME"});
  expect_error("data descrbe mnist", 2, {"Unknown command 'descrbe', did you mean 'describe'?"});
  expect_error("data fetch libsvm", 2, {"no files to fetch"});
  expect_error("data describe libsvm:bad", 3, {"bad, line 2", "the index 0", "from 1"});
  expect_error("data describe libsvm:none", 3, {"none", "no such file"});
  expect_error("data describe covtype", 3, {"covtype.data", "tandem data fetch covtype"});
  expect_error("data fetch nsl-kdd", 3, {"unb.ca", "KDDTest+.txt", "--mirror"});
  expect_error("data fetch mnist --mirror http://127.0.0.1:9", 3,
               {"cannot download", "train-images-idx3-ubyte.gz", folder_.string() + "/mnist"});
}

TEST_F(DataCommand, VerifiesWhatIsThere) {
  EXPECT_EQ(program("data verify mnist").exit_code, 3);
  std::filesystem::create_directory(folder_ / "nsl-kdd");
  std::ofstream(folder_ / "nsl-kdd/KDDTest+.txt") << "changed\n";
  const Result result = program("data verify nsl-kdd --json");
  EXPECT_EQ(result.exit_code, 3);
  const auto lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["state"], "different");
}

TEST_F(DataCommand, ShowsAnExampleFirstInHelp) {
  for (const char* command : {"", " list", " describe", " verify", " fetch"}) {
    const Result result = program(std::string("data") + command + " --help");
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_EQ(result.out.rfind("Example: tandem data", 0), 0U) << command;
  }
}

}  // namespace
}  // namespace tandem::cli
