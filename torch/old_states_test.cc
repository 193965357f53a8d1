// SPDX-License-Identifier: MIT
// Archives and state files that earlier versions wrote (tests/states/torch) load, and training goes on
// from them as it did.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "test_models.h"

namespace tandem::optim::testing {
namespace {

using torch::Tensor;
using Make = std::unique_ptr<Optimizer> (*)(const Tensors&);

template <class RuleOptions>
std::unique_ptr<Optimizer> make(const Tensors& parameters, const RuleOptions& options) {
  return std::make_unique<Rule<RuleOptions>>(parameters, options);
}

struct OldState {
  std::string file;
  Make make;
  int steps = 5;
  bool large = false;
};

const std::vector<OldState> old_states = {
    {"diag-to", [](const Tensors& p) { return make(p, DiagonalTOOptions()); }},
    {"diag-to-bfloat16",
     [](const Tensors& p) { return make(p, DiagonalTOOptions().state_type(StateType::bfloat16)); }},
    {"ro-to", [](const Tensors& p) { return make(p, RankOneTOOptions()); }},
    {"full-to", [](const Tensors& p) { return make(p, FullTOOptions()); }},
    {"full-to-dense", [](const Tensors& p) { return make(p, FullTOOptions().form(Form::dense)); },
     5, true},
    {"full-to-bfloat16",
     [](const Tensors& p) {
       return make(p, FullTOOptions().form(Form::dense).state_type(StateType::bfloat16));
     }},
    {"full-to-span", [](const Tensors& p) { return make(p, FullTOOptions().form(Form::span)); },
     20},
    {"block-to", [](const Tensors& p) { return make(p, BlockTOOptions().block(5)); }},
    {"adam-to", [](const Tensors& p) { return make(p, AdamTOOptions()); }},
    {"adamw", [](const Tensors& p) { return make(p, AdamWOptions()); }},
    {"nadamw", [](const Tensors& p) { return make(p, NAdamWOptions()); }},
    {"rmsprop", [](const Tensors& p) { return make(p, RMSPropOptions().alpha(0.9)); }}};

/// The gradients of tests/state_exchange.cc.
void set_exchange_gradients(const Tensors& parameters, int step) {
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    Tensor gradient = torch::zeros(parameters[k].sizes());
    for (int i = 0; i < gradient.numel(); ++i) {
      gradient.data_ptr<float>()[i] =
          static_cast<float>(((i + 5 * static_cast<int>(k)) * 37 + step * 11) % 29 - 14) / 64;
    }
    Tensor(parameters[k]).mutable_grad() = gradient;
  }
}

TEST(TorchOldStates, LoadAndGoOn) {
  const std::filesystem::path folder =
      std::filesystem::path(TANDEM_SOURCE_DIR) / "tests/states/torch";
  for (const OldState& old : old_states) {
    for (const bool archive : {true, false}) {
      SCOPED_TRACE(old.file + (archive ? ".pt" : ".safetensors"));
      Tensors parameters = {
          torch::zeros(old.large ? c10::IntArrayRef{20, 25} : c10::IntArrayRef{3, 4}),
          torch::zeros(old.large ? c10::IntArrayRef{20} : c10::IntArrayRef{3})};
      Tensors later = copies(parameters);
      std::ifstream weights(folder / (old.file + ".weights"), std::ios::binary);
      for (const Tensors* values : {&parameters, &later}) {
        for (const Tensor& tensor : *values) {
          weights.read(static_cast<char*>(tensor.data_ptr()),
                       static_cast<std::streamsize>(tensor.nbytes()));
        }
      }
      ASSERT_TRUE(weights);
      for (Tensor& parameter : parameters) parameter.requires_grad_(true);
      const auto optimizer = old.make(parameters);
      if (archive) {
        torch::load(*optimizer, (folder / (old.file + ".pt")).string());
      } else {
        torch::OrderedDict<std::string, Tensor> names;
        names.insert("fc.weight", parameters[0]);
        names.insert("fc.bias", parameters[1]);
        optimizer->name_parameters(names);
        optimizer->load_state(folder / (old.file + ".safetensors"));
      }
      EXPECT_EQ(optimizer->state_of(parameters[1])->step(), old.steps);
      for (int step = old.steps + 1; step <= old.steps + 5; ++step) {
        set_exchange_gradients(parameters, step);
        optimizer->step();
      }
      EXPECT_TRUE(same_bits(parameters, later));
    }
  }
}

TEST(TorchOldStates, OptionsComeWithAnArchive) {
  const std::string file = std::string(TANDEM_SOURCE_DIR) + "/tests/states/torch/rmsprop.pt";
  const Tensors parameters = {torch::zeros({3, 4}), torch::zeros({3})};
  RMSProp optimizer(parameters, 0.5);
  torch::load(optimizer, file);
  const auto& options = static_cast<const RMSPropOptions&>(optimizer.param_groups()[0].options());
  EXPECT_DOUBLE_EQ(options.alpha(), 0.9);
  EXPECT_DOUBLE_EQ(options.lr(), 0.01);
}

}  // namespace
}  // namespace tandem::optim::testing
