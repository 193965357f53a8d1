// SPDX-License-Identifier: MIT
// Text packed as a gzip file, and streams that decompress another stream: gzip through zlib (libarchive ignores a gzip file's CRC),
// xz through liblzma. Every checksum of the format is checked, and a stream that expands without
// end is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/byte_source.h"

namespace tandem::data {

/// The same bytes always give the same file: it has no name and no time in it. Throws
/// std::bad_alloc where memory ends.
std::string gzip(std::string_view bytes);

std::unique_ptr<ByteSource> open_gzip(std::unique_ptr<ByteSource> packed);
std::unique_ptr<ByteSource> open_xz(std::unique_ptr<ByteSource> packed);

/// Throws DataError when `expanded` bytes came of `packed` ones that real data would not expand to:
/// more than 300 times as many, beyond the first 64 MiB.
void check_expansion(std::string_view name, std::uint64_t packed, std::uint64_t expanded);

}  // namespace tandem::data
