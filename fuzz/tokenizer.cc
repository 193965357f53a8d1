// SPDX-License-Identifier: MIT
// Files of tokenizers: the bytes as they are, as a model of SentencePiece, and once more as tokens
// behind those that every file of llama2.c begins with.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz.h"
#include "text/llama2c.h"
#include "text/model_proto.h"

namespace {

using tandem::fuzz::require;

std::string word(std::uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

/// The longest token, the special tokens and the bytes.
const std::string& beginning() {
  static const std::string kBeginning = [] {
    std::string file = word(16);
    const auto add = [&](const std::string& text) {
      file += word(0) + word(static_cast<std::uint32_t>(text.size())) + text;
    };
    for (const char* text : {"<unk>", "<s>", "</s>"}) add(text);
    const std::string_view digits = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < 256; ++byte) {
      add(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">");
    }
    return file;
  }();
  return kBeginning;
}

void check_llama2c(std::string_view file, std::size_t vocabulary, std::string_view text) {
  // In memory of its own, so that the sanitizer sees a byte too many.
  const std::vector<char> copy(file.begin(), file.end());
  try {
    const auto tokenizer =
        tandem::text::read_llama2c(std::as_bytes(std::span(copy)), vocabulary, "fuzz");
    require(tokenizer->vocabulary() == vocabulary);
    const auto tokens = tokenizer->encode(text);
    require(tokens.size() <= text.size() + 1);
    require(tokenizer->decode(tokens) == text);
  } catch (const tandem::text::TokenizerError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(bytes), size);
  check_llama2c(all, 260, all);
  // The first byte says how many tokens there are.
  if (size > 0) check_llama2c(beginning() + std::string(all.substr(1)), 259 + bytes[0], all);
  const std::vector<char> copy(all.begin(), all.end());
  try {
    require(tandem::text::check_model_proto(std::as_bytes(std::span(copy)), "fuzz") <= size);
  } catch (const tandem::text::TokenizerError&) {
  }
  return 0;
}
