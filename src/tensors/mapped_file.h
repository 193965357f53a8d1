// SPDX-License-Identifier: MIT
// A file mapped into memory, to be read only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace tandem::tensors {

class MappedFile {
 public:
  /// Throws TensorFileError where the path is no regular file that can be read.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;  // empty: nothing is mapped
};

}  // namespace tandem::tensors
