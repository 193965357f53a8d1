// SPDX-License-Identifier: MIT
// Files of tensors: the bytes as they are, and once more as a header up to the last line break and
// data after it, with the right length put before them.
#include "tensors/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"

namespace {

void check(std::span<const std::uint8_t> file) {
  using tandem::fuzz::require;
  tandem::fuzz::run_copy<tandem::tensors::TensorFileError>(
      file, [](std::span<const std::byte> bytes) {
        const auto content = tandem::tensors::parse_safetensors(bytes, "fuzz");
        std::size_t data_size = 0;
        std::set<std::string> names;
        for (const auto& tensor : content.tensors) {
          data_size += tensor.bytes.size();
          require(byte_size(tensor.type, tensor.shape) == tensor.bytes.size());
          require(names.insert(tensor.name).second);
        }
        // Without a hole they fill the file behind the length and a header of at least {}.
        require(data_size + 8 + 2 <= bytes.size());
        const std::byte* next = bytes.last(data_size).data();
        for (const auto& tensor : content.tensors) {
          require(tensor.bytes.data() == next);
          next += tensor.bytes.size();
        }
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span all(bytes, size);
  check(all);
  std::size_t length = size;
  for (std::size_t i = 0; i < size; ++i) {
    if (all[i] == '\n') length = i;
  }
  std::vector<std::uint8_t> file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::uint8_t>(length >> 8 * i));
  file.insert(file.end(), bytes, bytes + length);
  if (length < size) file.insert(file.end(), bytes + length + 1, bytes + size);
  check(file);
  return 0;
}
