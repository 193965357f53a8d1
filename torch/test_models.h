// SPDX-License-Identifier: MIT
// For tests of the adapter: a record an optimizer, and a small model whose gradient is a function
// of the weights and the step, so that an error in a step comes back in all later ones.
#pragma once

#include <tandem/registry.h>
#include <tandem/torch.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tandem::optim::testing {

using Groups = std::vector<torch::optim::OptimizerParamGroup>;
using Tensors = std::vector<torch::Tensor>;

/// One step of a rule written with plain ATen operations, over all weights in one vector: updates
/// `w` in place, from `g` in step t (from 1).
using Reference = std::function<void(torch::Tensor& w, const torch::Tensor& g, int t)>;

struct Record {
  std::string rule;
  /// With the options of the record, whose rate is `lr`.
  std::function<std::unique_ptr<Optimizer>(Groups)> make;
  std::function<std::unique_ptr<Options>(double lr)> options;
  std::function<std::unique_ptr<Options>()> defaults = {};
  double lr = 0;
  OptionMap core = {};  // the same for the library
  std::function<Reference()> reference = {};
  std::function<std::unique_ptr<torch::optim::Optimizer>(Tensors)> twin = {};  // torch's own
  std::vector<std::string> state = {};  // what is kept of each weight, by its key in state()
};

const std::vector<Record>& records();
const Record& record(const std::string& rule);

/// Tensors of several shapes, 64 weights in all.
Tensors make_weights(torch::ScalarType type, std::uint64_t seed = 1);
/// Gives every tensor that wants one the gradient of step t of a noisy quadratic bowl.
void set_gradients(const Tensors& weights, int t);
/// All weights in one vector.
torch::Tensor flat(const Tensors& weights);
Tensors copies(const Tensors& weights);

/// Largest difference over the largest value.
double difference(const torch::Tensor& x, const torch::Tensor& y);
bool same_bits(const Tensors& x, const Tensors& y);

}  // namespace tandem::optim::testing
