// SPDX-License-Identifier: MIT
// What the subcommands share: the options that are the same everywhere, and the exit codes.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

// Named only: its header takes seconds to compile.
namespace CLI {
class App;
}

namespace tandem::cli {

enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kData = 3, kInterrupted = 130 };

/// Options that every subcommand understands.
struct Common {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  int threads = 0;          // 0: all
  std::string target = {};  // of the kernels; empty: the best that this CPU runs
  unsigned long long seed = 1;
};

/// Of the option --store.
inline constexpr const char* kStoreHelp =
    "The run store: a file, or postgresql://[USER@]HOST/DATABASE";

/// What a subcommand leaves behind when it was chosen: the work itself, which returns an exit code.
using Job = std::function<int()>;

// Each adds its subcommand to the program; `job` is set when the command line chooses it.
void add_demo(CLI::App& app, const Common& common, Job& job);
void add_optimizers(CLI::App& app, const Common& common, Job& job);
void add_bench(CLI::App& app, const Common& common, Job& job);
void add_study(CLI::App& app, const Common& common, Job& job);
void add_paper(CLI::App& app, const Common& common, Job& job);
void add_report(CLI::App& app, const Common& common, Job& job);
void add_export(CLI::App& app, const Common& common, Job& job);
void add_train(CLI::App& app, const Common& common, Job& job);
void add_data(CLI::App& app, const Common& common, Job& job);
void add_optimum(CLI::App& app, const Common& common, Job& job);
void add_finetune(CLI::App& app, const Common& common, Job& job);
void add_serve(CLI::App& app, const Common& common, Job& job);
void add_runs(CLI::App& app, const Common& common, Job& job);

/// The whole program: reads the command line, runs the job, turns errors into messages and exit
/// codes.
int run(int argc, const char* const* argv);

}  // namespace tandem::cli
