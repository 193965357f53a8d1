// SPDX-License-Identifier: MIT
#include "plugin/load.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <malloc.h>
#include <tandem/executor.h>
#include <tandem/version.h>

#include <cstdlib>
#include <filesystem>
#include <string>
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

/// Torch and its oneDNN look at the CPU. Of a target that the user chose (set_cpu_target) they are
/// told here, unless the user told them; they read it when they are loaded.
void choose_torch_kernels() {
  const std::string target = cpu_target();
  if (target == cpu_targets().front()) return;
  const bool avx2 = target == "AVX2";
  setenv("ATEN_CPU_CAPABILITY", avx2 ? "avx2" : "default", 0);
  setenv("ONEDNN_MAX_CPU_ISA", avx2 ? "AVX2" : "SSE41", 0);
}

const Plugin& open(const fs::path& path) {
  choose_blas_core();
  choose_torch_kernels();
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
