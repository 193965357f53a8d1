// SPDX-License-Identifier: MIT
#include "bench/torch.h"

#include <fmt/format.h>
#include <malloc.h>
#include <tandem/version.h>

#include <cstdlib>
#include <string>

#include "bench/loaded_blas.h"
#include "bench/torch_parts.h"

namespace tandem::bench {
namespace {

/// LibTorch's Adam makes temporary tensors of a parameter's size. Where the top of the heap happens
/// to be free, malloc gives their memory back to the system after each, and the next one starts
/// with page faults: 200 ms a step were seen here in place of 75. A program that does nothing but
/// train a model of such tensors is spared that (docs/performance.md), so it does not count here.
void keep_memory() {
#ifdef __GLIBC__
  constexpr int kMost = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kMost);
  mallopt(M_TRIM_THRESHOLD, kMost);
#endif
}

/// How OpenMP's threads wait for work, as the user or let_threads_spin() in src/cli said.
std::string waiting() {
  std::string text;
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text.empty() ? "OpenMP's default" : text;
}

}  // namespace

void run_torch_bench(const plugin::TorchBench& torch, const TorchOptions& options,
                     const Report& report) {
  keep_memory();
  const auto executor = openmp_executor(options.threads);
  const int threads = executor->threads();
  const auto blas = LoadedBlas::find();
  const TorchContext context{torch, options, openmp_executor(threads), report, [&](int count) {
                               torch.set_threads(count);
                               if (blas) blas->set_threads(count);
                             }};
  context.set_threads(threads);
  report.note(fmt::format("{} threads for both, waiting: {}, {}, tandem {}", threads, waiting(),
                          cpu_target(), version()));
  report.note(fmt::format("{}, BLAS: {}", torch.library(),
                          blas ? blas->description() : std::string("not found")));
  torch_steps(context);
  torch_softmax(context);
}

}  // namespace tandem::bench
