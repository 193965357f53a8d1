// SPDX-License-Identifier: MIT
// Finding tensors in an open file by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/suggest.h"
#include "tensors/fail.h"
#include "tensors/safetensors.h"

namespace tandem::tensors {
namespace {

/// ", did you mean 'b'?" or ", expected one of 'a', 'c' and 40 more".
std::string hint(std::string_view name, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return ", the file has none";
  // Others are too far away to be meant, and a name from a file may have any length.
  const std::size_t edits = std::max<std::size_t>(2, name.size() / 3);
  std::vector<std::string> candidates;
  for (const Tensor& tensor : tensors) {
    const std::size_t length = tensor.name.size();
    if (length <= name.size() + edits && name.size() <= length + edits) {
      candidates.push_back(tensor.name);
    }
  }
  const std::string near = nearest(name, candidates);
  if (!near.empty()) return fmt::format(", did you mean {}?", shown(near));

  constexpr std::size_t kMost = 10;
  std::vector<std::string> first;
  for (const Tensor& tensor : tensors) {
    if (first.size() < kMost) first.push_back(shown(tensor.name));
  }
  return fmt::format(
      ", expected one of {}{}", fmt::join(first, ", "),
      tensors.size() > kMost ? fmt::format(" and {} more", tensors.size() - kMost) : "");
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : name_(path.string()), file_(path), content_(parse_safetensors(file_.bytes(), name_)) {
  for (std::size_t i = 0; i < content_.tensors.size(); ++i) {
    places_.emplace(content_.tensors[i].name, i);
  }
}

const Tensor* SafetensorsFile::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &content_.tensors[place->second];
}

const Tensor& SafetensorsFile::at(std::string_view name) const {
  const Tensor* tensor = find(name);
  if (tensor == nullptr) {
    throw TensorFileError(
        fmt::format("{}: found no tensor {}{}", name_, shown(name), hint(name, content_.tensors)));
  }
  return *tensor;
}

}  // namespace tandem::tensors
