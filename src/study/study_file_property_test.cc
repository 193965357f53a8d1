// SPDX-License-Identifier: MIT
// Any study that can be written down is read back as the same study.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "study/study_file.h"

namespace tandem::study {
namespace {

template <class T>
T pick(const std::vector<T>& choices) {
  return *rc::gen::elementOf(choices);
}

std::vector<std::string> numbers() {
  const auto drawn = *rc::gen::nonEmpty(rc::gen::container<std::set<int>>(rc::gen::inRange(1, 99)));
  std::vector<std::string> values;
  for (const int each : drawn) {
    if (values.size() < 3) values.push_back(fmt::format("{}", each / 100.0));
  }
  return values;
}

StudySpec random_study() {
  StudySpec study;
  study.name = pick<std::string>({"a", "with space", "quote\"", "back\\slash", "\u00fc\u03bb"});
  study.epochs = *rc::gen::inRange<std::size_t>(1, 1000);
  study.tune_seed = *rc::gen::inRange<std::uint64_t>(0, 3);
  study.seeds.clear();
  for (std::uint64_t seed = 4, end = *rc::gen::inRange(5, 9); seed < end; ++seed) {
    study.seeds.push_back(seed * 1'000'000'007);
  }
  study.prune = pick<std::size_t>({0, 2, 3});
  study.diagnose = *rc::gen::arbitrary<bool>();
  study.optimum = *rc::gen::arbitrary<bool>();
  for (int t = 0, count = *rc::gen::inRange(1, 4); t < count; ++t) {
    TaskSpec task;
    task.data = fmt::format("synthetic:rows={}", 100 + t);  // no task twice
    if (*rc::gen::arbitrary<bool>()) task.data_options["noise"] = "0.25";
    task.validation = pick<double>({0, 0.125, 0.3});
    task.model = pick<std::string>({"logistic", "ffn:5", "ffn:3,2"});
    task.lambda = pick<double>({0, 1e-7, 0.1, 1.0 / 3});
    task.batch = *rc::gen::inRange<std::size_t>(1, 500);
    task.init = pick<train::Init>({train::Init::normal, train::Init::zeros});
    task.shuffle = *rc::gen::arbitrary<bool>();
    task.sampling = pick<train::Sampling>({train::Sampling::epochs, train::Sampling::independent});
    study.tasks.push_back(task);
  }
  const int baseline = *rc::gen::inRange(-1, 3);
  for (int o = 0, count = *rc::gen::inRange(1, 4); o < count; ++o) {
    OptimizerSpec optimizer;
    optimizer.method = pick<std::string>({"diag-to", "ro-to", "svrg+diag-to"});
    optimizer.label = fmt::format("{} '{}'", optimizer.method, o);
    optimizer.baseline = o == baseline;
    for (const char* option : {"lr", "alpha", "beta", "decay"}) {
      if (*rc::gen::arbitrary<bool>()) optimizer.grid.push_back({option, numbers()});
    }
    study.optimizers.push_back(optimizer);
  }
  return study;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Keys of each table in any order.
std::string toml_of(const StudySpec& study) {
  const auto shuffled = [](std::vector<std::string> lines) {
    std::string text;
    while (!lines.empty()) {
      const auto at = *rc::gen::inRange<std::size_t>(0, lines.size());
      text += lines[at] + "\n";
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return text;
  };
  std::string text = shuffled(
      {"name = " + quoted(study.name), fmt::format("epochs = {}", study.epochs),
       fmt::format("tune_seed = {}", study.tune_seed),
       fmt::format("seeds = [{}]", fmt::join(study.seeds, ", ")),
       fmt::format("prune = {}", study.prune), fmt::format("diagnose = {}", study.diagnose),
       fmt::format("optimum = {}", study.optimum)});
  for (const TaskSpec& task : study.tasks) {
    std::vector<std::string> lines{
        "data = " + quoted(task.data),
        "model = " + quoted(task.model),
        fmt::format("lambda = [{}]", task.lambda),
        fmt::format("batch = {}", task.batch),
        fmt::format("validation = {}", task.validation),
        fmt::format("init = \"{}\"", task.init == train::Init::zeros ? "zeros" : "normal"),
        fmt::format("shuffle = {}", task.shuffle),
        fmt::format("sampling = \"{}\"",
                    task.sampling == train::Sampling::epochs ? "epochs" : "independent")};
    for (const auto& [name, value] : task.data_options) {
      lines.push_back(fmt::format("options = {{ {} = {} }}", name, value));
    }
    text += "[[task]]\n" + shuffled(lines);
  }
  for (const OptimizerSpec& optimizer : study.optimizers) {
    std::vector<std::string> lines{"name = " + quoted(optimizer.method),
                                   "label = " + quoted(optimizer.label),
                                   fmt::format("baseline = {}", optimizer.baseline)};
    for (const auto& [name, values] : optimizer.grid) {
      lines.push_back(fmt::format("{} = [{}]", name, fmt::join(values, ", ")));
    }
    text += "[[optimizer]]\n" + shuffled(lines);
  }
  return text;
}

RC_GTEST_PROP(StudyFileProperty, WhatIsWrittenIsRead, ()) {
  const StudySpec study = random_study();
  const std::string text = toml_of(study);
  RC_ASSERT(canonical_text(parse_study(text, "x.toml")) == canonical_text(study));
}

}  // namespace
}  // namespace tandem::study
