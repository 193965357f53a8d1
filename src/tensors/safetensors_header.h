// SPDX-License-Identifier: MIT
// The JSON at the start of a safetensors file, from text to numbers and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/safetensors.h"

namespace tandem::tensors {

constexpr std::size_t kHeaderStart = 8;              // after its length
constexpr std::uint64_t kLongestHeader = 100000000;  // a limit of the format
constexpr std::string_view kMetadata = "__metadata__";

struct HeaderEntry {
  std::string name;
  Type type = Type::f32;
  std::vector<std::uint64_t> shape;
  // Where its data are, counted from the end of the header.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;  // in the order of the text
  std::map<std::string, std::string> metadata;
};

/// Checks all that can be checked without the data: that it is JSON, that each field is there once
/// and has its type, that no name is there twice. Throws TensorFileError.
Header read_header(std::string_view text, const std::string& where);

/// Without padding.
std::string header_text(const Header& header, const std::string& where);

}  // namespace tandem::tensors
