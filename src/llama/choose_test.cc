// SPDX-License-Identifier: MIT
#include "llama/choose.h"

#include <gtest/gtest.h>

#include "llama/test_checkpoints.h"

namespace tandem::llama {
namespace {

using Names = std::vector<std::string>;

TEST(Patterns, MatchAsInAShellButForDots) {
  EXPECT_TRUE(matches("layers.4.*.wq", "layers.4.attention.wq"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "a.b"));
  EXPECT_TRUE(matches("*.w?", "layers.0.attention.wq"));
  EXPECT_TRUE(matches("a*b*c", "a.b.b.c"));
  EXPECT_TRUE(matches("norm", "norm"));
  EXPECT_TRUE(matches("norm**", "norm"));
  EXPECT_FALSE(matches("norm", "ffn_norm"));
  EXPECT_FALSE(matches("layers.4.*.wq", "layers.40.attention.wq"));
  EXPECT_FALSE(matches("a?", "a"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches(std::string(50, '*') + "b", std::string(2000, 'a')));
}

class Choose : public CheckpointTest {
 protected:
  Checkpoint llama2c() const {
    write_file(folder_ / "a.bin", llama2c_file(small_config()));
    return Checkpoint::open(folder_ / "a.bin");
  }
  Checkpoint hugging_face() const {
    write_config(small_config());
    write_weights(made_tensors(small_config(), tensors::Type::f16, 1).tensors);
    return Checkpoint::open(folder_);
  }
};

TEST_F(Choose, InTheOrderOfTheModelEachOnce) {
  EXPECT_EQ(choose_weights(llama2c(), {"layers.1.*.w?", "layers.0.*.wk", "layers.1.*.wq"}),
            (Names{"layers.0.attention.wk", "layers.1.attention.wq", "layers.1.attention.wk",
                   "layers.1.attention.wv", "layers.1.attention.wo", "layers.1.feed_forward.w1",
                   "layers.1.feed_forward.w2", "layers.1.feed_forward.w3"}));
  EXPECT_EQ(choose_weights(llama2c(), {"*"}).size(), 21U);
}

TEST_F(Choose, ByTheNamesOfTheFile) {
  EXPECT_EQ(choose_weights(hugging_face(), {"*.q_proj.*"}),
            (Names{"layers.0.attention.wq", "layers.1.attention.wq"}));
}

TEST_F(Choose, TheLastAttentionByDefault) {
  EXPECT_EQ(choose_weights(hugging_face(), default_patterns(small_config())),
            (Names{"layers.1.attention.wq", "layers.1.attention.wk", "layers.1.attention.wv",
                   "layers.1.attention.wo"}));
}

TEST_F(Choose, RefusesWhatFitsNothing) {
  const auto expect = [](const Checkpoint& checkpoint, const Names& patterns,
                         const std::vector<std::string>& parts) {
    expect_refused<std::invalid_argument>([&] { choose_weights(checkpoint, patterns); }, parts);
  };
  expect(llama2c(), {"layers.7.*.wq"}, {"'layers.7.*.wq'", "layers.1.attention.wq"});
  expect(llama2c(), {"nrm"}, {"'nrm'", "near it are norm"});
  expect(llama2c(), {"*", "layers.0.atention.wq"}, {"near it are layers.0.attention.wq"});
  expect(hugging_face(), {"layers.0.self_attn.q_proj.weight"},
         {"model.layers.0.self_attn.q_proj.weight"});
  expect(llama2c(), {"\x01zzzzzzzzzzzzz"}, {"\\x01", "there are tok_embeddings"});
  expect(llama2c(), {}, {"no pattern"});
}

}  // namespace
}  // namespace tandem::llama
