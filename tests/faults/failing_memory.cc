// SPDX-License-Identifier: MIT
#include "tests/faults/failing_memory.h"

#include <dlfcn.h>
#include <sys/types.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace tandem::testing {
namespace {

std::atomic<bool> armed = false;
std::atomic<bool> ran_out = false;
std::atomic<std::size_t> left = 0;  // requests until the one that fails
std::atomic<std::ptrdiff_t> live = 0;

bool fails_now() {
  if (!armed.load()) return false;
  if (left.fetch_sub(1) != 1) return false;
  ran_out = true;
  return true;
}

void* counted(void* memory) {
  if (memory != nullptr) ++live;
  return memory;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  --live;
  std::free(memory);
}

void* take(std::size_t size) {
  return fails_now() ? nullptr : counted(std::malloc(size == 0 ? 1 : size));
}

void* take_aligned(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  if (fails_now() || posix_memalign(&memory, alignment, size == 0 ? 1 : size) != 0) return nullptr;
  return counted(memory);
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

/// What the next library in line calls by this name: libc's, or the sanitizer's.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void fail_request(std::size_t n) {
  left = n;
  ran_out = false;
  armed = true;
}
bool stop_failing() {
  armed = false;
  return ran_out;
}
std::ptrdiff_t live_blocks() { return live; }

}  // namespace tandem::testing

using tandem::testing::give_back;
using tandem::testing::or_throw;
using tandem::testing::take;
using tandem::testing::take_aligned;

void* operator new(std::size_t size) { return or_throw(take(size)); }
void* operator new[](std::size_t size) { return or_throw(take(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new(std::size_t size, std::align_val_t at) {
  return or_throw(take_aligned(size, static_cast<std::size_t>(at)));
}
void* operator new[](std::size_t size, std::align_val_t at) {
  return or_throw(take_aligned(size, static_cast<std::size_t>(at)));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

// Declared here and not by <sys/mman.h>, whose names of parameters nobody may use.
// The library's own buffers: small ones are given back by free and are not counted as live (a
// sanitizer sees those), large ones by munmap.
extern "C" __attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment,
                                                                      std::size_t size) noexcept {
  static const auto kNext =
      tandem::testing::next<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  return tandem::testing::fails_now() ? nullptr : kNext(alignment, size);
}

extern "C" __attribute__((visibility("default"))) void* mmap(void* address, std::size_t length,
                                                             int protection, int flags, int file,
                                                             off_t offset) noexcept {
  static const auto kNext =
      tandem::testing::next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  void* const failed = reinterpret_cast<void*>(-1);  // MAP_FAILED
  if (tandem::testing::fails_now()) return failed;
  void* memory = kNext(address, length, protection, flags, file, offset);
  if (memory != failed) ++tandem::testing::live;
  return memory;
}

extern "C" __attribute__((visibility("default"))) int munmap(void* address,
                                                             std::size_t length) noexcept {
  static const auto kNext = tandem::testing::next<int (*)(void*, std::size_t)>("munmap");
  --tandem::testing::live;
  return kNext(address, length);
}
