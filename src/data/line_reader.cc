// SPDX-License-Identifier: MIT
#include "data/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/fail.h"

namespace tandem::data {

bool LineReader::next(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t count = buffer_.size() - searched;
    const void* found = count == 0 ? nullptr : std::memchr(buffer_.data() + searched, '\n', count);
    const std::size_t kept = buffer_.size() - begin_;
    if (found == nullptr && kept <= longest_) {
      if (refill()) {
        searched = kept;  // refill moved what was left to the front
        continue;
      }
      if (begin_ == buffer_.size()) return false;
    }
    const char* start = reinterpret_cast<const char*>(buffer_.data()) + begin_;
    const std::size_t length =
        found == nullptr ? kept : static_cast<std::size_t>(static_cast<const char*>(found) - start);
    ++number_;
    if (length > longest_) {
      fail<DataError>(name(), at_line(number_), fmt::format("more than {} bytes", longest_),
                      "a shorter line");
    }
    begin_ += length + (found == nullptr ? 0 : 1);
    line = {start, length};
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }
}

bool LineReader::refill() {
  if (ended_) return false;
  constexpr std::size_t kLargestChunk = std::size_t{256} << 10;
  chunk_ = std::min(2 * chunk_, kLargestChunk);  // small texts need little
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  const std::size_t kept = buffer_.size();
  const std::size_t chunk = std::max(chunk_, kept);
  buffer_.resize(kept + chunk);
  const std::size_t got = source_.read(std::span(buffer_).subspan(kept));
  buffer_.resize(kept + got);
  ended_ = got < chunk;
  return got > 0;
}

}  // namespace tandem::data
