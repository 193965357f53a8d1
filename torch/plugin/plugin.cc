// SPDX-License-Identifier: MIT
// What the plug-in offers to the program.
#include "plugin/plugin.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include "bench_torch.h"
#include "deep/image_problem.h"
#include "deep/llama_problem.h"

extern "C" const tandem::plugin::Plugin* tandem_plugin_v1() {
  static const tandem::plugin::Plugin kPlugin{
      .build_id = TANDEM_BUILD_ID,
      .library = [] { return std::string("LibTorch ") + TORCH_VERSION; },
      .set_threads = [](int threads) { at::set_num_threads(threads); },
      .torch_bench = tandem::torch_bench(),
      .deep_models = {.resnet = tandem::deep::make_resnet, .llama = tandem::deep::make_llama}};
  return &kPlugin;
}
