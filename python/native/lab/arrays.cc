// SPDX-License-Identifier: MIT
// Arrays of numpy and scipy.sparse to data sets, in one pass and without a copy in between, and
// data sets to arrays. Data sets hold float32; what does not fit it is refused.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab.h"

namespace tandem::python {
namespace {

// Rows and columns are counted in 32 bits.
constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;

void check_shape(std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) {
    throw std::invalid_argument(
        fmt::format("Found array with shape ({}, {}) while a minimum of "
                    "1 sample and 1 feature is required.",
                    rows, columns));
  }
  if (rows > kMost || columns > kMost) {
    throw std::invalid_argument(
        fmt::format("Found array with shape ({}, {}) while at most {} rows "
                    "and columns are possible.",
                    rows, columns, kMost));
  }
}

[[noreturn]] void not_finite(double value) {
  throw std::invalid_argument(
      std::isnan(value) ? "Input X contains NaN."
                        : "Input X contains infinity or a value too large for dtype('float32').");
}

template <class From>
float to_float(const From& from) {
  const auto value = static_cast<float>(from);
  if (!std::isfinite(value)) not_finite(static_cast<double>(from));
  return value;
}

/// Elements may stand at any distance and anywhere: arrays are views.
template <class From>
void copy_dense(const py::array& x, data::Dataset& data, float bias) {
  const auto columns = static_cast<std::size_t>(x.shape(1));
  const auto* at = static_cast<const char*>(x.data());
  const py::ssize_t row_step = x.strides(0);
  const py::ssize_t column_step = x.strides(1);
  const py::gil_scoped_release release;
  for (std::size_t row = 0; row < data.rows; ++row) {
    float* to = data.dense.data() + row * data.features;
    const char* from = at + static_cast<py::ssize_t>(row) * row_step;
    for (std::size_t column = 0; column < columns; ++column, from += column_step) {
      From value;
      std::memcpy(&value, from, sizeof(value));
      to[column] = to_float(value);
    }
    if (bias != 0) to[columns] = bias;
  }
}

void read_dense(const py::array& x, float bias, data::Dataset& data) {
  if (x.ndim() != 2) {
    throw std::invalid_argument(fmt::format("Expected 2D array, got {}D array instead.", x.ndim()));
  }
  data.rows = static_cast<std::size_t>(x.shape(0));
  const auto columns = static_cast<std::size_t>(x.shape(1));
  check_shape(data.rows, columns);
  data.features = columns + (bias != 0 ? 1 : 0);
  data.dense = Buffer<float>(data.rows * data.features);
  if (py::isinstance<py::array_t<float>>(x)) {
    copy_dense<float>(x, data, bias);
  } else if (py::isinstance<py::array_t<double>>(x)) {
    copy_dense<double>(x, data, bias);
  } else {
    throw py::type_error("Expected an array of dtype float32 or float64.");
  }
}

/// Rows of a matrix in CSR form whose arrays are of these types.
template <class Index, class Value>
void copy_sparse(const py::array& indptr, const py::array& indices, const py::array& values,
                 std::size_t rows, std::size_t columns, float bias, data::Dataset& data) {
  const auto* ends = static_cast<const Index*>(indptr.data());
  const auto* from_columns = static_cast<const Index*>(indices.data());
  const auto* from_values = static_cast<const Value*>(values.data());
  const auto count = static_cast<std::int64_t>(std::min(indices.size(), values.size()));
  if (static_cast<std::size_t>(indptr.size()) != rows + 1 || ends[0] != 0 || ends[rows] < 0 ||
      static_cast<std::int64_t>(ends[rows]) > count) {
    throw std::invalid_argument("Invalid CSR matrix: indptr does not fit its shape and data.");
  }
  const py::gil_scoped_release release;
  data.sparse = true;
  data.rows = rows;
  data.features = columns + (bias != 0 ? 1 : 0);
  data.offsets.reserve(rows + 1);
  data.offsets.push_back(0);
  const std::size_t all = static_cast<std::size_t>(ends[rows]) + (bias != 0 ? rows : 0);
  data.columns.reserve(all);
  data.values.reserve(all);
  for (std::size_t row = 0; row < rows; ++row) {
    if (ends[row + 1] < ends[row] || static_cast<std::int64_t>(ends[row + 1]) > count) {
      throw std::invalid_argument("Invalid CSR matrix: indptr does not ascend.");
    }
    std::int64_t last = -1;
    for (Index k = ends[row]; k < ends[row + 1]; ++k) {
      const auto column = static_cast<std::int64_t>(from_columns[k]);
      if (column <= last || static_cast<std::size_t>(column) >= columns) {
        throw std::invalid_argument(
            fmt::format("Invalid CSR matrix: column {} in row {}, expected ascending columns "
                        "below {}.",
                        column, row, columns));
      }
      last = column;
      data.columns.push_back(static_cast<std::uint32_t>(column));
      data.values.push_back(to_float(from_values[k]));
    }
    if (bias != 0) {
      data.columns.push_back(static_cast<std::uint32_t>(columns));
      data.values.push_back(bias);
    }
    data.offsets.push_back(data.columns.size());
  }
}

/// A matrix of scipy's in CSR form, columns ascending in each row and none twice.
void read_sparse(const py::object& x, float bias, data::Dataset& data) {
  const auto shape = py::cast<std::pair<std::size_t, std::size_t>>(x.attr("shape"));
  const std::size_t rows = shape.first;
  const std::size_t columns = shape.second;
  check_shape(rows, columns);
  const auto indptr = py::cast<py::array>(x.attr("indptr"));
  const auto indices = py::cast<py::array>(x.attr("indices"));
  const auto values = py::cast<py::array>(x.attr("data"));
  const auto plain = [](const py::array& array) {
    constexpr int kPlain =
        py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    return array.ndim() == 1 && (array.flags() & kPlain) == kPlain;
  };
  if (!plain(indptr) || !plain(indices) || !plain(values)) {
    throw std::invalid_argument("Invalid CSR matrix: expected three contiguous vectors.");
  }
  const auto both = [&]<class Index>() {
    return py::isinstance<py::array_t<Index>>(indptr) &&
           py::isinstance<py::array_t<Index>>(indices);
  };
  const auto copy = [&]<class Index>() {
    if (py::isinstance<py::array_t<float>>(values)) {
      copy_sparse<Index, float>(indptr, indices, values, rows, columns, bias, data);
    } else if (py::isinstance<py::array_t<double>>(values)) {
      copy_sparse<Index, double>(indptr, indices, values, rows, columns, bias, data);
    } else {
      throw py::type_error("Expected a CSR matrix of dtype float32 or float64.");
    }
  };
  if (both.operator()<std::int32_t>()) {
    copy.operator()<std::int32_t>();
  } else if (both.operator()<std::int64_t>()) {
    copy.operator()<std::int64_t>();
  } else {
    throw py::type_error("Expected a CSR matrix with indices of dtype int32 or int64.");
  }
}

using Labels = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

data::Dataset make_dataset(const std::string& name, const py::object& x, const Labels& labels,
                           std::size_t classes, double bias) {
  if (classes < 2 || classes > kMost) {
    throw std::invalid_argument(
        fmt::format("The number of classes has to be from 2 to {}; got {}.", kMost, classes));
  }
  data::Dataset data;
  data.name = name;
  data.classes = classes;
  const float bias_value = to_float(bias);
  if (py::isinstance<py::array>(x)) {
    read_dense(py::reinterpret_borrow<py::array>(x), bias_value, data);
  } else {
    read_sparse(x, bias_value, data);
  }
  if (labels.ndim() != 1 || static_cast<std::size_t>(labels.size()) != data.rows) {
    throw std::invalid_argument(
        fmt::format("Found input variables with inconsistent numbers of samples: [{}, {}]",
                    data.rows, labels.size()));
  }
  data.labels.reserve(data.rows);
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::int64_t label = labels.data()[row];
    if (label < 0 || static_cast<std::size_t>(label) >= classes) {
      throw std::invalid_argument(
          fmt::format("Invalid label {}, expected 0 to {}.", label, classes - 1));
    }
    data.labels.push_back(static_cast<std::uint32_t>(label));
  }
  return data;
}

std::shared_ptr<data::Task> make_task(const std::string& name, const py::object& x,
                                      const Labels& labels, std::size_t classes, double bias,
                                      const py::object& validation_x,
                                      const py::object& validation_labels) {
  auto task = std::make_shared<data::Task>();
  task->train = make_dataset(name, x, labels, classes, bias);
  if (!validation_x.is_none()) {
    task->validation =
        make_dataset(name, validation_x, py::cast<Labels>(validation_labels), classes, bias);
    if (task->validation->features != task->train.features) {
      throw std::invalid_argument(
          fmt::format("The validation part has {} features, but the training part has {} features.",
                      task->validation->features, task->train.features));
    }
  }
  return task;
}

// ---- to arrays ----------------------------------------------------------------------------------

/// An array that looks at the task's memory and keeps it.
template <class T>
py::array view(const std::shared_ptr<data::Task>& task, const T* data,
               std::vector<py::ssize_t> shape) {
  return py::array_t<T>(std::move(shape), data, py::cast(task));
}

py::dict to_arrays(const std::shared_ptr<data::Task>& task, data::Dataset& data) {
  const auto rows = static_cast<py::ssize_t>(data.rows);
  const auto features = static_cast<py::ssize_t>(data.features);
  py::dict arrays;
  arrays["name"] = data.name;
  arrays["classes"] = data.classes;
  arrays["class_names"] = data.class_names;
  arrays["shape"] = py::make_tuple(rows, features);
  arrays["labels"] = view(task, data.labels.data(), {rows});
  arrays["sparse"] = data.sparse;
  if (data.sparse) {
    const auto count = static_cast<py::ssize_t>(data.values.size());
    arrays["indptr"] = view(task, data.offsets.data(), {rows + 1});
    arrays["indices"] = view(task, data.columns.data(), {count});
    arrays["values"] = view(task, data.values.data(), {count});
  } else {
    arrays["dense"] = view(task, data.dense.data(), {rows, features});
  }
  return arrays;
}

py::dict load_data(const std::string& name, const std::string& data_dir, double validation,
                   std::uint64_t seed, const std::map<std::string, std::string>& options) {
  std::shared_ptr<data::Task> task;
  {
    const py::gil_scoped_release release;
    task = std::make_shared<data::Task>(
        data::load_task(name, {.search = data::search_folders(data_dir),
                               .validation = validation,
                               .seed = seed,
                               .options = options}));
  }
  if (!task->train.texts.empty()) {
    throw std::invalid_argument(fmt::format("The data set '{}' has texts, not features.", name));
  }
  py::dict parts;
  parts["notes"] = task->notes;
  parts["train"] = to_arrays(task, task->train);
  parts["validation"] =
      task->validation ? py::object(to_arrays(task, *task->validation)) : py::object(py::none());
  return parts;
}

}  // namespace

void add_arrays(py::module_& module) {
  py::class_<data::Task, std::shared_ptr<data::Task>>(
      module, "Task", "Samples with labels from 0, and those held out: float32, the library's own.")
      .def(py::init(&make_task), py::arg("name"), py::arg("x"), py::arg("labels"),
           py::arg("classes"), py::arg("bias") = 0.0, py::arg("validation_x") = py::none(),
           py::arg("validation_labels") = py::none())
      .def_property_readonly("rows", [](const data::Task& task) { return task.train.rows; })
      .def_property_readonly("features", [](const data::Task& task) { return task.train.features; })
      .def_property_readonly("classes", [](const data::Task& task) { return task.train.classes; });
  module.def("load_data", &load_data, py::arg("name"), py::arg("data_dir"), py::arg("validation"),
             py::arg("seed"), py::arg("options"));
}

}  // namespace tandem::python
