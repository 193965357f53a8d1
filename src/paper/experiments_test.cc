// SPDX-License-Identifier: MIT
#include "paper/experiments.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "models/make_problem.h"
#include "paper/controls.h"
#include "study/builtin.h"

namespace tandem::paper {
namespace {

using study::builtin_study;
using study::OptimizerSpec;
using study::parse_study;
using study::StudySpec;
using study::TaskSpec;

bool is_deep(const std::string& experiment) {
  return experiment.starts_with("resnet") || experiment == "llama";
}

/// Thirty where a run takes less than a second.
std::size_t seeds_of(const std::string& experiment, const StudySpec& study) {
  if (experiment == "protocol") return 2;
  if (experiment == "resnet50") return 3;
  const bool logistic = experiment == "strongly-convex" || experiment == "convex";
  const bool fast = study.name.ends_with("-kdd") || (logistic && study.name.ends_with("-covtype"));
  return fast && (logistic || experiment == "ffn") ? 30 : 5;
}

TEST(Paper, EveryStudyOfEveryExperimentParses) {
  for (const PaperExperiment& experiment : paper_experiments()) {
    for (const std::string& path : experiment.studies) {
      const StudySpec study = parse_study(builtin_study(path), path);
      EXPECT_EQ("paper/" + study.name + ".toml", path);
      EXPECT_EQ(study.optimizers.front().method, "adam");
      EXPECT_TRUE(study.optimizers.front().baseline);
      const bool deep = is_deep(experiment.name);
      // A search trains whole grids on all seeds, and momentum on two optimizers' rates.
      const bool search = experiment.name == "protocol";
      EXPECT_EQ(study.measure_all, search);
      EXPECT_EQ(study.seeds.size(), seeds_of(experiment.name, study));
      for (const OptimizerSpec& optimizer : study.optimizers) {
        const std::size_t settings = study::expand(optimizer.method, optimizer.grid).size();
        if (deep) {  // equal budgets
          const std::size_t budget = experiment.name == "llama" ? 6 : 4;
          EXPECT_TRUE(settings == budget || optimizer.ablation) << optimizer.label;
          continue;
        }
        const bool thin = study.name == "protocol-mnist" || study.name == "protocol-news20";
        if (optimizer.ablation || thin) continue;
        if (optimizer.method == "full-to") {
          EXPECT_TRUE(settings <= 24U || settings == 900U) << settings;
        }
        // Without lambda the best rates are large: four more of them.
        const bool wide = experiment.name == "convex";
        if (optimizer.method == "adam") {
          EXPECT_EQ(settings, 36U);
        }
        if (optimizer.method == "momentum") {
          EXPECT_EQ(settings, search ? 60U : wide ? 52U : 36U);
        }
        if (optimizer.method == "diag-to" || optimizer.method == "ro-to") {
          EXPECT_EQ(settings, wide ? 1300U : 900U);
        }
      }
    }
  }
}

std::vector<std::string> alphas_of(const OptimizerSpec& optimizer) {
  for (const auto& [name, values] : optimizer.grid) {
    if (name == "alpha") return values;
  }
  return {};
}

TEST(Paper, AlphaOfZeroIsARowOfItsOwnWhereDeepModelsAreCompared) {
  for (const char* path : {"paper/resnet18.toml", "paper/llama.toml"}) {
    const StudySpec study = parse_study(builtin_study(path), path);
    std::set<std::string> rows;
    for (const OptimizerSpec& optimizer : study.optimizers) {
      rows.insert(optimizer.label);
      if (!optimizer.method.ends_with("-to")) continue;
      const bool learns = optimizer.label == optimizer.method;
      // What controls.h takes for "alpha > 0" must not have alpha = 0 in its grid.
      ASSERT_EQ(alphas_of(optimizer).size(), 1U) << optimizer.label;
      EXPECT_EQ(alphas_of(optimizer).front() != "0", learns) << optimizer.label;
    }
    for (const char* row : {"momentum", "diag-to", "adam-to", kNoLearning, kAdamNoLearning}) {
      EXPECT_TRUE(rows.contains(row)) << path << " " << row;
    }
  }
}

TEST(Paper, EveryCellHasATaskInAStudy) {
  std::set<std::string> tasks;
  for (const PaperExperiment& experiment : paper_experiments()) {
    for (const std::string& path : experiment.studies) {
      for (const TaskSpec& task : parse_study(builtin_study(path), path).tasks) {
        // What stands behind the colon of a deep model is its size, or its file.
        const std::string model =
            is_deep(experiment.name) ? models::model_kind(task.model) : task.model;
        tasks.insert(fmt::format("{} {} {}", task.data, model, task.lambda));
      }
    }
  }
  EXPECT_EQ(paper_cells().size(), 17U * 4 + 6 + 6);
  for (const PaperCell& cell : paper_cells()) {
    EXPECT_TRUE(tasks.contains(fmt::format("{} {} {}", cell.data, cell.model, cell.lambda)))
        << cell.data << " " << cell.lambda;
  }
  ASSERT_NE(paper_cell("nsl-kdd", "logistic", 0.97, "diag-to"), nullptr);
  EXPECT_DOUBLE_EQ(*paper_cell("nsl-kdd", "logistic", 0.97, "diag-to")->rho, 0.016);
  EXPECT_EQ(paper_cell("news20", "logistic", 0.46, "full-to")->rho, std::nullopt);
  EXPECT_EQ(paper_cell("nsl-kdd", "logistic", 0.97, "saga"), nullptr);
  // Whichever Llama is tuned stands beside the paper's.
  ASSERT_NE(paper_cell("alpaca", "llama:other.bin,train=norm", 0, "ro-to"), nullptr);
  EXPECT_DOUBLE_EQ(*paper_cell("alpaca", "llama:other.bin", 0, "ro-to")->rho, -9.2e-4);
  // So does a ResNet of any width, but a net of other layers does not.
  ASSERT_NE(paper_cell("cifar10", "resnet18:width=8", 0, "diag-to"), nullptr);
  EXPECT_DOUBLE_EQ(*paper_cell("cifar10", "resnet18:width=8", 0, "diag-to")->rho, 0.5);
  EXPECT_EQ(paper_cell("nsl-kdd", "ffn:20", 0, "diag-to"), nullptr);
}

/// As the paper prints it: the unit that fits, one digit, and it calls KiB KB.
std::string printed(std::size_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 0x1p20) return fmt::format("{:.1f} KB", value / 0x1p10);
  if (value < 0x1p30) return fmt::format("{:.1f} MB", value / 0x1p20);
  return fmt::format("{:.1f} GB", value / 0x1p30);
}

TEST(Paper, MemoryIsWhatThePaperPrints) {
  const std::vector<MemoryCell> cells = memory_table(std::size_t{1} << 20);
  ASSERT_EQ(cells.size(), 12U);
  const auto same = std::count_if(cells.begin(), cells.end(), [](const MemoryCell& cell) {
    return printed(cell.computed) == cell.paper;
  });
  EXPECT_EQ(same, 11);
  EXPECT_EQ(printed(cells.front().computed), "150.8 KB");  // printed as 150
  for (const MemoryCell& cell : cells) {
    EXPECT_EQ(cell.live.has_value(), cell.computed <= std::size_t{1} << 20) << cell.task;
    if (cell.live) {
      EXPECT_EQ(*cell.live, cell.computed) << cell.task << " " << cell.optimizer;
    }
  }
}

TEST(Paper, QuickIsAnotherSmallerStudy) {
  const StudySpec full = parse_study(builtin_study("paper/strongly-convex-kdd.toml"), "kdd.toml");
  const StudySpec less = quick(full);
  EXPECT_EQ(less.name, full.name + "-quick");
  EXPECT_LT(less.epochs, full.epochs);
  EXPECT_EQ(less.seeds.size(), 3U);
  EXPECT_GT(less.prune, 1U);
  EXPECT_EQ(less.tasks.size(), full.tasks.size());
  for (const OptimizerSpec& optimizer : less.optimizers) EXPECT_TRUE(optimizer.part_of.empty());
}

TEST(Paper, QuickTakesAPartOfTheDataOfDeepModels) {
  const StudySpec full = parse_study(builtin_study("paper/resnet18.toml"), "resnet18.toml");
  const StudySpec less = quick(full);
  EXPECT_EQ(less.name, "resnet18-quick");
  EXPECT_LT(less.epochs, full.epochs);
  EXPECT_EQ(less.prune, 0U);  // a population of one has nothing to prune
  EXPECT_TRUE(less.tasks.front().data_options.contains("images"));
  EXPECT_EQ(less.optimizers.size(), full.optimizers.size());
}

TEST(Paper, FromZerosIsAnotherStart) {
  const StudySpec study =
      from_zeros(parse_study(builtin_study("paper/strongly-convex-kdd.toml"), "kdd.toml"));
  EXPECT_EQ(study.name, "strongly-convex-kdd-zeros");
  for (const TaskSpec& task : study.tasks) EXPECT_EQ(task.init, train::Init::zeros);
  // A few settings get the paper's alphas; the paper's own grid stays.
  const auto alphas = [](const char* path) {
    const StudySpec zeros = from_zeros(parse_study(builtin_study(path), path));
    const auto full = std::find_if(zeros.optimizers.begin(), zeros.optimizers.end(),
                                   [](const auto& each) { return each.label == "full-to"; });
    return alphas_of(*full);
  };
  EXPECT_EQ(alphas("paper/strongly-convex-news20.toml"), (std::vector<std::string>{"0.01", "0.1"}));
  EXPECT_EQ(alphas("paper/strongly-convex-kdd.toml").size(), 5U);
  EXPECT_THROW(from_zeros(parse_study(builtin_study("paper/ffn-kdd.toml"), "ffn.toml")),
               std::invalid_argument);
}

}  // namespace
}  // namespace tandem::paper
