// SPDX-License-Identifier: MIT
// A zero-filled array for state that may be large: aligned, not copied, and taken straight from the
// operating system in huge pages where that pays, so that memory which is never written is never
// really used.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace tandem {

/// `bytes` of zeros, aligned to 64; throws std::bad_alloc. Freed by free_zeroed with the same size.
void* allocate_zeroed(std::size_t bytes);
void free_zeroed(void* data, std::size_t bytes) noexcept;

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : data_(size == 0 ? nullptr : static_cast<T*>(allocate_zeroed(size * sizeof(T)))),
        size_(size) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { free_zeroed(data_, size_ * sizeof(T)); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tandem
