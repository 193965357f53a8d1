// SPDX-License-Identifier: MIT
// Whatever tensors a file gets, they come back as they went in.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tensors/test_tensors.h"

namespace tandem::tensors {
namespace {

/// Text in UTF-8, quotes and control characters among it.
std::string any_text() {
  std::string text;
  for (const int piece : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 140))) {
    static const std::vector<std::string> kWide = {"é", "研", "\U0001F600", "'", "\""};
    if (piece < 128) {
      text += static_cast<char>(piece);
    } else {
      text += kWide[static_cast<std::size_t>(piece) % kWide.size()];
    }
  }
  return text;
}

struct Sample {
  Type type;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;
};

Sample any_sample() {
  Sample sample{.type = static_cast<Type>(*rc::gen::inRange(0, 10)), .shape = {}, .bytes = {}};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    sample.shape.push_back(*rc::gen::inRange<std::uint64_t>(0, 6));
  }
  const std::uint64_t size = byte_size(sample.type, sample.shape).value();
  const auto first = *rc::gen::arbitrary<unsigned char>();
  for (std::uint64_t i = 0; i < size; ++i) {
    sample.bytes.push_back(static_cast<std::byte>(first + 31 * i));
  }
  return sample;
}

using SafetensorsProperty = TensorFileTest;

RC_GTEST_FIXTURE_PROP(SafetensorsProperty, TensorsRoundTrip, ()) {
  std::map<std::string, Sample> samples;
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) samples[any_text()] = any_sample();
  std::map<std::string, std::string> metadata;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) metadata[any_text()] = any_text();
  std::vector<Tensor> tensors;
  for (const auto& [name, sample] : samples) {
    tensors.push_back({name, sample.type, sample.shape, sample.bytes});
  }
  std::ranges::reverse(tensors);
  write_safetensors(path_, tensors, metadata);

  const SafetensorsFile file(path_);
  RC_ASSERT(file.metadata() == metadata);
  RC_ASSERT(file.tensors().size() == samples.size());
  for (const auto& [name, sample] : samples) {
    const Tensor* tensor = file.find(name);
    RC_ASSERT(tensor != nullptr);
    RC_ASSERT(tensor->type == sample.type);
    RC_ASSERT(tensor->shape == sample.shape);
    RC_ASSERT(std::ranges::equal(tensor->bytes, sample.bytes));
    RC_ASSERT(reinterpret_cast<std::uintptr_t>(tensor->bytes.data()) % type_size(sample.type) == 0);
  }
  // Larger types first, then by name; what was read is written as it was.
  RC_ASSERT(std::ranges::is_sorted(file.tensors(), {}, [](const Tensor& tensor) {
    return std::pair(8 - type_size(tensor.type), tensor.name);
  }));
  const std::string bytes = written();
  write_safetensors(path_, file.tensors(), file.metadata());
  RC_ASSERT(written() == bytes);
}

}  // namespace
}  // namespace tandem::tensors
