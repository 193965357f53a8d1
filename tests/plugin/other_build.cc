// SPDX-License-Identifier: MIT
// A plug-in of another build, for the test that the program refuses it.
#include "plugin/plugin.h"

extern "C" const tandem::plugin::Plugin* tandem_plugin_v1() {
  static const tandem::plugin::Plugin kPlugin{.build_id = "tandem 0.0.1 of long ago",
                                              .library = nullptr,
                                              .set_threads = nullptr,
                                              .torch_bench = {},
                                              .deep_models = {}};
  return &kPlugin;
}
