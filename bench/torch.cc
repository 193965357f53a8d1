// SPDX-License-Identifier: MIT
#include "bench/torch.h"

#include <fmt/format.h>
#include <tandem/version.h>

#include <cstdlib>
#include <string>

#include "bench/loaded_blas.h"
#include "bench/torch_parts.h"

namespace tandem::bench {
namespace {

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

void run_torch_bench(const plugin::Plugin& plugin, const TorchOptions& options,
                     const Report& report) {
  const auto executor = pool_executor(options.threads);
  const int threads = executor->threads();
  const auto blas = LoadedBlas::find();
  const TorchContext context{plugin.torch_bench, options, pool_executor(threads), report,
                             [&](int count) {
                               plugin.set_threads(count);
                               if (blas) blas->set_threads(count);
                             }};
  context.set_threads(threads);
  report.note(fmt::format("{} threads for both, waiting: {}, {}, tandem {}", threads, waiting(),
                          cpu_target(), version()));
  report.note(fmt::format("{}, BLAS: {}", plugin.library(),
                          blas ? blas->description() : std::string("not found")));
  torch_steps(context);
  torch_softmax(context);
}

}  // namespace tandem::bench
