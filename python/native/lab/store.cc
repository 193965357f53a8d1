// SPDX-License-Identifier: MIT
// Run stores as plain Python objects: dicts, lists, and one structured array a run.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "lab.h"
#include "store/store.h"
#include "study/comparison.h"
#include "study/load.h"

namespace tandem::python {
namespace {

store::Store open(const std::string& path) {
  return store::Store::open(path, store::Store::Mode::read);
}

py::list studies(const std::string& path) {
  py::list all;
  const store::Store store = open(path);
  for (const store::Study& study : store.studies()) {
    const store::Progress progress = store.progress(study.id);
    const store::Totals totals = store.totals(study.id);
    py::dict one;
    one["name"] = study.name;
    one["created"] = study.created;
    one["tasks"] = totals.tasks;
    one["members"] = totals.members;
    one["points"] = totals.points;
    one["units"] = progress.units;
    one["units_done"] = progress.done;
    all.append(one);
  }
  return all;
}

/// A structured array's: the fields of a point by their names.
py::dtype dtype_of_points() {
  py::list names, formats, offsets;
  const train::Point point;
  train::for_each_point_field([&](auto field) {
    const auto& value = point.*field.member;
    names.append(field.name);
    formats.append(py::dtype::of<std::decay_t<decltype(value)>>());
    offsets.append(reinterpret_cast<const char*>(&value) - reinterpret_cast<const char*>(&point));
  });
  return py::dtype(names, formats, offsets, sizeof(train::Point));
}

py::dict to_python(const study::Run& run) {
  py::dict one;
  one["options"] = run.options;
  one["seed"] = run.seed;
  one["diverged"] = run.diverged;
  one["pruned"] = run.pruned;
  one["state_bytes"] = run.state_bytes;
  // With strides: pybind11 before 2.12 misreads the size of an element from numpy 2.
  one["points"] =
      py::array(dtype_of_points(), {run.points.size()}, {sizeof(train::Point)}, run.points.data());
  return one;
}

py::list to_python(const std::vector<study::Run>& runs) {
  py::list list;
  for (const study::Run& run : runs) list.append(to_python(run));
  return list;
}

py::dict to_python(const study::TaskRuns& task) {
  py::list optimizers;
  for (const study::OptimizerRuns& runs : task.optimizers) {
    py::dict one;
    one["label"] = runs.label;
    one["method"] = runs.method;
    one["baseline"] = runs.baseline;
    one["ablation"] = runs.ablation;
    one["grid"] = runs.grid;
    one["tuned"] = to_python(runs.tuned);
    one["measured"] = to_python(runs.measured);
    optimizers.append(one);
  }
  py::dict one;
  one["name"] = task.name;
  one["data"] = task.data;
  one["model"] = task.model;
  one["lambda_"] = task.lambda;
  one["batch"] = task.batch;
  one["samples"] = task.samples;
  one["dimension"] = task.dimension;
  one["optimum"] = task.optimum;
  one["optimizers"] = optimizers;
  return one;
}

/// Rows come as the JSON of `tandem report --json`, so that there is one list of their keys.
py::dict load_study(const std::string& path, const std::string& name,
                    const std::string& report_loss) {
  std::optional<study::StudyRuns> runs;
  std::string rows = "[";
  {
    const py::gil_scoped_release release;
    runs = study::load_study(open(path), name, study::parse_report_loss(report_loss),
                             store::Curves::all);
    for (const study::Row& row : study::compare(*runs)) {
      rows += (rows.size() > 1 ? "," : "") +
              study::to_json(row).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    rows += "]";
  }
  py::list tasks;
  for (const study::TaskRuns& task : runs->tasks) tasks.append(to_python(task));
  py::dict one;
  one["name"] = runs->name;
  one["pruned"] = runs->pruned;
  one["complete"] = runs->complete;
  one["epochs"] = runs->epochs;
  one["tune_seed"] = runs->tune_seed;
  one["seeds"] = runs->seeds;
  one["text"] = runs->text;
  one["command"] = runs->command;
  one["version"] = runs->version;
  one["machine"] = runs->machine;
  one["tasks"] = tasks;
  one["rows"] = rows;
  return one;
}

}  // namespace

void add_store(py::module_& module) {
  module.def("studies", &studies, py::arg("path"));
  module.def("load_study", &load_study, py::arg("path"), py::arg("name"), py::arg("report_loss"));
}

}  // namespace tandem::python
