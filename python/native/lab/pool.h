// SPDX-License-Identifier: MIT
// The threads of a long call. OpenMP's wait for each other busily, and all of them in every piece
// of work: beside other programs that want the same cores that was 10 times slower than one thread.
// These sleep, and nobody waits for one that has not begun.
#pragma once

#include <tandem/executor.h>

#include <memory>

namespace tandem::python {

/// 0: as many as OpenMP would take (OMP_NUM_THREADS, else the cores). The threads live as long as
/// the pool does. Throws std::runtime_error, with how many there could be, where not all can be
/// started.
std::shared_ptr<Executor> make_pool(int threads);

}  // namespace tandem::python
