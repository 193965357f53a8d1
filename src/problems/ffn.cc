// SPDX-License-Identifier: MIT
// Activations are matrices with a row a unit and a column a sample, so that a layer's output,
// packed, is what the next layer's weights are multiplied with. Members are computed one after
// another with the same calls, so that nobody's bits depend on who else is there.
#include "problems/ffn.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/float_environment.h"
#include "kernels/kernels.h"
#include "problems/nonzeros.h"
#include "problems/require_features.h"

namespace tandem::problems {
namespace {

const kernels::Kernels<float>& simd() { return kernels::kernels<float>(); }

/// `count` filled up to whole panels.
std::size_t whole_panels(std::size_t count) {
  const std::size_t width = simd().panel_width();
  return (count + width - 1) / width * width;
}

// ---- the first layer, which reads the data
// -------------------------------------------------------

/// The features of a batch's samples, as the first layer uses them. Rows of outputs are
/// whole_panels(samples) apart.
class Input {
 public:
  virtual ~Input() = default;
  /// out[u][n] = weights_u . x_n
  virtual void forward(const Layer& layer, const float* weights, float* out) const = 0;
  /// gradient_u = sum over n of errors[u][n] x_n
  virtual void backward(const Layer& layer, const float* errors, float* gradient) const = 0;
};

class DenseInput : public Input {
 public:
  DenseInput(const data::Dataset& data, std::span<const std::uint32_t> rows, bool bias)
      : columns_(data.features + (bias ? 1 : 0)) {
    if (bias) with_bias_.resize(rows.size() * columns_, 1.0F);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const float* row = data.dense.data() + rows[n] * data.features;
      if (bias) {
        float* copy = with_bias_.data() + n * columns_;
        std::copy_n(row, data.features, copy);
        row = copy;
      }
      samples_.push_back(row);
    }
    by_feature_.resize(kernels::packed_size(simd(), columns_, samples_.size()));
    simd().pack_transposed(samples_.data(), samples_.size(), columns_, by_feature_.data());
  }

  void forward(const Layer& layer, const float* weights, float* out) const override {
    const std::size_t row = whole_panels(samples_.size());
    simd().product(layer.units, row, columns_, weights, columns_, 1, by_feature_.data(), out, row);
  }

  void backward(const Layer& layer, const float* errors, float* gradient) const override {
    // Losses do not need it, so it is made when the first gradient is asked for.
    std::call_once(packed_, [this] {
      by_sample_.resize(kernels::packed_size(simd(), samples_.size(), columns_));
      simd().pack(samples_.data(), samples_.size(), columns_, by_sample_.data());
    });
    simd().product(layer.units, columns_, samples_.size(), errors, whole_panels(samples_.size()), 1,
                   by_sample_.data(), gradient, columns_);
  }

 private:
  std::size_t columns_;
  std::vector<float> with_bias_;
  std::vector<const float*> samples_;
  std::vector<float> by_feature_;
  mutable std::once_flag packed_;
  mutable std::vector<float> by_sample_;
};

/// Costs time in proportion to the non-zeros; only the gradient itself is dense.
class SparseInput : public Input {
 public:
  SparseInput(const data::Dataset& data, std::span<const std::uint32_t> rows, bool bias)
      : samples_(rows.size()), nonzeros_(data, rows, bias) {}

  void forward(const Layer& layer, const float* weights, float* out) const override {
    const std::size_t row = whole_panels(samples_);
    nonzeros_.forward(layer.units, weights, out, row);
    for (std::size_t u = 0; u < layer.units; ++u) {
      std::fill(out + u * row + samples_, out + (u + 1) * row, 0.0F);
    }
  }

  void backward(const Layer& layer, const float* errors, float* gradient) const override {
    nonzeros_.backward(layer.units, errors, whole_panels(samples_), gradient);
  }

 private:
  std::size_t samples_;
  Nonzeros nonzeros_;
};

std::unique_ptr<Input> make_input(const data::Dataset& data, std::span<const std::uint32_t> rows,
                                  bool sparse, bool bias) {
  if (sparse) return std::make_unique<SparseInput>(data, rows, bias);
  return std::make_unique<DenseInput>(data, rows, bias);
}

// ---- what a thread needs for one member
// ----------------------------------------------------------

/// Kept from call to call.
struct Workspace {
  std::vector<std::vector<float>> outputs;  // of each layer; the last are the logits
  std::vector<float> errors;                // the loss by a layer's sums
  std::vector<float> errors_below;
  std::vector<float> packed;
  std::vector<const float*> rows;
};

Workspace& workspace() {
  static thread_local Workspace room;
  return room;
}

float* room_for(std::vector<float>& room, std::size_t size) {
  if (room.size() < size) room.resize(size);
  return room.data();
}

/// A NaN stays one: a net that diverged must not look as if it were at rest.
void relu(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < 0 ? 0.0F : values[i];
}

/// Errors pass where the unit was on.
void relu_backward(const float* outputs, float* errors, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) errors[i] = outputs[i] == 0 ? 0.0F : errors[i];
}

class FeedForwardBatch : public Batch {
 public:
  FeedForwardBatch(const std::vector<Layer>& layers, const data::Dataset& data,
                   std::span<const std::uint32_t> rows, bool sparse, Loss loss)
      : layers_(layers),
        loss_(loss_kernels(loss)),
        row_(whole_panels(rows.size())),
        input_(make_input(data, rows, sparse, layers.front().bias)),
        ones_(row_, 1.0F) {
    for (const Layer& layer : layers_) dimension_ += layer.size();
    for (const std::uint32_t row : rows) labels_.push_back(data.labels[row]);
  }

  void gradients(std::size_t members, const float* weights, float* gradients,
                 double* rough_losses) const override {
    const FlushDenormals flush;  // a saturated softmax is full of them
    for (std::size_t m = 0; m < members; ++m) {
      rough_losses[m] = gradient(weights + m * dimension_, gradients + m * dimension_);
    }
  }

  void losses(std::size_t members, const float* weights, LossSum* losses) const override {
    const FlushDenormals flush;
    Workspace& room = workspace();
    for (std::size_t m = 0; m < members; ++m) {
      forward(weights + m * dimension_, room);
      const kernels::SoftmaxLoss sum =
          loss_.sum(room.outputs[layers_.size() - 1].data(), row_, layers_.back().units,
                    labels_.data(), labels_.size());
      losses[m] = {sum.loss, sum.correct};
    }
  }

 private:
  /// The outputs of the layer below, and ones for the bias, as room.rows.
  void gather_inputs(std::size_t layer, Workspace& room) const {
    const float* below = room.outputs[layer - 1].data();
    room.rows.clear();
    for (std::size_t i = 0; i < layers_[layer].inputs; ++i) room.rows.push_back(below + i * row_);
    room.rows.push_back(ones_.data());
  }

  /// Fills room.outputs.
  void forward(const float* weights, Workspace& room) const {
    if (room.outputs.size() < layers_.size()) room.outputs.resize(layers_.size());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      float* out = room_for(room.outputs[l], layer.units * row_);
      if (l == 0) {
        input_->forward(layer, weights, out);
      } else {
        gather_inputs(l, room);
        float* packed = room_for(room.packed, layer.columns() * row_);
        simd().pack(room.rows.data(), layer.columns(), row_, packed);
        simd().product(layer.units, row_, layer.columns(), weights, layer.columns(), 1, packed, out,
                       row_);
      }
      if (l + 1 < layers_.size()) relu(out, layer.units * row_);
      weights += layer.size();
    }
  }

  /// Of one member. Returns the rough loss.
  double gradient(const float* weights, float* gradient) const {
    Workspace& room = workspace();
    forward(weights, room);
    const std::size_t last = layers_.size() - 1;
    const auto samples = static_cast<double>(labels_.size());
    const double rough =
        loss_.gradient(room.outputs[last].data(), row_, layers_[last].units, labels_.data(),
                       labels_.size(), static_cast<float>(1 / samples)) /
        samples;
    std::swap(room.outputs[last], room.errors);
    weights += dimension_;
    gradient += dimension_;
    for (std::size_t l = last; l > 0; --l) {
      weights -= layers_[l].size();
      gradient -= layers_[l].size();
      layer_gradient(l, gradient, room);
      errors_of_layer_below(l, weights, room);
      std::swap(room.errors, room.errors_below);
    }
    input_->backward(layers_.front(), room.errors.data(), gradient - layers_.front().size());
    return rough;
  }

  /// gradient = errors (units x samples) inputs^T (samples x columns)
  void layer_gradient(std::size_t l, float* gradient, Workspace& room) const {
    const Layer& layer = layers_[l];
    gather_inputs(l, room);
    float* packed =
        room_for(room.packed, kernels::packed_size(simd(), labels_.size(), layer.columns()));
    simd().pack_transposed(room.rows.data(), layer.columns(), labels_.size(), packed);
    simd().product(layer.units, layer.columns(), labels_.size(), room.errors.data(), row_, 1,
                   packed, gradient, layer.columns());
  }

  /// errors_below = weights^T errors where the units below were on; the bias has nobody below.
  void errors_of_layer_below(std::size_t l, const float* weights, Workspace& room) const {
    const Layer& layer = layers_[l];
    room.rows.clear();
    for (std::size_t u = 0; u < layer.units; ++u) {
      room.rows.push_back(room.errors.data() + u * row_);
    }
    float* packed = room_for(room.packed, layer.units * row_);
    simd().pack(room.rows.data(), layer.units, labels_.size(), packed);
    float* below = room_for(room.errors_below, layer.inputs * row_);
    simd().product(layer.inputs, row_, layer.units, weights, 1, layer.columns(), packed, below,
                   row_);
    relu_backward(room.outputs[l - 1].data(), below, layer.inputs * row_);
  }

  const std::vector<Layer>& layers_;
  LossKernels loss_;
  std::size_t row_;  // of outputs and errors
  std::size_t dimension_ = 0;
  std::unique_ptr<Input> input_;
  std::vector<float> ones_;
  std::vector<std::uint32_t> labels_;
};

}  // namespace

FeedForward::FeedForward(std::shared_ptr<const data::Task> task, std::vector<std::size_t> hidden,
                         double lambda, bool input_bias, Loss loss)
    : task_(std::move(task)), lambda_(lambda), loss_(loss) {
  require_features(task_->train);
  mostly_zeros_ = mostly_zeros(task_->train);
  Layer layer{.inputs = task_->train.features, .units = 0, .bias = input_bias};
  std::vector<std::size_t> widths = std::move(hidden);
  widths.push_back(task_->train.classes);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) {
      throw std::invalid_argument(fmt::format(
          "Invalid width of layer {} of a feed-forward net: 0, expected at least 1", i + 1));
    }
    layer.units = widths[i];
    layers_.push_back(layer);
    layer = {.inputs = widths[i], .units = 0, .bias = true};
  }
}

std::vector<std::size_t> FeedForward::segments() const {
  std::vector<std::size_t> sizes;
  for (const Layer& layer : layers_) sizes.push_back(layer.size());
  return sizes;
}

std::string FeedForward::description() const {
  std::string text = fmt::format("feed-forward net, {}", layers_.front().inputs);
  for (const Layer& layer : layers_) text += fmt::format("-{}", layer.units);
  return text + (task_->train.sparse ? ", sparse" : "") + loss_note(loss_, task_->train.classes);
}

std::unique_ptr<Batch> FeedForward::batch(Part part, std::span<const std::uint32_t> rows) const {
  const data::Dataset& data = part == Part::train ? task_->train : *task_->validation;
  return std::make_unique<FeedForwardBatch>(layers_, data, rows, mostly_zeros_, loss_);
}

}  // namespace tandem::problems
