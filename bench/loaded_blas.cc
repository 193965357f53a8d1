// SPDX-License-Identifier: MIT
#include "bench/loaded_blas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace tandem::bench {
namespace {

/// The files of this process's libraries whose name begins so; the first of them, or "".
std::string mapped_file(const std::string& prefix) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::filesystem::path path = line.substr(slash);
    if (path.filename().string().starts_with(prefix)) return path.string();
  }
  return "";
}

}  // namespace

std::optional<LoadedBlas> LoadedBlas::find() {
  // Debian's libblas.so.3 of OpenBLAS only passes on, so the library behind it is looked for first.
  for (const char* prefix : {"libopenblas", "libmkl_core", "libblis", "libblas"}) {
    const std::string path = mapped_file(prefix);
    if (path.empty()) continue;
    LoadedBlas blas;
    blas.description_ = path;
    blas.library_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (blas.library_ == nullptr) return blas;
    if (void* core = dlsym(blas.library_, "openblas_get_corename")) {
      blas.description_ +=
          fmt::format(", kernels of {}", reinterpret_cast<const char* (*)()>(core)());
    }
    return blas;
  }
  return std::nullopt;
}

void LoadedBlas::set_threads(int threads) const {
  if (library_ == nullptr) return;
  if (void* set = dlsym(library_, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(set)(threads);
  }
}

}  // namespace tandem::bench
