// SPDX-License-Identifier: MIT
// Follows a micro-batch through the model, as llama.cc and torch's graph go, and counts floats.
#include "deep/llama_memory.h"

#include <algorithm>

#include "deep/llama.h"
#include "llama/layout.h"

namespace tandem::deep {
namespace {

using llama::Part;

/// Floats of the activations of a micro-batch, by their width.
struct Sizes {
  Sizes(const llama::Config& config, const LlamaShape& shape, std::size_t samples)
      : dim(samples * shape.length * config.dim),
        queries(samples * shape.length * config.heads * config.head_dim),
        keys(samples * shape.length * config.kv_heads * config.head_dim),
        hidden(samples * shape.length * config.hidden),
        scores(samples * config.heads * shape.length * shape.length),
        rows(shape.rows * config.dim) {}

  std::size_t dim;
  std::size_t queries;
  std::size_t keys;
  std::size_t hidden;
  std::size_t scores;
  std::size_t rows;  // those that count in the loss
};

/// What the graph of a layer keeps.
struct Kept {
  std::size_t attention = 0;
  std::size_t feed_forward = 0;
  bool scores = false;  // the whole of them; otherwise they are made in pieces
};

class Walk {
 public:
  Walk(const llama::Config& config, const LlamaShape& shape)
      : config_(config),
        shape_(shape),
        sizes_(config, shape, shape.samples),
        single_(config, shape, 1) {}

  std::size_t most_floats() {
    bool graph = shape_.trained[llama::kEmbeddingIndex];
    Kept top;
    std::size_t kept = 0;
    std::size_t most = 0;
    for (std::size_t layer = 0; layer < config_.layers; ++layer) {
      const Kept now = kept_by(layer, graph);
      const bool alone = layer < shape_.frozen;
      most = std::max(most, kept + forward(alone ? single_ : sizes_, now.scores));
      if (!now.scores) in_pieces_ = std::max(in_pieces_, alone ? 1 : shape_.samples);
      kept += now.attention + now.feed_forward;
      top = now;
    }
    // States of the frozen layers, filled up, and those of a sample.
    if (shape_.frozen > 0) most = std::max(most, kept + 2 * sizes_.dim);
    const bool back = graph || shape_.trained[llama::norm_index(config_)];
    const std::size_t last_norm = back ? 2 * sizes_.rows : 0;
    most = std::max(most, kept + last_norm + 2 * sizes_.rows);
    if (graph) most = std::max(most, kept + backward(top));
    if (shape_.trained[llama::kEmbeddingIndex]) {
      most = std::max(most, config_.vocabulary * config_.dim + 3 * sizes_.dim);
    }
    return most + pieces();
  }

 private:
  bool trained(std::size_t layer, Part part) const {
    return shape_.trained[llama::weight_index(layer, part)];
  }

  /// What a layer holds at its worst: its input, the norm of it, and what it computes.
  static std::size_t forward(const Sizes& s, bool scores) {
    const std::size_t heads = s.queries + 2 * s.keys;
    const std::size_t mixed = 2 * s.queries;
    const std::size_t attention =
        heads + (scores ? std::max(2 * s.scores, s.scores + mixed) : mixed);
    const std::size_t feed_forward = std::max(4 * s.hidden, 3 * s.hidden + s.dim);
    return 2 * s.dim + std::max(attention, feed_forward);
  }

  /// `graph` is whether something below is trained, and becomes whether the layer's output is.
  Kept kept_by(std::size_t layer, bool& graph) const {
    const Sizes& s = sizes_;
    Kept kept;
    const auto norm = [&](Part part) {
      const bool own = trained(layer, part);
      const std::size_t size = (graph ? 2 * s.dim : 0) + (own ? s.dim : 0);
      graph = graph || own;
      return size;
    };
    const bool below = graph;
    kept.attention += norm(Part::attention_norm);
    const bool q = graph || trained(layer, Part::wq);
    const bool k = graph || trained(layer, Part::wk);
    const bool v = graph || trained(layer, Part::wv);
    if (trained(layer, Part::wq) || trained(layer, Part::wk) || trained(layer, Part::wv)) {
      kept.attention += s.dim;  // what goes into the three
    }
    if (k) kept.attention += s.queries;
    if (q) kept.attention += s.keys;
    if (q || k) kept.attention += s.keys;
    kept.scores = q || k || v;
    if (kept.scores) kept.attention += s.scores;
    if (trained(layer, Part::wo)) kept.attention += s.queries;
    graph = q || k || v || trained(layer, Part::wo) || below;

    kept.feed_forward += norm(Part::ffn_norm);
    const bool gate = graph || trained(layer, Part::w1);
    const bool up = graph || trained(layer, Part::w3);
    if (trained(layer, Part::w1) || trained(layer, Part::w3)) kept.feed_forward += s.dim;
    if (gate) kept.feed_forward += 2 * s.hidden;  // before its function, and what it multiplies
    if (up) kept.feed_forward += s.hidden;
    if (trained(layer, Part::w2)) kept.feed_forward += s.hidden;
    graph = gate || up || trained(layer, Part::w2);
    return kept;
  }

  /// A converted piece of the largest weight, a piece of logits and two of scores, which are there
  /// all the time.
  std::size_t pieces() const {
    const std::size_t rows = std::clamp<std::size_t>(
        kLogitBytes / sizeof(float) / config_.vocabulary, 1, std::max<std::size_t>(1, shape_.rows));
    std::size_t largest = 0;
    const std::vector<llama::WeightEntry> entries = llama::layout(config_);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!shape_.converted[i] || entries[i].shape.size() != 2) continue;
      const bool gathered = i == llama::kEmbeddingIndex && !config_.tied;
      const std::size_t columns = entries[i].shape[1];
      const std::size_t piece = std::clamp<std::size_t>(kConvertedBytes / sizeof(float) / columns,
                                                        1, entries[i].shape[0]);
      if (!gathered) largest = std::max(largest, piece * columns);
    }
    const std::size_t key = shape_.length * shape_.length * (config_.heads / config_.kv_heads);
    const std::size_t keys =
        std::clamp<std::size_t>(kScoreBytes / sizeof(float) / key, 1,
                                std::max<std::size_t>(1, in_pieces_ * config_.kv_heads));
    return rows * config_.vocabulary + largest + (in_pieces_ == 0 ? 0 : 2 * keys * key);
  }

  /// On the way back through the last layer; what it kept is let go as it was used.
  std::size_t backward(const Kept& top) const {
    const Sizes& s = sizes_;
    const bool gated = top.feed_forward >= 2 * s.hidden;
    const std::size_t feed_forward = 2 * s.dim + (gated ? 3 * s.hidden : 0);
    const std::size_t attention = top.attention == 0 ? 0 : 3 * s.dim + s.queries + 2 * s.scores;
    const std::size_t of_attention =
        attention > top.feed_forward ? attention - top.feed_forward : 0;
    return std::max(feed_forward, of_attention) + largest_gradient();
  }

  /// Gradients of weights are made whole before they are added. That of the output is not, and that
  /// of the embedding comes when all else is gone.
  std::size_t largest_gradient() const {
    std::size_t largest = 0;
    const std::vector<llama::WeightEntry> entries = llama::layout(config_);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool in_a_layer = i != llama::kEmbeddingIndex && i < llama::norm_index(config_);
      if (shape_.trained[i] && in_a_layer) largest = std::max(largest, entries[i].elements());
    }
    return largest;
  }

  const llama::Config& config_;
  const LlamaShape& shape_;
  Sizes sizes_;
  Sizes single_;
  std::size_t in_pieces_ = 0;  // samples whose scores are made in pieces together
};

}  // namespace

std::size_t llama_workspace_bytes(const llama::Config& config, const LlamaShape& shape) {
  return Walk(config, shape).most_floats() * sizeof(float);
}

}  // namespace tandem::deep
