// SPDX-License-Identifier: MIT
// Lines of a text, one at a time, whatever their ends (\n or \r\n), with their numbers for
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace tandem::data {

class LineReader {
 public:
  /// Lines longer than `longest` bytes are refused.
  explicit LineReader(ByteSource& source, std::size_t longest = std::size_t{64} << 20)
      : source_(source), longest_(longest) {}

  /// The next line without its end, valid until the next call; false after the last.
  bool next(std::string_view& line);
  /// Of the line that next() gave, from 1.
  std::uint64_t number() const { return number_; }
  const std::string& name() const { return source_.name(); }

 private:
  bool refill();

  ByteSource& source_;
  std::size_t longest_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;  // of what is left in the buffer
  std::size_t chunk_ = 4096;
  bool ended_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace tandem::data
