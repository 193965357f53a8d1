// SPDX-License-Identifier: MIT
// The index of a checkpoint in many files: no name leads out of its folder.
#include "llama/index_json.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "fuzz/fuzz.h"
#include "llama/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tandem::llama;
  using tandem::fuzz::require;
  try {
    const auto files =
        parse_index(std::string_view(reinterpret_cast<const char*>(bytes), size), "fuzz");
    require(!files.empty());
    for (const auto& [tensor, file] : files) {
      const std::filesystem::path path = file;
      require(path.filename() == path && path != ".." && path.extension() == ".safetensors");
    }
    require(parse_index(index_text(files, 1), "again") == files);
  } catch (const CheckpointError&) {
  }
  return 0;
}
