// SPDX-License-Identifier: MIT
// What TandemClassifier trains with: one run of one optimizer on softmax regression, and the
// figures of the data from which it takes a rate where none is given.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <tandem/executor.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "lab.h"
#include "problems/softmax.h"
#include "train/trainer.h"

namespace tandem::python {
namespace {

/// Calls use(value, column) for what row n has.
template <class Use>
void each_of_row(const data::Dataset& data, std::size_t n, const Use& use) {
  if (data.sparse) {
    for (std::uint64_t k = data.offsets[n]; k < data.offsets[n + 1]; ++k) {
      use(static_cast<double>(data.values[k]), data.columns[k]);
    }
  } else {
    const float* row = data.dense.data() + n * data.features;
    for (std::size_t i = 0; i < data.features; ++i) use(static_cast<double>(row[i]), i);
  }
}

/// The greatest eigenvalue of X^T X / rows, by power iteration on some of the rows: from below, but
/// seldom by more than a few per cent.
double top_eigenvalue(const data::Dataset& data) {
  constexpr std::size_t kMostRows = 1000;
  constexpr int kIterations = 20;
  const std::size_t step = (data.rows + kMostRows - 1) / kMostRows;
  Random random(1, 1);
  std::vector<double> v(data.features);
  for (double& value : v) value = random.normal();
  double eigenvalue = 0;
  for (int iteration = 0; iteration <= kIterations; ++iteration) {
    double square = 0;
    for (const double value : v) square += value * value;
    if (square == 0) return 0;
    const double norm = std::sqrt(square);
    if (iteration > 0) eigenvalue = norm;
    for (double& value : v) value /= norm;
    std::vector<double> next(data.features, 0);
    std::size_t rows = 0;
    for (std::size_t n = 0; n < data.rows; n += step, ++rows) {
      double product = 0;
      each_of_row(data, n, [&](double x, std::size_t i) { product += x * v[i]; });
      each_of_row(data, n, [&](double x, std::size_t i) { next[i] += x * product; });
    }
    for (double& value : next) value /= static_cast<double>(rows);
    v = std::move(next);
  }
  return eigenvalue;
}

py::dict scales(const std::shared_ptr<data::Task>& task) {
  const data::Dataset& data = task->train;
  double most_square = 0;
  double mean_square = 0;
  double mean_sum = 0;
  double top = 0;
  {
    const py::gil_scoped_release release;
    const auto rows = static_cast<double>(data.rows);
    for (std::size_t n = 0; n < data.rows; ++n) {
      double square = 0;
      double sum = 0;
      each_of_row(data, n, [&](double x, std::size_t) {
        square += x * x;
        sum += std::abs(x);
      });
      mean_sum += sum / rows;
      most_square = std::max(most_square, square);
      mean_square += square / rows;
    }
    top = std::min(top_eigenvalue(data), mean_square);
  }
  py::dict figures;
  figures["most_square"] = most_square;
  figures["mean_square"] = mean_square;
  figures["mean_sum"] = mean_sum;
  figures["top_eigenvalue"] = top;
  return figures;
}

/// Trains until the loss changes by no more than `tolerance` of itself in an epoch, twice in a row:
/// once may be chance.
py::dict fit(const std::shared_ptr<data::Task>& task, const std::string& method,
             const OptionMap& options, double lambda, std::size_t batch, std::size_t epochs,
             std::uint64_t seed, bool zeros, double tolerance, int threads,
             const py::object& progress) {
  if (!(lambda >= 0) || !std::isfinite(lambda)) {
    throw std::invalid_argument("Invalid lambda, expected a number of at least 0");
  }
  Watch watch;
  std::vector<double> losses;
  py::array_t<float> weights({task->train.classes, task->train.features});
  float* to = weights.mutable_data();
  bool diverged = false;
  bool converged = false;
  {
    const py::gil_scoped_release release;
    const problems::SoftmaxRegression problem(task, lambda);
    train::TrainOptions train;
    train.batch = batch;
    train.epochs = epochs;
    train.seed = seed;
    train.init = zeros ? train::Init::zeros : train::Init::normal;
    train.progress = [&](double part) {
      return watch.go_on([&] {
        if (!progress.is_none()) {
          const auto done = static_cast<double>(losses.empty() ? 0 : losses.size() - 1);
          progress(done + part, losses.empty() ? 0.0 : losses.back());
        }
      });
    };
    try {
      train::Trainer trainer(problem, {{method, options}}, train, pool_executor(threads));
      int still = 0;
      bool more = true;
      while (more && still < 2) {
        more = trainer.epoch();
        const train::Member& member = trainer.members().front();
        losses.clear();
        for (const train::Point& point : member.points) losses.push_back(point.train_loss);
        diverged = member.diverged;
        if (losses.size() < 2) continue;
        const double change = std::abs(losses.back() - losses[losses.size() - 2]);
        still = change <= tolerance * std::abs(losses.back()) ? still + 1 : 0;
      }
      converged = still >= 2;
      if (!diverged) {
        const std::span<const float> found = trainer.weights(0);
        std::copy(found.begin(), found.end(), to);
      }
    } catch (const train::Interrupted&) {
    }
  }
  watch.rethrow();
  py::dict result;
  result["weights"] = weights;
  // A shape: given a count, pybind11 before 2.12 misreads the size of an element from numpy 2.
  const py::array::ShapeContainer shape = {losses.size()};
  result["losses"] = py::array_t<double>(shape, losses.data());
  result["diverged"] = diverged;
  result["converged"] = converged;
  return result;
}

}  // namespace

void add_classifier(py::module_& module) {
  module.def("scales", &scales, py::arg("task"),
             "Of rows x: max |x|^2, mean |x|^2, mean sum |x_i|, the top eigenvalue of X^T X / n.");
  module.def("fit", &fit, py::arg("task"), py::arg("method"), py::arg("options"),
             py::arg("lambda_"), py::arg("batch"), py::arg("epochs"), py::arg("seed"),
             py::arg("zeros"), py::arg("tolerance"), py::arg("threads"), py::arg("progress"));
}

}  // namespace tandem::python
