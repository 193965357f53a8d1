// SPDX-License-Identifier: MIT
// Values of options that the program must refuse.
#include "cli/values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/test_program.h"

namespace tandem::cli {
namespace {

struct NumberOption {
  std::string command, name, type;
};

/// All options of the program that take a number, as its help has them.
std::vector<NumberOption> number_options() {
  std::vector<NumberOption> options;
  for (const char* command : {"",
                              "demo",
                              "train",
                              "study",
                              "paper",
                              "paper theory",
                              "report",
                              "export csv",
                              "optimizers",
                              "bench step",
                              "bench population",
                              "bench torch",
                              "bench deep",
                              "bench store",
                              "bench runs",
                              "data describe",
                              "data fetch",
                              "optimum",
                              "finetune",
                              "runs list",
                              "serve"}) {
    const std::string help = program(std::string(command) + " --help").out;
    const std::regex option("(?:^|\n)  (--[A-Za-z-]+) (UINT|INT|FLOAT)");
    for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end; ++found) {
      options.push_back({command, (*found)[1], (*found)[2]});
    }
  }
  return options;
}

TEST(Values, EveryNumberIsReadStrictly) {
  const std::vector<NumberOption> options = number_options();
  EXPECT_GE(options.size(), 50U);
  for (const NumberOption& option : options) {
    // The others are tried below, with the checks alone: starting the program takes its time.
    const std::vector<std::string> wrong =
        option.type == "FLOAT" ? std::vector<std::string>{"nan", "+5"}
        : option.type == "INT" ? std::vector<std::string>{"010", "0x10"}
                               : std::vector<std::string>{"-1", "010", "99999999999999999999999"};
    for (const std::string& value : wrong) {
      const std::string words = option.command + " " + option.name + "=" + shell_word(value);
      const Result result = program(words, true);
      EXPECT_EQ(result.exit_code, kUsage) << words;
      expect_parts(result.out, {"tandem: " + option.name + ": found '" + value + "', expected"});
    }
  }
}

TEST(Values, TheRangeIsTold) {
  const auto expect = [](const std::string& words, const std::string& message) {
    const Result result = program(words, true);
    EXPECT_EQ(result.exit_code, kUsage) << words;
    expect_parts(result.out, {message});
  };
  expect("train --data x --epochs -1",
         "--epochs: found '-1', expected a whole number from 1 to 1000000000\n");
  expect("train --data x --epochs 0", "--epochs: found '0', expected a whole number from 1 to");
  expect("train --data x --seed 99999999999999999999999999",
         "expected a whole number from 0 to 18446744073709551615\n");
  expect("train --data x --memory -1", "expected a whole number from 0 to 1099511627776\n");
  expect("paper lambda --memory 1099511627777",
         "expected a whole number from 0 to 1099511627776\n");
  expect("train --data x --lambda -0.5", "--lambda: found '-0.5', expected a number of 0 or more");
  expect("train --data x --validation 0.95", "expected a number from 0 to 0.9");
  expect("serve --port 65536", "0 to 65535");
}

TEST(Values, TheLargestSeedIsASeed) {
  const Result result = program(
      "train --json --epochs 1 --data synthetic:rows=64,features=2 --seed 18446744073709551615");
  EXPECT_EQ(result.exit_code, kDone);
}

TEST(Values, AreNotEmpty) {
  for (const char* words : {"study x.toml --store ''", "report --store ''", "runs list --store ''",
                            "study ''", "report --html ''", "optimum --lambda 1 --data ''",
                            "train --data x --checkpoint ''", "serve --store ''"}) {
    const Result result = program(words, true);
    EXPECT_EQ(result.exit_code, kUsage) << words;
    expect_parts(result.out, {": found an empty text"});
  }
  expect_end(program("train --data x --epochs ''", true), kUsage, {"--epochs: found ''"});
}

TEST(Values, OfFlagsToo) { EXPECT_EQ(program("optimizers --json=xyz", true).exit_code, kUsage); }

// The same numbers, where they do not come from the command line.
TEST(Values, InNamesAndTextsToo) {
  const auto expect = [](const std::string& words) {
    const Result result = program("train --epochs 1 --data " + words, true);
    EXPECT_EQ(result.exit_code, kUsage) << words << ": " << result.out;
  };
  const std::string data = "synthetic:rows=64,features=2";
  expect("synthetic:rows=-1");
  expect("synthetic:rows=99999999999999999999999999");
  expect("synthetic:rows=0x10");
  expect("synthetic:rows=1e3");
  expect("synthetic:rows=");
  expect(data + " --optimizer block-to --option block=-1");
  expect(data + " --optimizer block-to --option block=0x4");
  expect(data + " --optimizer block-to --option block=99999999999999999999999999");
  expect(data + " --optimizer adam --option beta1=nan");
  expect(data + " --lr inf");
  expect(data + " --lr 0x1p3");
  expect(data + " --model ffn:-1");
  expect(data + " --model ffn:99999999999999999999999999");
}

TEST(Values, Checks) {
  for (const char* text : {"", " 5", "5 ", "+5", "0x10", "five", "5five", "0,5", "nan", "inf",
                           "-inf", "1e999", "0x1p3", "--5", "5\n"}) {
    std::string value = text;
    EXPECT_NE(number(-kMostNumber, kMostNumber)(value), "") << text;
    EXPECT_NE(whole(0, UINT64_MAX)(value), "") << text;
  }
  for (const char* text : {"010", "00", "1e3", "5.0", "-1", "-0", "-99999999999999999999999999"}) {
    std::string value = text;
    EXPECT_NE(whole(0, UINT64_MAX)(value), "") << text;
  }
  const auto said = [](const CLI::Validator& check, std::string text) { return check(text); };
  EXPECT_EQ(said(whole(1, 10), "1"), "");
  EXPECT_EQ(said(whole(1, 10), "10"), "");
  EXPECT_NE(said(whole(1, 10), "11"), "");
  EXPECT_EQ(said(whole(0, UINT64_MAX), "18446744073709551615"), "");
  EXPECT_NE(said(whole(0, UINT64_MAX), "18446744073709551616"), "");
  EXPECT_EQ(said(number(0, 0.9), "0.9"), "");
  EXPECT_EQ(said(number(0, 0.9), "9e-1"), "");
  EXPECT_EQ(said(number(0, 0.9), ".5"), "");
  EXPECT_NE(said(number(0, 0.9), "0.91"), "");
}

}  // namespace
}  // namespace tandem::cli
