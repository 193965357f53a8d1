// SPDX-License-Identifier: MIT
// What the plug-in offers to the program.
#include "plugin/plugin.h"

#include "bench_torch.h"

extern "C" const tandem::plugin::Plugin* tandem_plugin_v1() {
  static const tandem::plugin::Plugin kPlugin{TANDEM_BUILD_ID, tandem::torch_bench()};
  return &kPlugin;
}
