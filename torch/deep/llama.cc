// SPDX-License-Identifier: MIT
#include "deep/llama.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tandem::deep {
namespace {

using at::Tensor;
using llama::Config;
using llama::Part;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::int64_t signed_size(std::size_t size) { return static_cast<std::int64_t>(size); }

// ---- Products with weights ----------------------------------------------------------------------

/// Memory of a thread that is used again and again: large blocks which come and go between small
/// ones that stay would leave holes in the heap.
Tensor scratch(Tensor& memory, std::int64_t rows, std::int64_t columns) {
  if (!memory.defined() || memory.numel() < rows * columns) {
    memory.reset();
    memory = at::empty({rows * columns}, at::kFloat);
  }
  return memory.narrow(0, 0, rows * columns).view({rows, columns});
}
thread_local Tensor converted_memory;
thread_local Tensor logit_memory;
thread_local Tensor score_memory;
thread_local Tensor share_memory;

bool is_float(const Tensor& weight) { return weight.scalar_type() == at::kFloat; }

/// Calls work(first row, rows as float32) for pieces of a matrix, converted where it is not stored
/// as that. BLAS packs what it reads: its own memory stays small with it.
template <class Work>
void for_row_pieces(const Tensor& matrix, const Work& work) {
  const std::int64_t columns = matrix.size(1);
  const std::int64_t step = std::clamp<std::int64_t>(
      signed_size(kConvertedBytes / sizeof(float)) / columns, 1, matrix.size(0));
  for (std::int64_t row = 0; row < matrix.size(0); row += step) {
    Tensor rows = matrix.narrow(0, row, std::min(step, matrix.size(0) - row));
    if (!is_float(matrix)) rows = scratch(converted_memory, rows.size(0), columns).copy_(rows);
    work(row, rows);
  }
}

/// result = x W^T without a graph.
void put_product(const Tensor& x, const Tensor& weight, Tensor& result) {
  for_row_pieces(weight, [&](std::int64_t row, const Tensor& rows) {
    Tensor part = result.narrow(1, row, rows.size(0));
    at::mm_out(part, x, rows.t());
  });
}

Tensor plain_product(const Tensor& x, const Tensor& weight) {
  Tensor result = at::empty({x.size(0), weight.size(0)}, x.options());
  put_product(x, weight, result);
  return result;
}

/// result = y W without a graph: what a product gives back to its input.
void put_product_back(const Tensor& y, const Tensor& weight, Tensor& result) {
  for_row_pieces(weight, [&](std::int64_t row, const Tensor& rows) {
    const Tensor part = y.narrow(1, row, rows.size(0));
    if (row == 0) {
      at::mm_out(result, part, rows);
    } else {
      result.addmm_(part, rows);
    }
  });
}

/// gradient += y^T x: what a product gives to its weight.
void add_weight_gradient(const Tensor& y, const Tensor& x, const Tensor& gradient) {
  for_row_pieces(gradient, [&](std::int64_t row, Tensor rows) {
    rows.addmm_(y.narrow(1, row, rows.size(0)).t(), x);
  });
}

/// With a weight that is not float32 and is not trained. Only a reference to it is kept for the way
/// back, where it is converted once more.
class FrozenProduct : public torch::autograd::Function<FrozenProduct> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight) {
    context->save_for_backward({weight});
    return plain_product(x, weight);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor weight = context->get_saved_variables()[0];
    Tensor result = at::empty({gradients[0].size(0), weight.size(1)}, gradients[0].options());
    put_product_back(gradients[0], weight, result);
    return {result, Tensor()};
  }
};

/// x W^T; rows of x are tokens.
Tensor product(const Tensor& x, const Tensor& weight) {
  return is_float(weight) ? x.mm(weight.t()) : FrozenProduct::apply(x, weight);
}

// ---- Parts of a layer ---------------------------------------------------------------------------

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  const Tensor scale = x.square().mean(-1, true).add_(epsilon).rsqrt_();
  return x.mul(scale).mul(weight.to(at::kFloat));
}

/// Cosines and sines of some positions: length x head_dim / 2 each.
struct Turns {
  Tensor cosines;
  Tensor sines;
};

Turns turns_of(const Config& config, std::int64_t first, std::int64_t length) {
  const std::int64_t pairs = signed_size(config.head_dim / 2);
  Turns turns{at::empty({length, pairs}, at::kFloat), at::empty({length, pairs}, at::kFloat)};
  auto cosines = turns.cosines.accessor<float, 2>();
  auto sines = turns.sines.accessor<float, 2>();
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const double frequency = std::pow(
        config.rope_theta, -2.0 * static_cast<double>(pair) / static_cast<double>(config.head_dim));
    for (std::int64_t i = 0; i < length; ++i) {
      const double angle = static_cast<double>(first + i) * frequency;
      cosines[i][pair] = static_cast<float>(std::cos(angle));
      sines[i][pair] = static_cast<float>(std::sin(angle));
    }
  }
  return turns;
}

/// Rotary embedding of batch * length rows of heads * head_dim. `direction` is 1, or -1 for back.
Tensor turned(const Tensor& rows, const Tensor& cosines, const Tensor& sines, bool halves,
              float direction) {
  const Tensor from = rows.contiguous();
  Tensor to = at::empty_like(from);
  const std::int64_t length = cosines.size(0);
  const std::int64_t pairs = cosines.size(1);
  const std::int64_t head_dim = 2 * pairs;
  const std::int64_t heads = from.size(1) / head_dim;
  const std::int64_t step = halves ? 1 : 2;       // from pair to pair
  const std::int64_t apart = halves ? pairs : 1;  // the two of a pair
  const float* source = from.data_ptr<float>();
  float* target = to.data_ptr<float>();
  const float* all_cosines = cosines.data_ptr<float>();
  const float* all_sines = sines.data_ptr<float>();
  const auto turn_rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* cosine = all_cosines + row % length * pairs;
      const float* sine = all_sines + row % length * pairs;
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t at = (row * heads + head) * head_dim;
        for (std::int64_t pair = 0; pair < pairs; ++pair) {
          const float x = source[at + pair * step];
          const float y = source[at + pair * step + apart];
          const float c = cosine[pair];
          const float s = direction * sine[pair];
          target[at + pair * step] = x * c - y * s;
          target[at + pair * step + apart] = x * s + y * c;
        }
      }
    }
  };
  constexpr std::int64_t kGrain = 16;  // rows that are worth a thread
  at::parallel_for(0, from.size(0), kGrain, turn_rows);
  return to;
}

class Rotation : public torch::autograd::Function<Rotation> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& rows, const Tensor& cosines,
                        const Tensor& sines, bool halves) {
    context->save_for_backward({cosines, sines});
    context->saved_data["halves"] = halves;
    return turned(rows, cosines, sines, halves, 1);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    return {turned(gradients[0], saved[0], saved[1], context->saved_data["halves"].toBool(), -1),
            Tensor(), Tensor(), Tensor()};
  }
};

/// What all layers of one pass share.
struct Pass {
  const Config& config;
  const LlamaWeights& weights;
  std::int64_t batch;
  std::int64_t length;  // of what is new
  Turns turns;
  Tensor unseen;  // groups * length x all: true where a token comes after the one that asks
  KeyValueCache* cache;

  const Tensor& weight(std::size_t layer, Part part) const {
    return weights[llama::weight_index(layer, part)];
  }
  /// batch * kv_heads x length x head_dim of rows.
  Tensor split_heads(const Tensor& rows) const {
    return rows.view({batch, length, -1, signed_size(config.head_dim)})
        .transpose(1, 2)
        .reshape({-1, length, signed_size(config.head_dim)});
  }
};

/// Puts new keys or values behind those of the cache; all of them.
Tensor extended(Tensor& cache, std::int64_t length, const Tensor& added) {
  cache.narrow(1, length, added.size(1)).copy_(added);
  return cache.narrow(1, 0, length + added.size(1));
}

/// What each query takes of the values, without a graph: a few keys at a time, so that scores stay in
/// memory that is used again and again. They are the largest thing that a layer makes.
Tensor mixed_in_pieces(const Pass& pass, const Tensor& queries, const Tensor& key,
                       const Tensor& value) {
  Tensor mixed = at::empty_like(queries);
  const std::int64_t rows = queries.size(1);
  const std::int64_t columns = key.size(1);
  const std::int64_t step = std::clamp<std::int64_t>(
      signed_size(kScoreBytes / sizeof(float)) / (rows * columns), 1, queries.size(0));
  for (std::int64_t first = 0; first < queries.size(0); first += step) {
    const std::int64_t count = std::min(step, queries.size(0) - first);
    Tensor scores = scratch(score_memory, count * rows, columns).view({count, rows, columns});
    Tensor shares = scratch(share_memory, count * rows, columns).view({count, rows, columns});
    at::bmm_out(scores, queries.narrow(0, first, count),
                key.narrow(0, first, count).transpose(1, 2));
    scores.masked_fill_(pass.unseen, -std::numeric_limits<float>::infinity());
    at::_softmax_out(shares, scores, -1, false);
    Tensor part = mixed.narrow(0, first, count);
    at::bmm_out(part, shares, value.narrow(0, first, count));
  }
  return mixed;
}

/// Heads that share a key are rows of one product: nothing is repeated.
Tensor attention(const Pass& pass, std::size_t layer, const Tensor& x) {
  const Config& config = pass.config;
  const auto rotate = [&](const Tensor& rows) {
    return Rotation::apply(rows, pass.turns.cosines, pass.turns.sines, config.rope_halves);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(config.head_dim));
  const std::int64_t head_dim = signed_size(config.head_dim);
  const std::int64_t groups = signed_size(config.heads / config.kv_heads);
  const std::int64_t keys = pass.batch * signed_size(config.kv_heads);
  // Query heads of a key stand side by side, so these are batch * kv_heads x groups * length.
  const Tensor queries =
      pass.split_heads(rotate(product(x, pass.weight(layer, Part::wq))).mul_(scale))
          .reshape({keys, groups * pass.length, head_dim});
  Tensor key = pass.split_heads(rotate(product(x, pass.weight(layer, Part::wk))));
  Tensor value = pass.split_heads(product(x, pass.weight(layer, Part::wv)));
  if (pass.cache != nullptr) {
    key = extended(pass.cache->keys[layer], pass.cache->length, key);
    value = extended(pass.cache->values[layer], pass.cache->length, value);
  }
  const bool graph = at::GradMode::is_enabled() &&
                     (queries.requires_grad() || key.requires_grad() || value.requires_grad());
  const Tensor of_keys =
      !graph ? mixed_in_pieces(pass, queries, key, value)
             : queries.bmm(key.transpose(1, 2))
                   .masked_fill_(pass.unseen, -std::numeric_limits<float>::infinity())
                   .softmax(-1)
                   .bmm(value);
  const Tensor mixed = of_keys.view({pass.batch, -1, pass.length, head_dim})
                           .transpose(1, 2)
                           .reshape({pass.batch * pass.length, -1});
  return product(mixed, pass.weight(layer, Part::wo));
}

Tensor feed_forward(const Pass& pass, std::size_t layer, const Tensor& x) {
  const Tensor gate = at::silu(product(x, pass.weight(layer, Part::w1)));
  const Tensor gated = gate.mul(product(x, pass.weight(layer, Part::w3)));
  return product(gated, pass.weight(layer, Part::w2));
}

}  // namespace

at::Tensor stored_tensor(const tensors::Tensor& tensor) {
  at::ScalarType type = at::kFloat;
  if (tensor.type == tensors::Type::f16) type = at::kHalf;
  if (tensor.type == tensors::Type::bf16) type = at::kBFloat16;
  if (tensor.type != tensors::Type::f32 && type == at::kFloat) {
    throw std::invalid_argument("the weight " + tensor.name + " is not F32, F16 or BF16");
  }
  const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  const std::size_t size = type_size(tensor.type);
  if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % size != 0) {
    Tensor copy = at::empty(shape, type);
    std::memcpy(copy.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
    return copy;
  }
  // from_blob only reads, but has no const.
  return at::from_blob(const_cast<std::byte*>(tensor.bytes.data()), shape, type);
}

KeyValueCache::KeyValueCache(const llama::Config& config, std::size_t capacity) {
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    for (std::vector<Tensor>* list : {&keys, &values}) {
      list->push_back(at::empty(
          {signed_size(config.kv_heads), signed_size(capacity), signed_size(config.head_dim)},
          at::kFloat));
    }
  }
}

at::Tensor llama_embedded(const LlamaWeights& weights, const at::Tensor& tokens) {
  return weights[llama::kEmbeddingIndex].index_select(0, tokens.reshape({-1})).to(at::kFloat);
}

at::Tensor llama_layers(const llama::Config& config, const LlamaWeights& weights, at::Tensor states,
                        std::size_t batch, std::size_t first, std::size_t last,
                        KeyValueCache* cache) {
  const std::int64_t length = states.size(0) / signed_size(batch);
  const std::int64_t before = cache == nullptr ? 0 : cache->length;
  const Pass pass{config,
                  weights,
                  signed_size(batch),
                  length,
                  turns_of(config, before, length),
                  at::ones({length, before + length}, at::kBool)
                      .triu(before + 1)
                      .repeat({signed_size(config.heads / config.kv_heads), 1}),
                  cache};
  for (std::size_t layer = first; layer < last; ++layer) {
    const auto norm = [&](Part part) {
      return rms_norm(states, pass.weight(layer, part), config.norm_epsilon);
    };
    states = states.add(attention(pass, layer, norm(Part::attention_norm)));
    states = states.add(feed_forward(pass, layer, norm(Part::ffn_norm)));
  }
  if (cache != nullptr) cache->length += length;
  return states;
}

at::Tensor llama_states(const llama::Config& config, const LlamaWeights& weights,
                        const at::Tensor& tokens, KeyValueCache* cache) {
  return llama_layers(config, weights, llama_embedded(weights, tokens),
                      static_cast<std::size_t>(tokens.size(0)), 0, config.layers, cache);
}

at::Tensor llama_last_norm(const llama::Config& config, const LlamaWeights& weights,
                           const at::Tensor& states) {
  return rms_norm(states, weights[llama::norm_index(config)], config.norm_epsilon);
}

at::Tensor llama_logits(const llama::Config& config, const LlamaWeights& weights,
                        const at::Tensor& rows) {
  const at::NoGradGuard no_gradient;
  return plain_product(rows, weights[llama::output_index(config)]);
}

LlamaLoss llama_loss(const llama::Config& config, const LlamaWeights& weights,
                     const at::Tensor& rows, std::span<const std::int64_t> targets,
                     std::span<const float> factors, const at::Tensor& output_gradient) {
  const at::NoGradGuard no_gradient;
  const Tensor output = weights[llama::output_index(config)].detach();
  const Tensor input = rows.detach();
  LlamaLoss result;
  result.losses.reserve(targets.size());
  if (!factors.empty()) result.row_gradients = at::empty_like(input);
  const std::int64_t step =
      std::max<std::int64_t>(1, signed_size(kLogitBytes / (config.vocabulary * sizeof(float))));
  for (std::int64_t row = 0; row < input.size(0); row += step) {
    const std::int64_t count = std::min(step, input.size(0) - row);
    const Tensor part = input.narrow(0, row, count);
    Tensor logits = scratch(logit_memory, count, output.size(0));
    put_product(part, output, logits);
    // Shifted by their largest: no exponential overflows.
    logits.sub_(logits.amax(-1, true));
    const auto* of_target = targets.data() + row;
    auto values = logits.accessor<float, 2>();
    std::vector<double> chosen(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      chosen[static_cast<std::size_t>(i)] = values[i][of_target[i]];
    }
    logits.exp_();
    const Tensor sums = logits.sum(-1, true);
    const float* sum = sums.data_ptr<float>();
    for (std::int64_t i = 0; i < count; ++i) {
      result.losses.push_back(std::log(static_cast<double>(sum[i])) -
                              chosen[static_cast<std::size_t>(i)]);
    }
    if (factors.empty()) continue;
    Tensor scales = at::empty({count, 1}, at::kFloat);
    for (std::int64_t i = 0; i < count; ++i) {
      scales.data_ptr<float>()[i] = factors[static_cast<std::size_t>(row + i)] / sum[i];
    }
    logits.mul_(scales);
    for (std::int64_t i = 0; i < count; ++i) {
      values[i][of_target[i]] -= factors[static_cast<std::size_t>(row + i)];
    }
    Tensor part_gradient = result.row_gradients.narrow(0, row, count);
    put_product_back(logits, output, part_gradient);
    if (output_gradient.defined()) add_weight_gradient(logits, part, output_gradient);
  }
  return result;
}

}  // namespace tandem::deep
