// SPDX-License-Identifier: MIT
// The program's command line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/tandem.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/suggest.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/values.h"
#include "data/dataset.h"
#include "store/store.h"

namespace tandem::cli {
namespace {

std::string version_text() {
  return fmt::format("tandem {}\ncompiler: g++ {}\nkernels: {}\nCPU targets: {}\nthreads: {}\n",
                     version(), __VERSION__, cpu_target(), fmt::join(cpu_targets(), " "),
                     default_executor()->threads());
}

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// CLI11 lets an unknown word pass as an extra argument; say what was meant instead.
void refuse_extras(const CLI::App& app) {
  const CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return;
  const std::string& word = extras.front();
  std::string message = fmt::format("Unknown argument '{}'", word);
  if (word.rfind('-', 0) == 0) {
    std::vector<std::string> options;
    for (const CLI::App* level = chosen; level != nullptr; level = level->get_parent()) {
      for (const CLI::Option* option : level->get_options()) {
        for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
      }
    }
    message += suggestion(word, options);
  } else if (!names_of(*chosen).empty()) {
    message = fmt::format("Unknown command '{}'{}", word, suggestion(word, names_of(*chosen)));
  }
  throw std::invalid_argument(message);
}

int report_error(int exit_code, std::string_view text) {
  print_message("tandem: {}\n", text);
  return exit_code;
}

/// Does the work and turns what was thrown into messages.
int work(const Common& common, const Job& job) {
  try {
    if (!common.target.empty()) set_cpu_target(common.target);
    if (common.threads > 0) set_default_executor(pool_executor(common.threads));
    return job();
  } catch (const std::invalid_argument& error) {
    return report_error(kUsage, error.what());
  } catch (const data::DataError& error) {
    return report_error(kData, error.what());
  } catch (const store::StoreError& error) {
    return report_error(kData, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return report_error(kFailed,
                        fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return report_error(kFailed, "out of memory");
  } catch (const std::exception& error) {
    return report_error(kFailed, error.what());
  }
}

int run_program(int argc, const char* const* argv) {
  CLI::App app(
      "Example: tandem demo\n\n"
      "Tandem trains the optimizer in tandem with the model: a laboratory for trainable "
      "optimizers.",
      "tandem");
  Common common;
  Job job;
  app.formatter(std::make_shared<HelpFormatter>());
  app.fallthrough();
  app.allow_extras();
  app.add_flag("--json", common.json, "JSON lines on standard output");
  app.add_option("--threads", common.threads, "Threads to use; 0 is all")->check(whole(0, 4096));
  app.add_option("--target", common.target,
                 "Instruction set of the kernels, such as AVX2; default: the best here. On one "
                 "target results have the same bits");
  app.add_option("--seed", common.seed, "Seed of everything random")->capture_default_str();
  app.add_flag("-q,--quiet", common.quiet, "Only results and errors");
  app.add_flag("-v,--verbose", common.verbose, "Say more about what happens");
  bool show_version = false;
  app.add_flag("--version", show_version, "The version and facts about the build");
  add_demo(app, common, job);
  add_train(app, common, job);
  add_study(app, common, job);
  add_paper(app, common, job);
  add_report(app, common, job);
  add_export(app, common, job);
  add_optimizers(app, common, job);
  add_bench(app, common, job);
  add_data(app, common, job);
  add_optimum(app, common, job);
  add_finetune(app, common, job);
  add_runs(app, common, job);
  add_serve(app, common, job);
  check_values(app);

  try {
    app.parse(argc, argv);
    refuse_extras(app);
    if (show_version) {
      job = [] {
        write_result(version_text());
        return kDone;
      };
    }
    if (!job) {
      const CLI::App* chosen = &app;
      while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
      print_message("{}", chosen->help());
      return kUsage;
    }
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      std::ostringstream help;
      app.exit(error, help, help);
      write_result(help.str());
      return kDone;
    }
    return report_error(kUsage, error.what());
  } catch (const std::exception& error) {
    return report_error(kUsage, error.what());
  }
  return work(common, job);
}

}  // namespace

int run(int argc, const char* const* argv) { return finish_output(run_program(argc, argv)); }

}  // namespace tandem::cli
