// SPDX-License-Identifier: MIT
// The caller's weights are the model's, and gradients are added to the caller's buffer, without a
// copy. A batch goes through the model a micro-batch at a time.
#include "deep/llama_problem.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <malloc.h>
#include <tandem/errors.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/state_stream.h"
#include "deep/llama.h"
#include "deep/llama_frozen.h"
#include "deep/llama_memory.h"
#include "deep/plain_errors.h"
#include "llama/layout.h"

namespace tandem::deep {
namespace {

using plugin::TokenSample;

/// The samples of a micro-batch: what the model reads, and what it should say where.
struct MicroBatch {
  std::size_t longest = 0;            // tokens that the model reads
  at::Tensor tokens;                  // samples x longest; shorter ones are filled up
  at::Tensor places;                  // rows whose next token counts
  std::vector<std::int64_t> targets;  // those tokens
  std::vector<float> factors;         // 1 / the number of them in their sample
  std::vector<std::size_t> counts;    // of them, a sample each
};

MicroBatch pack(std::span<const TokenSample* const> samples) {
  MicroBatch batch;
  std::size_t& longest = batch.longest;
  for (const TokenSample* sample : samples) longest = std::max(longest, sample->tokens.size() - 1);
  batch.tokens = at::zeros(
      {static_cast<std::int64_t>(samples.size()), static_cast<std::int64_t>(longest)}, at::kLong);
  auto* tokens = batch.tokens.data_ptr<std::int64_t>();
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const TokenSample& sample = *samples[i];
    const std::size_t count = sample.tokens.size() - sample.response;
    std::copy(sample.tokens.begin(), sample.tokens.end() - 1, tokens + i * longest);
    for (std::size_t t = sample.response; t < sample.tokens.size(); ++t) {
      places.push_back(static_cast<std::int64_t>(i * longest + t - 1));
      batch.targets.push_back(sample.tokens[t]);
      batch.factors.push_back(1.0F / static_cast<float>(count));
    }
    batch.counts.push_back(count);
  }
  batch.places = at::empty({static_cast<std::int64_t>(places.size())}, at::kLong);
  std::ranges::copy(places, batch.places.data_ptr<std::int64_t>());
  return batch;
}

/// The sum over samples of the mean loss of each.
double sum_of_means(const MicroBatch& batch, const std::vector<double>& losses) {
  double sum = 0;
  auto loss = losses.begin();
  for (const std::size_t count : batch.counts) {
    const auto end = loss + static_cast<std::ptrdiff_t>(count);
    sum += std::accumulate(loss, end, 0.0) / static_cast<double>(count);
    loss = end;
  }
  return sum;
}

void check_samples(const std::vector<TokenSample>& samples, const llama::Config& config) {
  for (const TokenSample& sample : samples) {
    const bool in_place = sample.response >= 1 && sample.response < sample.tokens.size();
    const bool known = std::ranges::all_of(sample.tokens, [&](std::int32_t token) {
      return token >= 0 && static_cast<std::size_t>(token) < config.vocabulary;
    });
    if (!in_place || !known || sample.tokens.size() > config.sequence) {
      throw std::invalid_argument("a sample that the Llama cannot read");
    }
  }
}

/// Large blocks go back to the system when they are freed. By default malloc keeps those up to 32
/// MiB in its heap, where activations of all sizes leave holes: half as much again as is used. A
/// small model has the room, and would spend a third of its time on asking for the same pages.
void bound_the_heap(std::size_t workspace) {
#ifdef __GLIBC__
  constexpr std::size_t kSmall = std::size_t{256} << 20;
  if (workspace < kSmall) return;
  constexpr int kLarge = 1 << 19;
  mallopt(M_MMAP_THRESHOLD, kLarge);
#endif
}

class LlamaProblem : public plugin::LanguageModel {
 public:
  explicit LlamaProblem(plugin::LlamaRequest request) : request_(std::move(request)) {
    const llama::Config& config = request_.config;
    if (request_.micro_batch == 0) throw std::invalid_argument("a micro-batch of 0 samples");
    check_samples(request_.train, config);
    check_samples(request_.validation, config);
    const std::vector<llama::WeightEntry> entries = llama::layout(config);
    const auto index_of = [&](const std::string& name) {
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].name == name) return i;
      }
      throw std::invalid_argument("this Llama has no weight " + name);
    };
    stored_.resize(entries.size());
    for (const tensors::Tensor& weight : request_.weights) {
      const std::size_t index = index_of(weight.name);
      if (weight.shape != entries[index].shape) {
        throw std::invalid_argument("the weight " + weight.name + " has another shape");
      }
      stored_[index] = stored_tensor(weight);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!stored_[i].defined()) throw std::invalid_argument("no weight " + entries[i].name);
    }
    for (const std::string& name : request_.trained) {
      const std::size_t index = index_of(name);
      if (std::ranges::find(trained_, index) != trained_.end()) {
        throw std::invalid_argument("the weight " + name + " is trained twice");
      }
      trained_.push_back(index);
    }
    if (trained_.empty()) throw std::invalid_argument("no weight is trained");
    frozen_ = std::make_unique<LlamaFrozen>(request_.config, trained_, request_.train,
                                            request_.validation);
    bound_the_heap(LlamaProblem::workspace_bytes() - frozen_->bytes());
  }

  std::vector<std::size_t> segments() const override {
    std::vector<std::size_t> sizes;
    for (const std::size_t index : trained_) {
      sizes.push_back(static_cast<std::size_t>(stored_[index].numel()));
    }
    return sizes;
  }
  std::size_t samples() const override { return request_.train.size(); }
  std::size_t validation_samples() const override { return request_.validation.size(); }
  double lambda() const override { return request_.lambda; }
  std::string description() const override {
    const llama::Config& config = request_.config;
    return fmt::format(
        "Llama, {} layers of {}, vocabulary {}, {} of {} weights trained ({} numbers)",
        config.layers, config.dim, config.vocabulary, trained_.size(), stored_.size(), dimension());
  }
  std::unique_ptr<Batch> batch(Part part, std::span<const std::uint32_t> rows) const override;
  std::unique_ptr<Session> session(std::uint64_t seed) const override;
  std::vector<std::int32_t> generate(std::span<const float> weights,
                                     std::span<const std::int32_t> prompt, std::size_t count,
                                     std::span<const std::int32_t> ends) const override;
  std::size_t workspace_bytes() const override;

  void start(std::span<float> weights) const {
    const at::NoGradGuard no_gradient;
    std::size_t at = 0;
    for (const std::size_t index : trained_) {
      const at::Tensor& from = stored_[index];
      view(weights.data() + at, from.sizes()).copy_(from);
      at += static_cast<std::size_t>(from.numel());
    }
  }

  const TokenSample& sample(Part part, std::uint32_t row) const {
    return part == Part::train ? request_.train[row] : request_.validation[row];
  }
  std::size_t micro_batch() const { return request_.micro_batch; }

  /// The sum of the samples' losses.
  double loss(std::span<const TokenSample* const> samples, const float* weights) const {
    const at::NoGradGuard no_gradient;
    const MicroBatch batch = pack(samples);
    const LlamaWeights all = bound(weights, nullptr);
    return sum_of_means(
        batch, llama_loss(request_.config, all, rows(samples, batch, all), batch.targets).losses);
  }

  /// The same; its gradient times `factor` is added to `gradient`.
  double add_gradient(std::span<const TokenSample* const> samples, float factor,
                      const float* weights, float* gradient) const {
    const at::AutoGradMode with_gradient(true);
    MicroBatch batch = pack(samples);
    for (float& value : batch.factors) value *= factor;
    const LlamaWeights all = bound(weights, gradient);
    const at::Tensor last = rows(samples, batch, all);
    const at::Tensor& output = all[llama::output_index(request_.config)];
    const LlamaLoss result = llama_loss(request_.config, all, last, batch.targets, batch.factors,
                                        output.requires_grad() ? output.grad() : at::Tensor());
    if (last.requires_grad()) torch::autograd::backward({last}, {result.row_gradients});
    return sum_of_means(batch, result.losses);
  }

 private:
  static at::Tensor view(const float* values, at::IntArrayRef shape) {
    return at::from_blob(const_cast<float*>(values), shape, at::kFloat);
  }

  /// All weights, the trained ones as views of the caller's, which a gradient makes require one:
  /// what torch computes is added to it.
  LlamaWeights bound(const float* weights, float* gradient) const {
    LlamaWeights all = stored_;
    std::size_t at = 0;
    for (const std::size_t index : trained_) {
      at::Tensor& weight = all[index];
      const auto size = static_cast<std::size_t>(weight.numel());
      at::Tensor mine = view(weights + at, weight.sizes());
      if (gradient != nullptr) {
        mine.set_requires_grad(true);
        mine.mutable_grad() = view(gradient + at, weight.sizes());
      }
      weight = mine;
      at += size;
    }
    return all;
  }

  at::Tensor rows(std::span<const TokenSample* const> samples, const MicroBatch& batch,
                  const LlamaWeights& weights) const {
    const llama::Config& config = request_.config;
    const std::size_t below = frozen_->layers();
    at::Tensor states = below == 0 ? llama_embedded(weights, batch.tokens)
                                   : frozen_->states(stored_, samples, batch.longest);
    states = llama_layers(config, weights, states, samples.size(), below, config.layers);
    return llama_last_norm(config, weights, states.index_select(0, batch.places));
  }

  plugin::LlamaRequest request_;
  LlamaWeights stored_;
  std::vector<std::size_t> trained_;  // by llama::layout(), in the order of the segments
  std::unique_ptr<LlamaFrozen> frozen_;
};

class LlamaBatch : public Batch {
 public:
  LlamaBatch(const LlamaProblem& problem, Problem::Part part, std::span<const std::uint32_t> rows)
      : problem_(problem) {
    for (const std::uint32_t row : rows) samples_.push_back(&problem.sample(part, row));
    // Samples of one length go together, so that little is filled up.
    std::ranges::stable_sort(samples_, {},
                             [](const TokenSample* sample) { return sample->tokens.size(); });
  }

  void gradients(std::size_t members, const float* weights, float* gradients,
                 double* rough_losses) const override {
    const std::size_t dimension = problem_.dimension();
    const auto factor = 1.0F / static_cast<float>(samples_.size());
    for (std::size_t member = 0; member < members; ++member) {
      float* gradient = gradients + member * dimension;
      std::fill_n(gradient, dimension, 0.0F);
      const double sum = over_micro_batches([&](std::span<const TokenSample* const> samples) {
        return problem_.add_gradient(samples, factor, weights + member * dimension, gradient);
      });
      rough_losses[member] = sum / static_cast<double>(samples_.size());
    }
  }

  void losses(std::size_t members, const float* weights, LossSum* losses) const override {
    const std::size_t dimension = problem_.dimension();
    for (std::size_t member = 0; member < members; ++member) {
      const double sum = over_micro_batches([&](std::span<const TokenSample* const> samples) {
        return problem_.loss(samples, weights + member * dimension);
      });
      losses[member] = {.loss = sum, .correct = 0};
    }
  }

 private:
  template <class Work>
  double over_micro_batches(const Work& work) const {
    return plain_errors([&] {
      double sum = 0;
      for (std::size_t at = 0; at < samples_.size(); at += problem_.micro_batch()) {
        const std::size_t count = std::min(problem_.micro_batch(), samples_.size() - at);
        sum += work(std::span(samples_).subspan(at, count));
      }
      return sum;
    });
  }

  const LlamaProblem& problem_;
  std::vector<const TokenSample*> samples_;
};

/// It remembers nothing but the weights.
class LlamaSession : public Session {
 public:
  explicit LlamaSession(const LlamaProblem& problem) : problem_(problem) {}

  void start(std::span<float> weights) const override {
    if (weights.size() != problem_.dimension()) {
      throw std::invalid_argument(fmt::format("{} weights for a Llama of which {} are trained",
                                              weights.size(), problem_.dimension()));
    }
    plain_errors([&] { problem_.start(weights); });
  }
  std::unique_ptr<Batch> batch(Problem::Part part, std::span<const std::uint32_t> rows) override {
    return problem_.batch(part, rows);
  }
  void save(std::ostream& stream) const override {
    StateWriter writer(stream);
    writer.text("model", problem_.description());
    writer.finish();
  }
  void load(std::istream& stream) override {
    StateReader reader(stream);
    const std::string model = reader.text("model");
    reader.finish();
    if (model != problem_.description()) {
      throw StateError(
          fmt::format("the state is of '{}', expected '{}'", model, problem_.description()));
    }
  }

 private:
  const LlamaProblem& problem_;
};

std::unique_ptr<Batch> LlamaProblem::batch(Part part, std::span<const std::uint32_t> rows) const {
  return std::make_unique<LlamaBatch>(*this, part, rows);
}

std::unique_ptr<Session> LlamaProblem::session(std::uint64_t /*seed*/) const {
  return std::make_unique<LlamaSession>(*this);
}

std::vector<std::int32_t> LlamaProblem::generate(std::span<const float> weights,
                                                 std::span<const std::int32_t> prompt,
                                                 std::size_t count,
                                                 std::span<const std::int32_t> ends) const {
  const llama::Config& config = request_.config;
  if (weights.size() != dimension()) throw std::invalid_argument("weights of another number");
  if (prompt.empty() || prompt.size() > config.sequence) {
    throw std::invalid_argument(fmt::format("a prompt of {} tokens, expected from 1 to {}",
                                            prompt.size(), config.sequence));
  }
  for (const std::int32_t token : prompt) {
    if (token < 0 || static_cast<std::size_t>(token) >= config.vocabulary) {
      throw std::invalid_argument(
          fmt::format("the token {} in a vocabulary of {}", token, config.vocabulary));
    }
  }
  count = std::min(count, config.sequence - prompt.size());
  return plain_errors([&] {
    const at::NoGradGuard no_gradient;
    const LlamaWeights all = bound(weights.data(), nullptr);
    KeyValueCache cache(config, prompt.size() + count);
    std::vector<std::int64_t> next(prompt.begin(), prompt.end());
    std::vector<std::int32_t> said;
    while (said.size() < count) {
      const at::Tensor tokens =
          at::from_blob(next.data(), {1, static_cast<std::int64_t>(next.size())}, at::kLong);
      const at::Tensor states = llama_states(config, all, tokens, &cache);
      const at::Tensor last = llama_last_norm(config, all, states.narrow(0, states.size(0) - 1, 1));
      const auto token =
          static_cast<std::int32_t>(llama_logits(config, all, last).argmax().item<std::int64_t>());
      if (std::ranges::find(ends, token) != ends.end()) break;
      said.push_back(token);
      next = {token};
    }
    return said;
  });
}

std::size_t LlamaProblem::workspace_bytes() const {
  // The longest samples go together at worst.
  std::vector<const TokenSample*> order;
  for (const TokenSample& sample : request_.train) order.push_back(&sample);
  std::ranges::sort(order, std::ranges::greater(),
                    [](const TokenSample* sample) { return sample->tokens.size(); });
  order.resize(std::min(order.size(), request_.micro_batch));
  LlamaShape shape;
  shape.samples = std::max<std::size_t>(1, order.size());
  shape.length = order.empty() ? 1 : order.front()->tokens.size() - 1;
  shape.rows = 0;
  shape.frozen = frozen_->layers();
  for (const TokenSample* sample : order) shape.rows += sample->tokens.size() - sample->response;
  shape.trained.resize(stored_.size());
  for (const std::size_t index : trained_) shape.trained[index] = true;
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    shape.converted.push_back(!shape.trained[i] && stored_[i].scalar_type() != at::kFloat);
  }
  return llama_workspace_bytes(request_.config, shape) + frozen_->bytes();
}

}  // namespace

std::unique_ptr<plugin::LanguageModel> make_llama(plugin::LlamaRequest request) {
  return plain_errors([&] { return std::make_unique<LlamaProblem>(std::move(request)); });
}

}  // namespace tandem::deep
