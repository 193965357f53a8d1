// SPDX-License-Identifier: MIT
#include "base/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tandem {
namespace {

constexpr std::size_t kAlignment = 64;
// From here on a mapping of its own: its pages are zero without being written, and it can have huge
// pages.
constexpr std::size_t kMapFrom = std::size_t{1} << 20;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void* allocate_zeroed(std::size_t bytes) {
  if (bytes >= kMapFrom) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    madvise(data, bytes, MADV_HUGEPAGE);  // a wish: fewer address translations in long passes
#endif
    return data;
  }
  void* data = std::aligned_alloc(kAlignment, round_up(bytes));
  if (data == nullptr) throw std::bad_alloc();
  std::memset(data, 0, bytes);
  return data;
}

void free_zeroed(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  if (bytes >= kMapFrom) {
    munmap(data, bytes);
  } else {
    std::free(data);
  }
}

}  // namespace tandem
