// SPDX-License-Identifier: MIT
#include "data/dataset.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace tandem::data {
namespace {

class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  template <class T>
  void add(std::span<const T> values) {
    if (!values.empty()) XXH3_64bits_update(state_.get(), values.data(), values.size_bytes());
  }
  std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace

std::uint64_t Dataset::fingerprint() const {
  Hasher hasher;
  const std::array<std::uint64_t, 4> shape = {rows, features, classes, sparse ? 1U : 0U};
  hasher.add(std::span<const std::uint64_t>(shape));
  hasher.add(dense.span());
  hasher.add(std::span<const std::uint64_t>(offsets));
  hasher.add(std::span<const std::uint32_t>(columns));
  hasher.add(std::span<const float>(values));
  hasher.add(std::span<const std::uint32_t>(labels));
  for (const Text& text : texts) {
    const std::array<std::uint64_t, 2> lengths = {text.prompt.size(), text.response.size()};
    hasher.add(std::span<const std::uint64_t>(lengths));
    hasher.add(std::span<const char>(text.prompt));
    hasher.add(std::span<const char>(text.response));
  }
  return hasher.digest();
}

std::size_t Dataset::bytes() const {
  std::size_t sum = dense.bytes() + offsets.size() * sizeof(offsets[0]) +
                    columns.size() * sizeof(columns[0]) + values.size() * sizeof(values[0]) +
                    labels.size() * sizeof(labels[0]) + texts.size() * sizeof(texts[0]);
  for (const Text& text : texts) sum += text.prompt.size() + text.response.size();
  return sum;
}

std::vector<std::filesystem::path> search_folders(const std::filesystem::path& data_dir) {
  std::vector<std::filesystem::path> folders;
  if (!data_dir.empty()) folders.push_back(data_dir);
  const char* variable = std::getenv("TANDEM_DATA");
  if (variable != nullptr && *variable != '\0') folders.emplace_back(variable);
  folders.emplace_back("/usr/share/datasets");
  return folders;
}

}  // namespace tandem::data
