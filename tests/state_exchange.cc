// SPDX-License-Identifier: MIT
// Half of the test that states go from C++ to Python and back (python/tests/test_state_files.py):
//   state_exchange write RULE FILE    five steps, the state into FILE, the weights printed; five
//                                     more steps, the weights printed
//   state_exchange go-on RULE FILE    weights from stdin, the state from FILE, five steps more, the
//                                     weights printed
#include <ATen/ops/zeros.h>
#include <tandem/torch/rules.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace tandem::optim;

/// The numbers that test_state_files.py makes, exact in float.
void set_gradient(at::Tensor& parameter, int place, int step) {
  float* g = parameter.mutable_grad().data_ptr<float>();
  for (int i = 0; i < parameter.numel(); ++i) {
    g[i] = static_cast<float>(((i + 5 * place) * 37 + step * 11) % 29 - 14) / 64;
  }
}

std::unique_ptr<Optimizer> make(const std::string& rule, const std::vector<at::Tensor>& all) {
  if (rule == "diag-to") return std::make_unique<DiagonalTO>(all);
  if (rule == "ro-to") return std::make_unique<RankOneTO>(all);
  if (rule == "full-to") return std::make_unique<FullTO>(all);
  if (rule == "block-to") return std::make_unique<BlockTO>(all);
  if (rule == "adam-to") return std::make_unique<AdamTO>(all);
  if (rule == "adamw") return std::make_unique<AdamW>(all);
  throw std::invalid_argument("no such rule: " + rule);
}

void print(const std::vector<at::Tensor>& parameters) {
  for (const at::Tensor& parameter : parameters) {
    for (int i = 0; i < parameter.numel(); ++i) {
      std::printf("%a ", static_cast<double>(parameter.data_ptr<float>()[i]));
    }
  }
  std::printf("\n");
}

void run(const std::string& mode, const std::string& rule, const std::string& file) {
  std::vector<at::Tensor> parameters = {at::zeros({3, 4}), at::zeros({3})};
  for (at::Tensor& parameter : parameters) {
    parameter.requires_grad_(true);
    parameter.mutable_grad() = at::zeros(parameter.sizes());
  }
  const auto optimizer = make(rule, parameters);
  torch::OrderedDict<std::string, torch::Tensor> names;
  names.insert("fc.weight", parameters[0]);
  names.insert("fc.bias", parameters[1]);
  optimizer->name_parameters(names);
  const auto five_steps = [&](int first) {
    for (int step = first; step < first + 5; ++step) {
      for (int k = 0; k < 2; ++k) set_gradient(parameters[static_cast<std::size_t>(k)], k, step);
      optimizer->step();
    }
    print(parameters);
  };
  const bool writes = mode == "write";
  for (at::Tensor& parameter : parameters) {
    float* w = parameter.data_ptr<float>();
    for (int i = 0; i < parameter.numel(); ++i) {
      w[i] = static_cast<float>((i * 13) % 17 - 8) / 8;
      if (!writes && std::scanf("%a", &w[i]) != 1) throw std::invalid_argument("no weights");
    }
  }
  if (writes) {
    five_steps(1);
    optimizer->save_state(file);
  } else {
    optimizer->load_state(file);
  }
  five_steps(6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "state_exchange: %s\n", error.what());
    return 1;
  }
  return 0;
}
