// SPDX-License-Identifier: MIT
// Values as PostgreSQL's binary protocol has them, and text that its columns can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/connection.h"
#include "store/libpq.h"

namespace tandem::store {

// Types of columns and parameters, by the numbers that every server gives them.
inline constexpr Libpq::Oid kBool = 16, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25,
                            kFloat8 = 701;

/// PostgreSQL's text is UTF-8 without a zero byte, but names of files are any bytes. Those that it
/// cannot hold are each written as two of Unicode's 32 noncharacters from U+FDD0: half a byte by
/// one of the first sixteen, the other half by one of the others. Bytes of noncharacters are
/// written likewise, so that every text comes back as it was.
std::string to_postgres(const std::string& text);
std::string from_postgres(std::string_view text);

/// One parameter: its type and bytes.
struct Encoded {
  Libpq::Oid type = 0;
  std::string bytes;
  bool null = false;
};
Encoded encode(const Value& value);
/// A column of rows, as an array.
Encoded encode_column(const Rows& rows, std::size_t column);
/// "bigint[]", ...: the type of such an array.
const char* array_type(const Value& value);

std::int64_t decode_integer(Libpq::Oid type, std::string_view bytes);
double decode_number(Libpq::Oid type, std::string_view bytes);

}  // namespace tandem::store
