// SPDX-License-Identifier: MIT
#include "data/alpaca.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using tandem::fuzz::require;
  return tandem::fuzz::run(bytes, size, [](std::span<const std::uint8_t> all) {
    tandem::data::MemorySource source("fuzz", all);
    const auto read = tandem::data::read_alpaca(source);
    require(!read.items.empty());
    for (const auto& item : read.items) {
      require(!item.output.empty());
      const auto text = tandem::data::make_text(item, tandem::data::PromptTemplate::alpaca);
      require(text.prompt.size() > item.instruction.size() + item.input.size());
    }
    // The first item is the same when no other is kept.
    tandem::data::MemorySource again("fuzz", all);
    const auto first = tandem::data::read_alpaca(again, 1);
    require(first.items.size() == 1 && first.items[0].output == read.items[0].output);
  });
}
