// SPDX-License-Identifier: MIT
#include "read_archive.h"

#include <fmt/format.h>
#include <tandem/errors.h>

namespace tandem::optim::detail {

using torch::serialize::InputArchive;

c10::IValue read_value(InputArchive& archive, const std::string& key) {
  c10::IValue value;
  if (!archive.try_read(key, value)) {
    throw StateError(fmt::format("Invalid state: '{}' is missing", key));
  }
  return value;
}

std::int64_t read_count(InputArchive& archive, const std::string& key) {
  const c10::IValue value = read_value(archive, key);
  if (!value.isInt() || value.toInt() < 0) {
    throw StateError(fmt::format("Invalid state: '{}' is not a count", key));
  }
  return value.toInt();
}

std::vector<std::int64_t> read_list(InputArchive& archive, const std::string& key) {
  const c10::IValue value = read_value(archive, key);
  if (!value.isIntList()) throw StateError(fmt::format("Invalid state: '{}' is not a list", key));
  return value.toIntVector();
}

std::vector<std::string> read_names(InputArchive& archive, const std::string& key) {
  const c10::IValue value = read_value(archive, key);
  std::vector<std::string> names;
  if (value.isList()) {
    for (const c10::IValue& name : value.toListRef()) {
      if (name.isString()) names.push_back(name.toStringRef());
    }
    if (names.size() == value.toListRef().size()) return names;
  }
  throw StateError(fmt::format("Invalid state: '{}' is not a list of names", key));
}

at::Tensor read_tensor(InputArchive& archive, const std::string& key) {
  at::Tensor tensor;
  if (!archive.try_read(key, tensor, /*is_buffer=*/true) || !tensor.defined()) {
    throw StateError(fmt::format("Invalid state: tensor '{}' is missing", key));
  }
  return tensor;
}

}  // namespace tandem::optim::detail
