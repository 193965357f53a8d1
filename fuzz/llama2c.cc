// SPDX-License-Identifier: MIT
// Checkpoints of llama2.c: the bytes as they are, and once more behind their first 28 with as many
// zeros as the header asks for, where they are few.
#include "llama/llama2c.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "fuzz/fuzz.h"
#include "llama/error.h"

namespace {

void check(std::span<const std::uint8_t> file) {
  using tandem::fuzz::require;
  tandem::fuzz::run_copy<tandem::llama::CheckpointError>(
      file, [](std::span<const std::byte> bytes) {
        const auto content = tandem::llama::parse_llama2c(bytes, "fuzz");
        std::size_t size = 0;
        std::set<std::string> names;
        for (const auto& weight : content.weights) {
          require(byte_size(weight.type, weight.shape) == weight.bytes.size());
          require(weight.bytes.data() >= bytes.data());
          require(weight.bytes.data() + weight.bytes.size() <= bytes.data() + bytes.size());
          require(names.insert(weight.name).second);
          size += weight.bytes.size();
        }
        require(size < bytes.size());
      });
}

/// What the file must be long for its header, and 0 where that is much.
std::size_t length_of(std::span<const std::uint8_t> file) {
  std::array<std::int32_t, 7> header{};
  if (file.size() < sizeof header) return 0;
  std::memcpy(header.data(), file.data(), sizeof header);
  for (const std::int32_t value : header) {
    if (value > 64 || value < -64 || value == 0) return 0;
  }
  const auto [dim, hidden, layers, heads, kv_heads, vocabulary, sequence] = header;
  if (dim < 0 || heads < 0 || dim % heads != 0) return 0;
  const int keys = dim / heads * kv_heads;
  const int layer = 2 * dim + 2 * dim * dim + 2 * dim * keys + 3 * dim * hidden;
  const int words = vocabulary < 0 ? -2 * vocabulary : vocabulary;
  const int count = words * dim + layers * layer + dim + sequence * (dim / heads);
  return count < 0 ? 0 : sizeof header + static_cast<std::size_t>(count) * 4;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span all(bytes, size);
  check(all);
  std::vector<std::uint8_t> file(all.begin(), all.end());
  const std::size_t length = length_of(all);
  if (length > 0 && length < (std::size_t{1} << 22)) {
    file.resize(length);
    check(file);
  }
  return 0;
}
