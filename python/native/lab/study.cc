// SPDX-License-Identifier: MIT
// Comparisons on data in memory: the runner of studies, into a store.
#include <fmt/format.h>
#include <pybind11/stl.h>
#include <tandem/executor.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lab.h"
#include "models/make_problem.h"
#include "store/store.h"
#include "study/runner.h"

namespace tandem::python {
namespace {

// Label, method, whether it is the baseline, grid.
using Optimizer = std::tuple<std::string, std::string, bool, study::Grid>;

/// Every setting as the trainer would make it, on the least problem there is, so that a wrong
/// option is found before the work.
void check_settings(const study::StudySpec& study) {
  const auto tiny =
      std::make_shared<data::Task>(data::load_task("synthetic:rows=4,features=2,seed=1", {}));
  const auto problem = models::make_problem("logistic", tiny, study.tasks.front().lambda);
  train::TrainOptions options;
  options.batch = 1;
  for (const study::OptimizerSpec& optimizer : study.optimizers) {
    const train::Trainer trainer(*problem, study::expand(optimizer.method, optimizer.grid), options,
                                 serial_executor());
  }
}

py::dict to_python(const study::Status& status) {
  py::dict one;
  one["part"] = status.part;
  one["units_done"] = status.units_done;
  one["units"] = status.units;
  one["doing"] = status.doing;
  one["alive"] = status.alive;
  one["member_epochs"] = status.member_epochs;
  one["seconds"] = status.seconds;
  one["best"] = status.best;
  return one;
}

void run_study(const std::string& path, const std::string& name,
               const std::shared_ptr<data::Task>& data, const std::string& model,
               const std::string& loss, const std::vector<double>& lambdas, std::size_t batch,
               bool zeros, bool shuffle, const std::vector<Optimizer>& optimizers,
               std::size_t epochs, std::uint64_t tune_seed, const std::vector<std::uint64_t>& seeds,
               std::size_t prune, bool diagnose, bool optimum, std::size_t memory, int threads,
               const py::object& progress) {
  study::StudySpec spec{.name = name,
                        .epochs = epochs,
                        .tune_seed = tune_seed,
                        .seeds = seeds,
                        .prune = prune,
                        .diagnose = diagnose,
                        .optimum = optimum};
  for (const double lambda : lambdas) {
    spec.tasks.push_back({.data = name,
                          .model = model,
                          .loss = problems::parse_loss(loss),
                          .lambda = lambda,
                          .batch = batch,
                          .init = zeros ? train::Init::zeros : train::Init::normal,
                          .shuffle = shuffle});
  }
  for (const auto& [label, method, baseline, grid] : optimizers) {
    spec.optimizers.push_back(
        {.label = label, .method = method, .baseline = baseline, .grid = grid});
  }
  if (spec.tasks.empty() || spec.optimizers.empty()) {
    throw std::invalid_argument("Expected at least one lambda and one optimizer.");
  }
  Watch watch;
  bool done = false;
  {
    const py::gil_scoped_release release;
    check_settings(spec);
    study::Runner runner(std::move(spec), {.memory = memory,
                                           .command = "tandem.lab.compare",
                                           .data = {{name, data}},
                                           .executor = pool_executor(threads)});
    store::Store store = store::Store::open(path, store::Store::Mode::write);
    done = runner.run(store, [&](const study::Status& status) {
      return watch.go_on([&] {
        if (!progress.is_none()) progress(to_python(status));
      });
    });
  }
  watch.rethrow();
  if (!done) throw std::runtime_error("the study was stopped");
}

}  // namespace

void add_study(py::module_& module) {
  module.def("run_study", &run_study, py::arg("path"), py::arg("name"), py::arg("task"),
             py::arg("model"), py::arg("loss"), py::arg("lambdas"), py::arg("batch"),
             py::arg("zeros"), py::arg("shuffle"), py::arg("optimizers"), py::arg("epochs"),
             py::arg("tune_seed"), py::arg("seeds"), py::arg("prune"), py::arg("diagnose"),
             py::arg("optimum"), py::arg("memory"), py::arg("threads"), py::arg("progress"));
}

}  // namespace tandem::python
