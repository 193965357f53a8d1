// SPDX-License-Identifier: MIT
#include "plugin/load.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <tandem/executor.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "plugin/blas_core.h"

namespace tandem::plugin {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  const char* given = std::getenv("TANDEM_PLUGIN_DIR");
  if (given != nullptr && *given != '\0') return {fs::absolute(given)};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {program, (program / TANDEM_PLUGIN_FOLDER).lexically_normal()};
}

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

}  // namespace

fs::path find_library(const std::string& file, const std::string& why) {
  std::vector<std::string> searched;
  for (const fs::path& folder : folders()) {
    std::error_code error;
    if (fs::is_regular_file(folder / file, error)) return folder / file;
    searched.push_back(folder.string());
  }
  throw PluginError(fmt::format("Found no {} in {}: {}", file, fmt::join(searched, " or "), why));
}

const Plugin& load_torch() {
  static const Plugin& plugin =
      open(find_library("tandem_torch_plugin.so",
                        "this tandem was built or installed without its LibTorch part, which is "
                        "built where LibTorch is found (Debian: libtorch-dev)"));
  plugin.set_threads(default_executor()->threads());
  return plugin;
}

}  // namespace tandem::plugin
