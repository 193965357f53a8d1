// SPDX-License-Identifier: MIT
// Instructions with responses in Stanford Alpaca's format: a JSON array of objects with the texts
// `instruction`, `output` and, not in all of them, `input`. Taori et al. 2023, "Stanford Alpaca: an
// instruction-following LLaMA model".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/dataset.h"

namespace tandem::data {

struct Instruction {
  std::string instruction;
  std::string input;  // empty: none
  std::string output;
};

struct Instructions {
  std::vector<Instruction> items;
  std::size_t empty = 0;  // items without a word of output, which are left out
};

/// All items of the stream are checked; the first `most` of them are kept, all for 0. Other keys
/// than the three are passed over. The JSON is never in memory as a whole. Throws DataError.
Instructions read_alpaca(ByteSource& source, std::size_t most = 0);

enum class PromptTemplate {
  alpaca,  // Stanford's: a sentence about the task, and headings
  plain,   // the instruction, the input, each with a line break: for models of short sequences
};

Text make_text(const Instruction& item, PromptTemplate form);

}  // namespace tandem::data
