// SPDX-License-Identifier: MIT
// What the files of the native half of tandem.lab share.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "data/dataset.h"

namespace tandem::python {

namespace py = pybind11;

// What each file adds to the module.
void add_arrays(py::module_& module);
void add_classifier(py::module_& module);
void add_store(py::module_& module);
void add_study(py::module_& module);

/// Work without the GIL asks it between steps whether to go on: now and then it takes the GIL, lets
/// Python handle its signals, so that Ctrl-C stops the work, and tells Python how far it is. Made
/// and destroyed with the GIL held.
class Watch {
 public:
  /// Calls tell() with the GIL held, if it is time again. False once Python raised something.
  template <class Tell>
  bool go_on(const Tell& tell) {
    if (raised_) return false;
    const auto time = std::chrono::steady_clock::now();
    if (time - asked_ < std::chrono::milliseconds(50)) return true;
    const py::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      tell();
    } catch (py::error_already_set& error) {
      raised_.emplace(std::move(error));
    }
    asked_ = std::chrono::steady_clock::now();
    return !raised_.has_value();
  }

  /// Throws what Python raised, if it did.
  void rethrow() const {
    if (raised_) throw py::error_already_set(*raised_);
  }

 private:
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  std::optional<py::error_already_set> raised_;
};

}  // namespace tandem::python
