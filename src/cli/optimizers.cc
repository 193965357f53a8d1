// SPDX-License-Identifier: MIT
// `tandem optimizers`: names, rules, options, state bytes.
#include <fmt/format.h>
#include <tandem/tandem.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/output.h"
#include "report/table.h"

namespace tandem::cli {
namespace {

/// Order of keys kept: what a reader looks for comes first.
using Json = nlohmann::ordered_json;

struct Options {
  std::string name;
  bool markdown = false;
};

void print_one(const OptimizerInfo& info) {
  print_result(
      "{} (tandem::{})\n\n{}\n\n  {}\n\nState: {} bytes for float weights\nReference: {}\n\n",
      info.name, info.class_name, info.summary, info.rule, info.state, info.reference);
  report::Table options({{"option"}, {"default"}, {"type"}, {"range"}, {"meaning"}});
  for (const OptionInfo& option : info.options) {
    options.add({option.name, option.default_value, option.type, option.range, option.help});
  }
  write_result(options.terminal());
  report::Table tuning({{"tune"}, {"from"}, {"to"}, {"points"}});
  for (const TuningInfo& range : info.tuning) {
    tuning.add({range.option, fmt::format("{}", range.low), fmt::format("{}", range.high),
                fmt::format("{}{}", range.points, range.zero_too ? " and 0" : "")});
  }
  print_result("\n");
  write_result(tuning.terminal());
}

int run_optimizers(const Options& options, const Common& common) {
  const auto& all = optimizer_infos();
  if (!options.name.empty()) {
    make_optimizer(options.name, 1);  // for its message about an unknown name
    const auto found = std::find_if(all.begin(), all.end(), [&](const OptimizerInfo& info) {
      return info.name == options.name;
    });
    if (common.json) {
      write_json(Json::parse(optimizer_json(found->name)));
    } else {
      print_one(*found);
    }
    return kDone;
  }
  if (common.json) {
    for (const OptimizerInfo& info : all) write_json(Json::parse(optimizer_json(info.name)));
    return kDone;
  }
  report::Table table({{"name"}, {"update rule"}, {"state bytes"}, {"reference"}});
  for (const OptimizerInfo& info : all) {
    table.add({options.markdown ? "`" + info.name + "`" : info.name,
               options.markdown ? "`" + info.rule + "`" : info.rule, info.state, info.reference});
  }
  write_result(options.markdown ? table.markdown() : table.terminal());
  if (!options.markdown && !common.quiet) {
    print_result("\nOptions of one: tandem optimizers NAME\n");
  }
  return kDone;
}

}  // namespace

void add_optimizers(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "optimizers",
      "Example: tandem optimizers diag-to\n\nNames, update rules, options and state bytes.");
  command->add_option("NAME", options->name, "Show this one with its options");
  command->add_flag("--markdown", options->markdown, "The table as Markdown");
  command->callback([options, &common, &job] {
    job = [options, &common] { return run_optimizers(*options, common); };
  });
}

}  // namespace tandem::cli
