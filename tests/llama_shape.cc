// SPDX-License-Identifier: MIT
// Writes a Llama with random weights in bfloat16, and a tokenizer for it, so that memory and speed
// of `tandem finetune` can be measured on shapes whose weights nobody has at hand:
//
//   tandem_llama_shape FOLDER DIM HIDDEN LAYERS HEADS VOCABULARY SEQUENCE
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "llama/random_checkpoint.h"
#include "text/test_tokenizers.h"

namespace {

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format("found '{}', expected a number", text));
  }
  return value;
}

void write(const std::vector<std::string>& words) {
  const std::filesystem::path folder = words[0];
  tandem::llama::Config config;
  config.dim = number(words[1]);
  config.hidden = number(words[2]);
  config.layers = number(words[3]);
  config.heads = config.kv_heads = number(words[4]);
  config.head_dim = config.dim / config.heads;
  config.vocabulary = number(words[5]);
  config.sequence = number(words[6]);
  tandem::text::Pieces pieces = tandem::text::with_bytes({});
  while (pieces.size() < config.vocabulary) {
    pieces.push_back({fmt::format(" w{}", pieces.size()), -1});
  }
  tandem::llama::write_random_checkpoint(folder, config, tandem::tensors::Type::bf16, 1);
  std::ofstream tokenizer(folder / "tokenizer.bin", std::ios::binary);
  tokenizer << tandem::text::llama2c_file(pieces);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 8) {
      throw std::invalid_argument("expected FOLDER DIM HIDDEN LAYERS HEADS VOCABULARY SEQUENCE");
    }
    write({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tandem_llama_shape: {}\n", error.what());
    return 2;
  }
}
