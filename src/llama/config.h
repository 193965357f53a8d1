// SPDX-License-Identifier: MIT
// The shape of a Llama, and what its weights are called whatever file they come from:
//
//   tok_embeddings               vocabulary x dim
//   layers.N.attention_norm      dim
//   layers.N.attention.wq        heads * head_dim x dim
//   layers.N.attention.wk, wv    kv_heads * head_dim x dim
//   layers.N.attention.wo        dim x heads * head_dim
//   layers.N.ffn_norm            dim
//   layers.N.feed_forward.w1, w3 hidden x dim
//   layers.N.feed_forward.w2     dim x hidden
//   norm                         dim
//   output                       vocabulary x dim; absent where it is tok_embeddings
#pragma once

#include <cstddef>

namespace tandem::llama {

struct Config {
  std::size_t dim = 0;
  std::size_t hidden = 0;
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t kv_heads = 0;  // divides heads
  std::size_t head_dim = 0;  // even
  std::size_t vocabulary = 0;
  std::size_t sequence = 0;  // the most tokens
  double norm_epsilon = 1e-5;
  double rope_theta = 10000;
  bool tied = false;  // the output is tok_embeddings
  /// Which elements of a head rotary embedding turns together: neighbours (the original), or i and
  /// i + head_dim / 2 (Hugging Face, whose wq and wk have their rows in that order).
  bool rope_halves = false;
};

}  // namespace tandem::llama
