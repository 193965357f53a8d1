// SPDX-License-Identifier: MIT
// Work on torch's own threads.
#pragma once

#include <tandem/executor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace tandem::optim::detail {

/// torch's own thread pool.
std::shared_ptr<Executor> torch_executor();

/// Calls work(i) for items of these sizes, without torch's autograd; allocates before the first call
/// and not after it. Waking threads for each of many tensors costs more than what is done to a small
/// one, so each thread takes a share of the items, backwards where `backwards` says so; only an item
/// that is a large part of all is shared by all threads.
void for_each_item(const std::vector<std::size_t>& sizes, bool backwards,
                   const std::function<void(std::size_t)>& work);

}  // namespace tandem::optim::detail
