// SPDX-License-Identifier: MIT
// Room in a vector, taken before it is needed: what must not fail halfway asks for it first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tandem {

/// `size` elements fit afterwards without another allocation. Grows by doubling, as push_back does.
template <class T>
void make_room(std::vector<T>& vector, std::size_t size) {
  if (vector.capacity() < size) vector.reserve(std::max(size, 2 * vector.capacity()));
}

}  // namespace tandem
