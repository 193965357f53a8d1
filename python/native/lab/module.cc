// SPDX-License-Identifier: MIT
// The native half of tandem.lab: the module, and which Python exceptions ours become.
#include <tandem/registry.h>
#include <tandem/version.h>

#include "lab.h"
#include "sources/source.h"
#include "store/store.h"

namespace tandem::python {
namespace {

/// The optimizers by name, with the values that their options have by default.
py::dict optimizers() {
  py::dict all;
  for (const OptimizerInfo& info : optimizer_infos()) {
    py::dict options;
    for (const OptionInfo& option : info.options) {
      options[py::str(option.name)] = option.default_value;
    }
    all[py::str(info.name)] = options;
  }
  return all;
}

void add_exceptions(py::module_& module) {
  // std::invalid_argument is a ValueError by pybind11's own rules.
  py::register_exception<store::StoreError>(module, "StoreError", PyExc_OSError);
  py::register_exception<data::DataError>(module, "DataError", PyExc_ValueError);
}

void add_names(py::module_& module) {
  module.attr("__version__") = version();
  module.def("optimizers", &optimizers, "Options of each optimizer and their defaults.");
  module.def(
      "parse_method",
      [](const std::string& name) {
        const sources::Method method = sources::parse_method(name);
        return py::make_tuple(method.source, method.rule);
      },
      py::arg("name"), "Source and rule of a method; ValueError for an unknown one.");
}

}  // namespace
}  // namespace tandem::python

PYBIND11_MODULE(_lab, module) {
  module.doc() = "The native half of tandem.lab.";
  tandem::python::add_exceptions(module);
  tandem::python::add_names(module);
  tandem::python::add_arrays(module);
  tandem::python::add_classifier(module);
  tandem::python::add_store(module);
  tandem::python::add_study(module);
}
