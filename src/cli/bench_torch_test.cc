// SPDX-License-Identifier: MIT
// `tandem bench torch`: its rows, and what it says where the plug-in is not what it should be.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "cli/test_program.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

/// Sets or (without a value) unsets a variable of the environment for a while.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    had_ = std::getenv(name) != nullptr;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~Environment() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

#ifdef TANDEM_TORCH_PLUGIN

TEST(BenchTorch, MeasuresOptimizersAndPopulations) {
  const Environment no_data("TANDEM_DATA", nullptr);
  const Result result = program("bench torch --quick --json --threads 1");
  ASSERT_EQ(result.exit_code, 0);
  std::map<std::string, std::set<std::string>> names;  // by part
  std::string notes;
  for (const auto& line : json_lines(result.out)) {
    if (line["event"] == "note") {
      notes += line["text"].get<std::string>() + "\n";
      continue;
    }
    names[line["part"]].insert(line["name"]);
    EXPECT_GE(line["value"], 0) << line;
    EXPECT_GT(line["reference"], 0) << line;
    EXPECT_GE(line["ratio"], 0) << line;
    // Both sides train the same model.
    if (line["target"] == "<= 0.001") {
      EXPECT_TRUE(line["met"]) << line;
    }
  }
  for (const char* name :
       {"Adam", "DiagonalTO", "RankOneTO", "AdamTO", "AdamW", "Momentum", "Adam: 19 MB a step",
        "torch::optim::Adam: 17 MB a step", "RankOneTO: 29 MB a step"}) {
    EXPECT_EQ(names["large"].count(name), 1U) << name;
  }
  EXPECT_EQ(names["small"].size(), 6U);
  EXPECT_EQ(names["softmax"].count("16 members of adam, generated, nsl-kdd's shape: 117 x 2"), 1U)
      << result.out;
  EXPECT_EQ(names["softmax"].size(), 4U);
  EXPECT_NE(notes.find("1 threads for both"), std::string::npos) << notes;
  EXPECT_NE(notes.find("LibTorch "), std::string::npos) << notes;
  EXPECT_NE(notes.find("mnist: generated data of its shape, because: "), std::string::npos)
      << notes;
}

#else

TEST(BenchTorch, MeasuresOptimizersAndPopulations) {
  GTEST_SKIP() << "the LibTorch part was not built (Debian: libtorch-dev)";
}

#endif

void expect_refusal(const std::string& folder, const std::string& message) {
  const Environment variable("TANDEM_PLUGIN_DIR", folder.c_str());
  const Result result = program("bench torch --quick", true);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find(message), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(folder), std::string::npos) << result.out;
}

TEST(Plugin, SaysWhereItWasLookedFor) {
  const tests::TempFolder folder;
  expect_refusal(folder.string(), "(Debian: libtorch-dev)");
  expect_refusal((folder / "nowhere").string(), "Found no tandem_torch_plugin.so in ");
  std::ofstream(folder / "tandem_torch_plugin.so") << "no library";
  expect_refusal(folder.string(), "Cannot load the plug-in ");
}

TEST(Plugin, IsRefusedWhereItIsOfAnotherBuild) {
  expect_refusal(TANDEM_OTHER_BUILD_DIR, "is of another build: tandem 0.0.1 of long ago, and ");
  expect_refusal(TANDEM_NO_ENTRY_DIR, "is no plug-in of tandem: it has no tandem_plugin_v1()");
}

}  // namespace
}  // namespace tandem::cli
