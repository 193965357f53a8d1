// SPDX-License-Identifier: MIT
// Writing files of tensors.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "base/atomic_file.h"
#include "tensors/fail.h"
#include "tensors/safetensors.h"
#include "tensors/safetensors_header.h"

namespace tandem::tensors {
namespace {

void check(const Tensor& tensor, const std::string& where) {
  const std::string place = at_tensor(tensor.name);
  if (tensor.name == kMetadata)
    fail<TensorFileError>(where, place, "the name of the metadata", "another name");
  if (byte_size(tensor.type, tensor.shape) != tensor.bytes.size()) {
    fail<TensorFileError>(
        where, place, count_of_bytes(tensor.bytes.size()),
        fmt::format("as many as {} of shape {} has", type_name(tensor.type), shown(tensor.shape)));
  }
}

/// In the order of the file: after larger elements smaller ones are aligned without a hole.
std::vector<const Tensor*> ordered(std::span<const Tensor> tensors, const std::string& where) {
  std::vector<const Tensor*> order;
  order.reserve(tensors.size());
  for (const Tensor& tensor : tensors) order.push_back(&tensor);
  const auto name = [](const Tensor* tensor) -> const std::string& { return tensor->name; };
  std::ranges::sort(order, {}, name);
  const auto twice = std::ranges::adjacent_find(order, {}, name);
  if (twice != order.end()) {
    fail<TensorFileError>(where, at_tensor((*twice)->name), "the name twice", "each name once");
  }
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const Tensor* tensor) { return type_size(tensor->type); });
  return order;
}

/// With its length before it, and with spaces after it up to a multiple of 8.
std::string padded_header(const std::vector<const Tensor*>& order,
                          const std::map<std::string, std::string>& metadata,
                          const std::string& where) {
  Header header{.entries = {}, .metadata = metadata};
  std::uint64_t begin = 0;
  for (const Tensor* tensor : order) {
    const std::uint64_t end = begin + tensor->bytes.size();
    header.entries.push_back({.name = tensor->name,
                              .type = tensor->type,
                              .shape = tensor->shape,
                              .begin = begin,
                              .end = end});
    begin = end;
  }
  const std::string text = header_text(header, where);
  const std::size_t length = (text.size() + 7) / 8 * 8;
  if (length > kLongestHeader) {
    fail<TensorFileError>(where, "header",
                          fmt::format("{} bytes of names, shapes and metadata", length),
                          fmt::format("at most {}: the format's limit", kLongestHeader));
  }
  std::string padded;
  for (std::size_t i = 0; i < kHeaderStart; ++i) padded += static_cast<char>(length >> 8 * i);
  padded += text;
  padded.resize(kHeaderStart + length, ' ');
  return padded;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string where = path.string();
  for (const Tensor& tensor : tensors) check(tensor, where);
  const std::vector<const Tensor*> order = ordered(tensors, where);
  const std::string header = padded_header(order, metadata, where);
  const auto write = [&](std::ostream& stream) {
    stream.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const Tensor* tensor : order) {
      stream.write(reinterpret_cast<const char*>(tensor->bytes.data()),
                   static_cast<std::streamsize>(tensor->bytes.size()));
    }
  };
  try {
    write_atomically(path, write);
  } catch (const std::runtime_error& error) {
    throw TensorFileError(error.what());
  }
}

}  // namespace tandem::tensors
