// SPDX-License-Identifier: MIT
#include "llama/save.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "llama/convert.h"
#include "llama/test_checkpoints.h"

namespace tandem::llama {
namespace {

namespace fs = std::filesystem;
using tensors::Tensor;
using tensors::Type;

TEST(Convert, HalvesGoThereAndBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      ASSERT_EQ(float_to_half(value), half);
    }
  }
  EXPECT_EQ(half_to_float(0x3C00), 1.0F);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24F);
  EXPECT_EQ(half_to_float(0x7BFF), 65504.0F);
}

TEST(Convert, RoundsHalvesToNearestEven) {
  // Between every two neighbours: the middle goes to the even one, what is beside it to its side.
  for (std::uint16_t half = 0; half < 0x7BFF; ++half) {
    const float low = half_to_float(half);
    const float high = half_to_float(static_cast<std::uint16_t>(half + 1));
    const float middle = (low + high) / 2;
    const auto even = static_cast<std::uint16_t>(half % 2 == 0 ? half : half + 1);
    ASSERT_EQ(float_to_half(middle), even) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), half);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), half + 1);
    ASSERT_EQ(float_to_half(-middle), even | 0x8000);
  }
  EXPECT_EQ(float_to_half(65519.99F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(1e30F), 0x7C00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7C00);
}

TEST(Convert, RoundsBfloat16ToNearestEven) {
  const std::vector<float> values{1.0F, 1.00390625F, 1.01171875F, -1.0040F,
                                  std::numeric_limits<float>::quiet_NaN()};
  const auto bytes = from_floats(values, Type::bf16);
  const auto back = to_floats({"", Type::bf16, {5}, bytes});
  EXPECT_EQ(back[0], 1.0F);
  EXPECT_EQ(back[1], 1.0F);         // a tie, to even
  EXPECT_EQ(back[2], 1.015625F);    // a tie, to even
  EXPECT_EQ(back[3], -1.0078125F);  // above the middle
  EXPECT_TRUE(std::isnan(back[4]));
}

class Save : public CheckpointTest {
 protected:
  Checkpoint llama2c() const {
    write_file(folder_ / "a.bin", llama2c_file(small_config()));
    return Checkpoint::open(folder_ / "a.bin");
  }
  Checkpoint hugging_face(Type type) const {
    write_config(small_config(), type);
    write_weights(made_tensors(small_config(), type, 1).tensors);
    return Checkpoint::open(folder_);
  }
};

/// Values that bfloat16 cannot hold.
std::vector<float> thirds(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1) / 3;
  return values;
}

const std::vector<std::string> kChosen{"layers.1.attention.wk", "norm"};  // 4 x 8, 8

TEST_F(Save, ChangesLoadBack) {
  const fs::path path = folder_ / "changes";
  const std::vector<float> values = thirds(40);
  for (const bool is_llama2c : {true, false}) {
    const Checkpoint base = is_llama2c ? llama2c() : hugging_face(Type::bf16);
    save_changed(path, base, {kChosen, values});
    const tensors::SafetensorsFile file(path);
    EXPECT_EQ(file.tensors().size(), 2U);
    EXPECT_NE(file.find(is_llama2c ? "norm" : "model.norm.weight"), nullptr);
    EXPECT_EQ(file.metadata().at("format"), "pt");

    Checkpoint changed = base;
    changed.apply_changes(path);
    const std::size_t wk = weight_index(1, Part::wk);
    const std::size_t norm = norm_index(small_config());
    EXPECT_EQ(to_floats(changed.weights()[wk]),
              std::vector<float>(values.begin(), values.begin() + 32));
    EXPECT_EQ(to_floats(changed.weights()[norm]),
              std::vector<float>(values.begin() + 32, values.end()));
    for (std::size_t i = 0; i < base.weights().size(); ++i) {
      EXPECT_EQ(changed.weights()[i].name, base.weights()[i].name);
      if (i == wk || i == norm) continue;
      EXPECT_EQ(changed.weights()[i].bytes.data(), base.weights()[i].bytes.data());
    }
    EXPECT_NE(changed.hash(), base.hash());
  }
}

TEST_F(Save, ChangesOfOthersAreRefused) {
  const fs::path path = folder_ / "changes";
  save_changed(path, llama2c(), {kChosen, thirds(40)});
  Checkpoint other = hugging_face(Type::f32);
  const std::string hash = other.hash();
  expect_refused([&] { other.apply_changes(path); }, {"changes", "changes of the checkpoint"});
  const auto refuse = [&](const std::vector<Tensor>& tensors,
                          const std::vector<std::string>& parts) {
    write_safetensors(path, tensors, {});
    expect_refused([&] { other.apply_changes(path); }, parts);
  };
  const std::vector<std::byte> memory(64 * 4);
  const Tensor good{"norm", Type::f32, {8}, std::span(memory).first(32)};
  Tensor bad = good;
  bad.name = "model.nrm.weight";
  refuse({good, bad}, {"'model.nrm.weight'", "'model.norm.weight'"});
  bad.name = "model.norm.weight";
  refuse({good, bad}, {"for the second time"});
  bad.shape = {4, 2};
  refuse({bad}, {"[4, 2]", "[8]"});
  bad = {"norm", Type::f64, {8}, std::span(memory).first(64)};
  refuse({bad}, {"F64", "F32, F16 or BF16"});
  refuse({}, {"no tensor"});
  EXPECT_EQ(other.hash(), hash);
  write_safetensors(path, std::vector<Tensor>{good}, {});
  other.apply_changes(path);
  EXPECT_NE(other.hash(), hash);
}

TEST_F(Save, RefusesChangesThatDoNotFit) {
  const Checkpoint base = llama2c();
  const auto refuse = [&](const std::vector<std::string>& names, std::size_t count) {
    const std::vector<float> values = thirds(count);
    const Changes changes{names, values};
    EXPECT_THROW(save_changed(folder_ / "x", base, changes), std::invalid_argument);
    EXPECT_THROW(save_merged(folder_ / "x", base, changes), std::invalid_argument);
    EXPECT_FALSE(fs::exists(folder_ / "x"));
  };
  refuse(kChosen, 39);
  refuse(kChosen, 41);
  refuse({"nrm"}, 8);
  refuse({"norm", "norm"}, 16);
  expect_refused(
      [&] {
        save_changed(folder_ / "none" / "x", base, {{"norm"}, thirds(8)});
      },
      {"none/x"});
}

TEST_F(Save, MergedModelHasAllWeightsInTheirTypes) {
  for (const Type type : {Type::f32, Type::bf16, Type::f16}) {
    const Checkpoint base = hugging_face(type);
    const std::vector<float> values = thirds(40);
    const fs::path folder = folder_ / "merged";
    save_merged(folder, base, {kChosen, values});
    const Checkpoint merged = Checkpoint::open(folder);
    const std::size_t wk = weight_index(1, Part::wk);
    for (std::size_t i = 0; i < base.weights().size(); ++i) {
      const Tensor& weight = merged.weights()[i];
      EXPECT_EQ(weight.type, type);
      if (weight.name == "norm" || i == wk) continue;
      EXPECT_TRUE(std::ranges::equal(weight.bytes, base.weights()[i].bytes));
    }
    const auto expected = from_floats(std::span(values).first(32), type);
    EXPECT_TRUE(std::ranges::equal(merged.weights()[wk].bytes, expected));
  }
  const Checkpoint halves = hugging_face(Type::f16);
  const std::vector<float> large(8, 70000.0F);
  expect_refused(
      [&] {
        save_merged(folder_ / "large", halves, {{"norm"}, large});
      },
      {"'norm'", "70000", "float16"});
  EXPECT_FALSE(fs::exists(folder_ / "large"));
}

TEST_F(Save, MergedLlama2cHasItsRowsInHalves) {
  Config config = small_config();
  config.dim = 16;
  config.head_dim = 4;
  write_file(folder_ / "a.bin", llama2c_file(config));
  const Checkpoint base = Checkpoint::open(folder_ / "a.bin");
  save_merged(folder_ / "merged", base, {});
  const Checkpoint merged = Checkpoint::open(folder_ / "merged");
  EXPECT_TRUE(merged.config().rope_halves);
  const auto row = [](const Checkpoint& checkpoint, std::size_t index, std::size_t number) {
    const auto values = to_floats(checkpoint.weights()[index]);
    return values.at(number * 16);
  };
  const std::size_t wq = weight_index(1, Part::wq);
  const std::size_t wv = weight_index(1, Part::wv);
  for (std::size_t head = 0; head < 4; ++head) {
    EXPECT_EQ(row(merged, wq, 4 * head + 0), row(base, wq, 4 * head + 0));
    EXPECT_EQ(row(merged, wq, 4 * head + 1), row(base, wq, 4 * head + 2));
    EXPECT_EQ(row(merged, wq, 4 * head + 2), row(base, wq, 4 * head + 1));
    EXPECT_EQ(row(merged, wq, 4 * head + 3), row(base, wq, 4 * head + 3));
  }
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(row(merged, wv, i), row(base, wv, i));
}

}  // namespace
}  // namespace tandem::llama
