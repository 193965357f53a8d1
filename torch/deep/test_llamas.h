// SPDX-License-Identifier: MIT
// For tests: small random Llamas, and their logits by loops in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "llama/convert.h"
#include "llama/layout.h"
#include "plugin/plugin.h"

namespace tandem::deep {

using Floats = std::vector<float>;

/// The values of all weights in the order of llama::layout(); numbers that bfloat16 and float16
/// hold exactly.
struct TestLlama {
  llama::Config config;
  std::vector<Floats> weights;
};

inline llama::Config test_config() {
  llama::Config config;
  config.dim = 12;
  config.hidden = 20;
  config.layers = 3;
  config.heads = 6;
  config.kv_heads = 2;
  config.head_dim = 4;  // 6 x 4 is not dim
  config.vocabulary = 23;
  config.sequence = 24;
  return config;
}

inline TestLlama random_llama(const llama::Config& config, std::uint64_t seed) {
  TestLlama model{config, {}};
  Random random(seed, 0);
  for (const llama::WeightEntry& entry : llama::layout(config)) {
    Floats values(entry.elements());
    const bool norm = entry.shape.size() == 1;
    for (float& value : values) {
      const double step = std::clamp(std::round(random.normal() * 24), -100.0, 100.0) / 64;
      value = static_cast<float>(norm ? 1 + step / 2 : step);
    }
    model.weights.push_back(std::move(values));
  }
  return model;
}

/// As a request without samples, stored in a type; `apart` bytes off alignment.
inline plugin::LlamaRequest request_of(const TestLlama& model, std::vector<std::string> trained,
                                       tensors::Type type = tensors::Type::f32,
                                       std::size_t apart = 0) {
  plugin::LlamaRequest request;
  request.config = model.config;
  request.trained = std::move(trained);
  auto memory = std::make_shared<std::vector<std::vector<std::byte>>>();
  const auto entries = llama::layout(model.config);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::vector<std::byte> bytes = llama::from_floats(model.weights[i], type);
    auto& place = memory->emplace_back(bytes.size() + apart);
    std::memcpy(place.data() + apart, bytes.data(), bytes.size());
    request.weights.push_back(
        {entries[i].name, type, entries[i].shape, std::span(place).subspan(apart)});
  }
  request.owner = memory;
  return request;
}

using Matrix = std::vector<std::vector<double>>;

/// Written from the definition of the model, apart from the code that it tests.
class ReferenceLlama {
 public:
  explicit ReferenceLlama(const TestLlama& model) : model_(model) {}

  /// A row of logits for each token.
  Matrix logits(const std::vector<std::int32_t>& tokens) const {
    const llama::Config& config = model_.config;
    Matrix x;
    for (const std::int32_t token : tokens) {
      std::vector<double> row;
      for (std::size_t i = 0; i < config.dim; ++i) {
        row.push_back(model_.weights[0][static_cast<std::size_t>(token) * config.dim + i]);
      }
      x.push_back(row);
    }
    for (std::size_t layer = 0; layer < config.layers; ++layer) {
      add(x, attention(layer, normed(x, part(layer, llama::Part::attention_norm))));
      add(x, feed_forward(layer, normed(x, part(layer, llama::Part::ffn_norm))));
    }
    x = normed(x, model_.weights[llama::norm_index(config)]);
    return times(x, model_.weights[llama::output_index(config)]);
  }

  /// The mean of the losses of tokens from `response` on.
  double loss(const plugin::TokenSample& sample) const {
    const Matrix all = logits(sample.tokens);
    double sum = 0;
    for (std::size_t t = sample.response; t < sample.tokens.size(); ++t) {
      double exponentials = 0;
      for (const double logit : all[t - 1]) exponentials += std::exp(logit);
      sum += std::log(exponentials) - all[t - 1][static_cast<std::size_t>(sample.tokens[t])];
    }
    return sum / static_cast<double>(sample.tokens.size() - sample.response);
  }

 private:
  const Floats& part(std::size_t layer, llama::Part part) const {
    return model_.weights[llama::weight_index(layer, part)];
  }
  static void add(Matrix& x, const Matrix& y) {
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
    }
  }
  Matrix normed(const Matrix& x, const Floats& weight) const {
    Matrix y = x;
    for (std::vector<double>& row : y) {
      double squares = 0;
      for (const double value : row) squares += value * value;
      const double root =
          std::sqrt(squares / static_cast<double>(row.size()) + model_.config.norm_epsilon);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] / root * weight[i];
    }
    return y;
  }
  static Matrix times(const Matrix& x, const Floats& weight) {
    Matrix y;
    for (const std::vector<double>& row : x) {
      std::vector<double> out(weight.size() / row.size());
      for (std::size_t o = 0; o < out.size(); ++o) {
        for (std::size_t i = 0; i < row.size(); ++i) out[o] += weight[o * row.size() + i] * row[i];
      }
      y.push_back(out);
    }
    return y;
  }
  void rotate(std::vector<double>& row, std::size_t position) const {
    const llama::Config& config = model_.config;
    const std::size_t pairs = config.head_dim / 2;
    for (std::size_t head = 0; head < row.size() / config.head_dim; ++head) {
      for (std::size_t pair = 0; pair < pairs; ++pair) {
        const std::size_t at = head * config.head_dim;
        const std::size_t first = at + (config.rope_halves ? pair : 2 * pair);
        const std::size_t second = config.rope_halves ? first + pairs : first + 1;
        const double angle = static_cast<double>(position) /
                             std::pow(config.rope_theta, 2.0 * static_cast<double>(pair) /
                                                             static_cast<double>(config.head_dim));
        const double a = row[first];
        const double b = row[second];
        row[first] = a * std::cos(angle) - b * std::sin(angle);
        row[second] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }
  Matrix attention(std::size_t layer, const Matrix& x) const {
    const llama::Config& config = model_.config;
    Matrix q = times(x, part(layer, llama::Part::wq));
    Matrix k = times(x, part(layer, llama::Part::wk));
    const Matrix v = times(x, part(layer, llama::Part::wv));
    for (std::size_t t = 0; t < x.size(); ++t) {
      rotate(q[t], t);
      rotate(k[t], t);
    }
    Matrix mixed(x.size(), std::vector<double>(config.heads * config.head_dim));
    for (std::size_t head = 0; head < config.heads; ++head) {
      const std::size_t at = head * config.head_dim;
      const std::size_t from = head / (config.heads / config.kv_heads) * config.head_dim;
      for (std::size_t t = 0; t < x.size(); ++t) {
        std::vector<double> share(t + 1);
        double sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          double dot = 0;
          for (std::size_t i = 0; i < config.head_dim; ++i) dot += q[t][at + i] * k[s][from + i];
          share[s] = std::exp(dot / std::sqrt(static_cast<double>(config.head_dim)));
          sum += share[s];
        }
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t i = 0; i < config.head_dim; ++i) {
            mixed[t][at + i] += share[s] / sum * v[s][from + i];
          }
        }
      }
    }
    return times(mixed, part(layer, llama::Part::wo));
  }
  Matrix feed_forward(std::size_t layer, const Matrix& x) const {
    Matrix gate = times(x, part(layer, llama::Part::w1));
    const Matrix up = times(x, part(layer, llama::Part::w3));
    for (std::size_t t = 0; t < gate.size(); ++t) {
      for (std::size_t i = 0; i < gate[t].size(); ++i) {
        gate[t][i] = gate[t][i] / (1 + std::exp(-gate[t][i])) * up[t][i];
      }
    }
    return times(gate, part(layer, llama::Part::w2));
  }

  const TestLlama& model_;
};

}  // namespace tandem::deep
