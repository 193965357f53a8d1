// SPDX-License-Identifier: MIT
// Files of named tensors in the safetensors format of Hugging Face: the length of the header as 8
// bytes (little-endian), the header as JSON, then the elements of all tensors, one after another.
//
// Files come from strangers. All that a header says is checked before a tensor can be asked for;
// the values of elements are not looked at (a BOOL may be 7, an F32 may be NaN).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/mapped_file.h"

namespace tandem::tensors {

/// A file that cannot be read or written. The message names the file, the tensor or the byte, what
/// was found and what was expected.
class TensorFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Type { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

/// As the format writes it: "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL".
std::string_view type_name(Type type);
std::optional<Type> type_of_name(std::string_view name);
/// The bytes of one element.
std::size_t type_size(Type type);

/// The bytes of all elements; nothing where that is 2^64 or more. A size of 0 gives 0 bytes, but
/// the other sizes must fit nevertheless: then strides can be computed without a further check.
std::optional<std::uint64_t> byte_size(Type type, std::span<const std::uint64_t> shape);

/// A view: the elements belong to the file or to whoever wants them written.
struct Tensor {
  std::string name;
  Type type = Type::f32;
  /// Row-major; empty for a scalar.
  std::vector<std::uint64_t> shape;
  /// Little-endian. They may start at ANY address: most writers align data to 8 bytes, none has to.
  /// Copy elements out with memcpy, or check the address before a cast to their type.
  std::span<const std::byte> bytes;
};

struct Safetensors {
  std::vector<Tensor> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Reads a whole file that is in memory, which the tensors then point into; `where` names it in
/// messages. Throws TensorFileError unless header and data fit each other byte by byte: offsets in
/// the file, sizes that fit shapes, no overlap, no hole, nothing after the last tensor, no name
/// twice.
Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& where);

/// An open file, mapped into memory: elements are read from the disk when they are first touched.
/// Tensors are valid as long as this object or the one that it was moved to. Whoever shortens the
/// file in place meanwhile kills the process (SIGBUS); replacing it by another, as
/// write_safetensors does, is harmless.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// In the order of their data.
  const std::vector<Tensor>& tensors() const { return content_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return content_.metadata; }

  /// nullptr where there is none.
  const Tensor* find(std::string_view name) const;
  /// Throws TensorFileError with the name that may have been meant.
  const Tensor& at(std::string_view name) const;

 private:
  std::string name_;
  MappedFile file_;
  Safetensors content_;
  std::map<std::string_view, std::size_t> places_;  // of tensors, by name
};

/// The file is there whole or not at all; one of that name is replaced. Large types come first,
/// then it goes by name, and the header is padded, so that all data are aligned to their type.
/// Throws TensorFileError where a name is there twice or is "__metadata__", where bytes do not fit
/// the shape, where text is not UTF-8, and where the disk does not take the file.
void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace tandem::tensors
