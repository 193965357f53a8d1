// SPDX-License-Identifier: MIT
// Text to the tokens of a language model and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::text {

/// A tokenizer's file is missing, damaged or of another model. The message names the file, the
/// place in it, what was found and what was expected.
class TokenizerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Does not change once it is made: any number of threads may use one.
class Tokenizer {
 public:
  /// Of a text that encode() takes.
  static constexpr std::size_t kLongestText = std::size_t{1} << 30;

  virtual ~Tokenizer() = default;

  virtual std::size_t vocabulary() const = 0;
  /// The token that a text begins with.
  virtual std::int32_t bos() const = 0;
  /// The token that ends a text.
  virtual std::int32_t eos() const = 0;
  /// Without bos and eos; none for an empty text. As the models were trained, a text is encoded as
  /// if a space stood before it. Throws std::invalid_argument for a text that is too long.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// Of what encode() gave, the text. The space at the beginning is taken away again, so the end of
  /// a text is decoded together with its beginning; bos and eos leave no trace. Throws
  /// std::out_of_range for a token that is not in the vocabulary.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
};

/// Opens a tokenizer for a model of this vocabulary, which must be its own: the file of llama2.c
/// where the name ends in .bin (llama2c.h), else a model of SentencePiece (sentencepiece.h). Throws
/// TokenizerError.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& path,
                                          std::size_t vocabulary);

}  // namespace tandem::text
