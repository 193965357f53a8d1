// SPDX-License-Identifier: MIT
// What the program gives the front end, and the file around it.
#include "report/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "report/web_model.h"
#include "study/comparison.h"

namespace tandem::report {
namespace {

using nlohmann::ordered_json;
using study::OptimizerRuns;
using study::Run;
using study::StudyRuns;

constexpr const char* kHostile = "</script><script>alert('x')</script><!--";

Run run_of(double loss, std::uint64_t seed, const std::string& lr) {
  return {.options = {{"lr", lr}, {"form", "dense"}},
          .seed = seed,
          .diverged = lr == "9",
          .points = {{.epoch = 0, .train_loss = 9},
                     {.epoch = 1,
                      .step = 3,
                      .gradient_evaluations = 7,
                      .seconds = 0.123456789,
                      .train_loss = loss,
                      .residual = 0.5}}};
}

OptimizerRuns runs_of(const std::string& label, double loss) {
  OptimizerRuns runs{.label = label, .method = "diag-to", .baseline = label == "adam"};
  runs.grid = {{"lr", {"10", "9", "0.1"}}};
  runs.tuned = {run_of(loss, 0, "0.1"), run_of(loss + 1, 0, "10"), run_of(loss, 0, "9")};
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    runs.measured.push_back(run_of(loss + 0.01 * static_cast<double>(seed), seed, "0.1"));
  }
  return runs;
}

StudyRuns made_study(const std::string& name) {
  StudyRuns study{.name = name, .complete = true, .epochs = 1, .seeds = {1, 2}};
  study.text = "{}";
  study.command = "tandem paper x";
  study.tasks.push_back(
      {.name = "kdd task",
       .data = "nsl-kdd",
       .model = "logistic",
       .lambda = 0.97,
       .optimum = 0.5,
       .optimizers = {runs_of("adam", 1), runs_of("diag-to", 0.8), runs_of(kHostile, 1.1)}});
  return study;
}

ordered_json model_of(const StudyRuns& study) { return web_study(study, study::compare(study)); }

TEST(WebModel, HasWhatTheFrontEndReads) {
  const ordered_json json = model_of(made_study("made"));
  EXPECT_EQ(json["name"], "made");
  EXPECT_EQ(json["seeds"], ordered_json({1, 2}));
  const ordered_json& task = json["tasks"][0];
  EXPECT_EQ(task["optimum"], 0.5);
  ASSERT_EQ(task["optimizers"].size(), 3U);
  const ordered_json& diagonal = task["optimizers"][1];
  EXPECT_EQ(diagonal["colour"], "#0072b2");
  EXPECT_EQ(diagonal["dash"], ordered_json::array());
  EXPECT_EQ(diagonal["row"]["mark"], "+");
  EXPECT_FALSE(diagonal["row"].contains("study"));
  EXPECT_EQ(diagonal["paper"]["rho"], 0.016);  // of Table 7
  EXPECT_EQ(diagonal["runs"][0]["points"]["train_loss"], ordered_json({9, 0.81}));
  EXPECT_EQ(diagonal["runs"][0]["points"]["seconds"], ordered_json({0, 0.1235}));
  EXPECT_EQ(diagonal["runs"][0]["points"]["residual"], ordered_json({nullptr, 0.5}));
  EXPECT_FALSE(diagonal["runs"][0]["points"].contains("estimator_error"));
}

TEST(WebModel, TheGridIsInTheOrderOfNumbers) {
  const ordered_json grid = model_of(made_study("made"))["tasks"][0]["optimizers"][1]["grid"];
  EXPECT_EQ(grid["values"]["lr"], ordered_json({"0.1", "9", "10"}));
  EXPECT_EQ(grid["settings"]["lr"], ordered_json({0, 2, 1}));
  EXPECT_EQ(grid["loss"], ordered_json({0.8, 1.8, nullptr}));
  EXPECT_EQ(grid["diverged"], ordered_json({2}));
  EXPECT_EQ(grid["pruned"], ordered_json::array());
}

TEST(WebModel, ThinsTheCurveOfBestOfN) {
  StudyRuns study = made_study("large");
  OptimizerRuns& adam = study.tasks[0].optimizers[0];
  adam.tuned.clear();
  for (int i = 0; i < 900; ++i) adam.tuned.push_back(run_of(1 + 0.001 * i, 0, "0.1"));
  const ordered_json curve = model_of(study)["tasks"][0]["optimizers"][0]["row"]["best_of"];
  EXPECT_LT(curve.size(), 60U);
  EXPECT_EQ(curve.front()["n"], 1);
  EXPECT_EQ(curve.back()["n"], 900);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    EXPECT_GT(curve[i]["n"].get<int>(), curve[i - 1]["n"].get<int>());
  }
}

TEST(WebModel, WhatIsNotFiniteIsNull) {
  StudyRuns study = made_study("odd");
  study.tasks[0].optimum = std::numeric_limits<double>::quiet_NaN();
  study.tasks[0].optimizers[1].measured[0].points[1].train_loss =
      std::numeric_limits<double>::infinity();
  const ordered_json json = model_of(study);
  EXPECT_EQ(json["tasks"][0]["optimum"], nullptr);
  EXPECT_EQ(json["tasks"][0]["optimizers"][1]["runs"][0]["points"]["train_loss"][1], nullptr);
}

TEST(WebModel, LooksDifferForEachOptimizer) {
  StudyRuns study = made_study("many");
  for (int i = 0; i < 40; ++i)
    study.tasks[0].optimizers.push_back(runs_of(fmt::format("o{}", i), 2));
  std::map<std::string, int> looks;
  const ordered_json json = model_of(study);
  for (const ordered_json& optimizer : json["tasks"][0]["optimizers"]) {
    ++looks[optimizer["colour"].dump() + optimizer["dash"].dump()];
  }
  EXPECT_GT(looks.size(), 35U);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) {
    ++found;
  }
  return found;
}

TEST(Page, HostileNamesStayText) {
  const Page page{
      .title = kHostile, .note = kHostile, .command = kHostile, .studies = {made_study(kHostile)}};
  const std::string html = interactive_page(page);
  // The data and the program, and no other: names can neither start an element nor end one.
  EXPECT_EQ(count(html, "<script"), 2U);
  EXPECT_EQ(count(html, "</script"), 2U);
  EXPECT_EQ(count(html, "<!--"), 0U);
  EXPECT_EQ(count(static_page(page), "<script"), 0U);
}

TEST(Page, HoldsTheDataAndLoadsNothing) {
  const std::string html = interactive_page({.title = "Both",
                                             .command = "tandem report",
                                             .studies = {made_study("one"), made_study("two")}});
  const std::string begin = "<script type=\"application/json\" id=\"tandem-data\">";
  const std::size_t at = html.find(begin) + begin.size();
  const ordered_json data = ordered_json::parse(html.substr(at, html.find("</script>", at) - at));
  EXPECT_EQ(data["format"], 1);
  EXPECT_EQ(data["studies"].size(), 2U);
  EXPECT_EQ(data["studies"][1]["name"], "two");
  EXPECT_NE(html.find("content=\"default-src 'none'; script-src '" + web_script_digest() + "'"),
            std::string::npos);
  EXPECT_EQ(count(html, " src="), 0U);
  // Words and tables for those without scripts.
  EXPECT_NE(html.find("<div id=\"app\">\n<header>"), std::string::npos);
  EXPECT_NE(html.find("has the least loss"), std::string::npos);
}

TEST(Page, StaticPagesShowSeveralStudies) {
  const std::string html =
      static_page({.title = "Both", .studies = {made_study("one"), made_study("two")}});
  for (const char* part : {"<h1>Both</h1>", "one: nsl-kdd", "two: nsl-kdd"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace tandem::report
