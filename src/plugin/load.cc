// SPDX-License-Identifier: MIT
#include "plugin/load.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <malloc.h>
#include <tandem/executor.h>

#include <filesystem>
#include <string_view>

#include "base/find_library.h"
#include "plugin/blas_core.h"

namespace tandem::plugin {
namespace {

namespace fs = std::filesystem;

/// Torch gives tensors back and takes new ones all the time. By default the C library returns large
/// ones to the kernel and gets them page by page again, which was half of the time of a Llama's
/// step.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMost = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kMost);
  mallopt(M_TRIM_THRESHOLD, kMost);
#endif
}

const Plugin& open(const fs::path& path) {
  choose_blas_core();
  keep_freed_memory();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw PluginError(fmt::format("Cannot load the plug-in {}: {}", path.string(), dlerror()));
  }
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kEntryName));
  if (entry == nullptr) {
    throw PluginError(
        fmt::format("{} is no plug-in of tandem: it has no {}()", path.string(), kEntryName));
  }
  const Plugin* plugin = entry();
  if (plugin->build_id != std::string_view(TANDEM_BUILD_ID)) {
    throw PluginError(
        fmt::format("The plug-in {} is of another build: {}, and the program is of {}",
                    path.string(), plugin->build_id, TANDEM_BUILD_ID));
  }
  return *plugin;
}

fs::path find_torch() {
  try {
    return find_library("tandem_torch_plugin.so",
                        "this tandem was built or installed without its LibTorch part, which is "
                        "built where LibTorch is found (Debian: libtorch-dev)");
  } catch (const LibraryNotFound& error) {
    throw PluginError(error.what());
  }
}

}  // namespace

const Plugin& load_torch() {
  static const Plugin& plugin = open(find_torch());
  plugin.set_threads(default_executor()->threads());
  return plugin;
}

}  // namespace tandem::plugin
