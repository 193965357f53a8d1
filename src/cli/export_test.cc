// SPDX-License-Identifier: MIT
// `tandem export` and `tandem train --tensorboard` as a user meets them. tests/tensorboard_reader.py
// reads what they write with protobuf's own reader.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/test_program.h"
#include "export/test_reader.h"
#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using exporting::tests::Fields;
using store::Phase;
using store::Store;

/// The scalars of a run's folder: step and value by tag, in the order of files and records.
std::map<std::string, std::vector<std::pair<std::int64_t, float>>> scalars_of(const fs::path& run) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (entry.is_regular_file()) files.insert(entry.path());
  }
  std::map<std::string, std::vector<std::pair<std::int64_t, float>>> scalars;
  for (const fs::path& path : files) {
    std::ifstream stream(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    for (const std::string& record : exporting::tests::records(bytes)) {
      const Fields event(record);
      if (!event.texts.contains(5)) continue;
      const Fields summary = event.inside(5);
      for (std::size_t i = 0; i < summary.texts.at(1).size(); ++i) {
        const Fields value = summary.inside(1, i);
        if (!value.numbers.contains(2)) continue;
        const auto step = static_cast<std::int64_t>(event.numbers.at(2).at(0));
        scalars[value.texts.at(1).at(0)].emplace_back(step, value.real32(2));
      }
    }
  }
  return scalars;
}

/// The steps of a tag.
std::vector<std::int64_t> steps_of(const fs::path& run, const std::string& tag = "loss/train") {
  std::vector<std::int64_t> steps;
  auto scalars = scalars_of(run);
  for (const auto& [step, value] : scalars[tag]) steps.push_back(step);
  return steps;
}

class ExportCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = (folder_ / "runs.db").string();
    fill("kdd");
  }

  /// Two settings on the tuning seed, one of which diverged, and one measured. The names are made
  /// to lead out of the folder.
  void fill(const std::string& name) const {
    Store store = Store::open(store_, Store::Mode::write);
    const std::int64_t study = store::add_small_study(
        store,
        {.name = name, .text = "epochs = 1\n# \"quoted\"", .task = "../t", .optimizer = "a,\"b\""});
    const double none = std::nan("");
    const auto member = [&](const std::string& lr, double loss, Phase phase, std::uint64_t seed) {
      return store::MemberRow{
          .optimizer = "a,\"b\"",
          .method = "diag-to",
          .options = {{"beta", "0.1/t"}, {"lr", lr}},
          .seed = seed,
          .phase = phase,
          .state_bytes = 80,
          .points = {
              {.epoch = 0, .train_loss = 2, .validation_loss = none, .validation_accuracy = none},
              {.epoch = 1,
               .step = 10,
               .gradient_evaluations = 640,
               .seconds = 0.5,
               .train_loss = loss,
               .validation_loss = 1.0 / 3,
               .validation_accuracy = 0.75,
               .residual = 0.5,
               .delta = 0.0625,
               .estimator_error = 1,
               .batch_error = 4,
               .distance = 9,
               .data_loss = 0.25,
               .squared_norm = 12}}};
    };
    const auto units = store.units(study);
    store::MemberRow wild = member("9", none, Phase::tune, 0);
    wild.diverged = true;
    store::finish_unit(store, study, units[0], {member("0.1", 0.5, Phase::tune, 0), wild});
    store::finish_unit(store, study, units[1], {member("0.2", 0.1 + 0.2, Phase::measure, 5)});
  }

  Result run(const std::string& arguments, bool errors = false) const {
    return program("export " + arguments + " --store '" + store_ + "'", errors);
  }

  void expect_error(const std::string& arguments, int exit_code,
                    const std::vector<std::string>& parts) const {
    expect_end(run(arguments, true), exit_code, parts);
  }

  /// The folders with event files below `folder`, relative to it.
  static std::vector<fs::path> runs_in(const fs::path& folder) {
    std::set<fs::path> runs;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents.17000000"))
          << entry.path();
      runs.insert(entry.path().parent_path().lexically_relative(folder));
    }
    return {runs.begin(), runs.end()};
  }

  tests::TempFolder temp_;
  fs::path folder_ = temp_.path();
  std::string store_;
};

TEST_F(ExportCommand, WritesARunForTensorBoard) {
  const fs::path out = folder_ / "tb";
  const auto line = json_lines(run("tensorboard --json --out '" + out.string() + "'").out);
  ASSERT_EQ(line.size(), 1U);
  EXPECT_EQ(line[0]["runs"], 1);
  EXPECT_EQ(line[0]["points"], 2);
  const std::vector<fs::path> runs = runs_in(out);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0], "kdd");
  EXPECT_EQ(runs[1].filename(), "seed-5");
  EXPECT_EQ(std::distance(runs[1].begin(), runs[1].end()), 4);
  auto scalars = scalars_of(out / runs[1]);
  using Curve = std::vector<std::pair<std::int64_t, float>>;
  EXPECT_EQ(scalars["loss/train"], (Curve{{0, 2.0F}, {10, 0.3F}}));
  EXPECT_EQ(scalars["loss/validation"], (Curve{{10, 1.0F / 3}}));
  EXPECT_EQ(scalars["accuracy/validation"], (Curve{{10, 0.75F}}));
  EXPECT_EQ(scalars["gap"], (Curve{{0, 1.875F}, {10, 0.175F}}));
  EXPECT_EQ(scalars["estimator/residual"], (Curve{{10, 0.5F}}));
  EXPECT_EQ(scalars["estimator/delta"], (Curve{{10, 0.0625F}}));
  EXPECT_EQ(scalars["estimator/variance_ratio"], (Curve{{10, 0.25F}}));
  EXPECT_EQ(scalars["distance"], (Curve{{10, 9.0F}}));
  EXPECT_EQ(scalars["least/train_loss"], (Curve{{10, 0.3F}}));
  EXPECT_EQ(scalars["least/gap"], (Curve{{10, 0.175F}}));
}

TEST_F(ExportCommand, GivenTwiceItReplacesItsFiles) {
  const std::string arguments = "tensorboard --grid --out '" + (folder_ / "tb").string() + "'";
  const auto bytes_of_all = [&] {
    std::map<fs::path, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "tb")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      files[entry.path()] = {std::istreambuf_iterator<char>(stream), {}};
    }
    return files;
  };
  EXPECT_EQ(run(arguments).exit_code, 0);
  const auto before = bytes_of_all();
  EXPECT_EQ(before.size(), 4U);  // the study, two settings, one measured run
  EXPECT_EQ(run(arguments).exit_code, 0);
  EXPECT_EQ(bytes_of_all(), before);
}

TEST_F(ExportCommand, NamesOfStudiesStayInTheFolder) {
  fill("../../kdd");
  fill(".._.._kdd");
  const fs::path out = folder_ / "a" / "b" / "c";
  EXPECT_EQ(run("tensorboard --out '" + out.string() + "'").exit_code, 0);
  EXPECT_EQ(runs_in(out).size(), 6U);
  EXPECT_EQ(runs_in(folder_ / "a").size(), 6U);
}

TEST_F(ExportCommand, WritesPointsAsJsonLines) {
  const auto lines = json_lines(run("jsonl").out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["study"], "kdd");
  EXPECT_EQ(lines[1]["task"], "../t");
  EXPECT_EQ(lines[1]["optimizer"], "a,\"b\"");
  EXPECT_EQ(lines[1]["phase"], "measure");
  EXPECT_EQ(lines[1]["seed"], 5);
  EXPECT_EQ(lines[1]["options"]["beta"], "0.1/t");
  EXPECT_EQ(lines[1]["train_loss"], 0.1 + 0.2);  // to the bit
  EXPECT_EQ(lines[1]["validation_loss"], 1.0 / 3);
  EXPECT_EQ(lines[1]["diverged"], false);
  EXPECT_EQ(lines[1]["state_bytes"], 80);
  EXPECT_TRUE(lines[0]["validation_loss"].is_null());
  EXPECT_TRUE(lines[0]["residual"].is_null());
  EXPECT_EQ(json_lines(run("jsonl --grid").out).size(), 6U);
  EXPECT_EQ(json_lines(run("jsonl --study kdd --study kdd").out).size(), 2U);
}

TEST_F(ExportCommand, WritesPointsAsCsv) {
  const fs::path out = folder_ / "points.csv";
  EXPECT_EQ(run("csv --grid --out '" + out.string() + "'").exit_code, 0);
  std::ifstream stream(out, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("study,task,data,model,lambda,batch,optimum,optimizer,method,"));
  EXPECT_TRUE(line.ends_with(",distance,data_loss,squared_norm\r"));
  std::vector<std::string> points;
  while (std::getline(lines, line)) points.push_back(line);
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points.back(),
            "kdd,../t,nsl-kdd,logistic,0.023,64,0.125,\"a,\"\"b\"\"\",diag-to,false,measure,5,3,"
            "\"{\"\"beta\"\":\"\"0.1/t\"\",\"\"lr\"\":\"\"0.2\"\"}\",false,false,80,1,10,640,0.5,"
            "0.30000000000000004,0.3333333333333333,0.75,0.5,0.0625,1,4,9,0.25,12\r");
  EXPECT_NE(text.find(",true,false,80,1,10,640,0.5,,0.3333333333333333"), std::string::npos);
  EXPECT_EQ(run("csv --grid").out, text);
}

TEST_F(ExportCommand, SaysWhatIsWrong) {
  const std::string out = " --out '" + (folder_ / "o").string() + "'";
  expect_error("tensorboard --study kd" + out, 2, {"Unknown study 'kd'", "did you mean 'kdd'?"});
  expect_error("tensorboard", 2, {"--out"});
  expect_error("tensorboard --out '" + store_ + "'", 2, {store_, "is a file, expected a folder"});
  expect_error("csv --out '" + folder_.string() + "'", 2, {"is a folder, expected a file"});
  expect_error("csv --out '" + (folder_ / "no" / "x.csv").string() + "'", 1, {"Cannot write"});
  expect_error("tensorboard --out '" + store_ + "/below'", 1, {"Cannot make the folder"});
  expect_error("parquet", 2, {"Unknown command 'parquet'"});
  EXPECT_FALSE(fs::exists(folder_ / "o"));
  Store::open(store_, Store::Mode::write).remove_study(1, true);
  expect_error("jsonl", 3, {"has no studies"});
  store_ += "-missing";
  expect_error("csv", 3, {store_});
}

// ---- train --tensorboard ------------------------------------------------------------------------

class TrainTensorBoard : public ::testing::Test {
 protected:
  Result train(const std::string& arguments, bool errors = false) const {
    return program("train --data synthetic:rows=200 --batch 20 --lr " + arguments +
                       " --tensorboard '" + board_.string() + "' --quiet",
                   errors);
  }

  tests::TempFolder temp_;
  fs::path board_ = temp_.path() / "tb";
  std::string checkpoint_ = " --checkpoint '" + (temp_.path() / "c").string() + "'";
};

TEST_F(TrainTensorBoard, WritesOneRun) {
  EXPECT_EQ(train("0.1 --epochs 3 --optimizer diag-to").exit_code, 0);
  EXPECT_EQ(steps_of(board_), (std::vector<std::int64_t>{0, 10, 20, 30}));
  EXPECT_EQ(steps_of(board_, "estimator/residual"), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(steps_of(board_, "least/train_loss"), (std::vector<std::int64_t>{30}));
  const Result again = train("0.1 --epochs 3", true);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.out.find("has event files of another run"), std::string::npos) << again.out;
}

TEST_F(TrainTensorBoard, WritesAFolderAMember) {
  EXPECT_EQ(train("0.1,0.2,1e30 --epochs 2 --optimizer sgd").exit_code, 0);
  EXPECT_EQ(steps_of(board_ / "member-0"), (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_EQ(steps_of(board_ / "member-1"), (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_TRUE(steps_of(board_ / "member-2", "least/train_loss").empty());
}

TEST_F(TrainTensorBoard, GoesOnWithoutRepeatingItself) {
  EXPECT_EQ(train("0.1 --epochs 4" + checkpoint_).exit_code, 0);
  EXPECT_EQ(train("0.1 --epochs 4" + checkpoint_).exit_code, 0);  // nothing is left to do
  const std::vector<std::int64_t> all{0, 10, 20, 30, 40};
  EXPECT_EQ(steps_of(board_), all);
  EXPECT_EQ(std::distance(fs::directory_iterator(board_), fs::directory_iterator()), 1);

  // The last record cut off: that point is written again, into a new file.
  const fs::path file = fs::directory_iterator(board_)->path();
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(train("0.1 --epochs 4" + checkpoint_).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(board_), fs::directory_iterator()), 2);
  fs::remove(file);
  EXPECT_EQ(steps_of(board_), (std::vector<std::int64_t>{40}));

  // All of them where the folder is another one.
  fs::remove_all(board_);
  EXPECT_EQ(train("0.1 --epochs 4" + checkpoint_).exit_code, 0);
  EXPECT_EQ(steps_of(board_), all);
}

TEST_F(TrainTensorBoard, NeedsAFolder) {
  std::ofstream(board_) << "x";
  const Result result = train("0.1", true);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.out.find("is a file, expected a folder"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace tandem::cli
