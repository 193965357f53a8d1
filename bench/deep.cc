// SPDX-License-Identifier: MIT
#include "bench/deep.h"

#include <fmt/format.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench/measure.h"
#include "data/dataset.h"
#include "models/resnet_model.h"
#include "train/trainer.h"

namespace tandem::bench {
namespace {

const OptionMap kDiagTo{{"lr", "0.01"}, {"alpha", "0.1"}, {"beta", "0.1"}};

/// Images of noise: a step takes as long as with others.
std::shared_ptr<const data::Task> noise_images(std::size_t rows) {
  constexpr std::size_t kPixels = 3 * 32 * 32;
  auto task = std::make_shared<data::Task>();
  data::Dataset& images = task->train;
  images.name = "noise";
  images.rows = rows;
  images.features = kPixels;
  images.classes = 10;
  images.dense = Buffer<float>(rows * kPixels);
  Random random(1, 1);
  for (std::size_t i = 0; i < images.dense.size(); ++i) {
    images.dense[i] = static_cast<float>(random.uniform());
  }
  for (std::size_t r = 0; r < rows; ++r) {
    images.labels.push_back(static_cast<std::uint32_t>(r % images.classes));
  }
  for (std::size_t c = 0; c < images.classes; ++c) images.class_names.push_back(std::to_string(c));
  return task;
}

std::vector<SegmentSpec> specs_of(const Problem& problem) {
  std::vector<SegmentSpec> specs;
  for (const std::size_t size : problem.segments()) specs.push_back({.size = size});
  return specs;
}

/// One step of Diag-TO alone, on weights of the model's sizes.
double optimizer_seconds(const Problem& problem, std::span<const float> weights, int rounds) {
  std::vector<float> own(weights.begin(), weights.end());
  const std::vector<float> gradient(own.size(), 1e-3F);
  const auto optimizer = make_optimizer("diag-to", specs_of(problem), kDiagTo);
  std::vector<Segment<float>> parts;
  std::size_t at = 0;
  for (const std::size_t size : problem.segments()) {
    parts.push_back({{own.data() + at, size}, {gradient.data() + at, size}});
    at += size;
  }
  optimizer->step(parts);
  return best_seconds(rounds, [&] { optimizer->step(parts); });
}

void measure_resnet(const plugin::Plugin& plugin, const DeepOptions& options,
                    const Report& report) {
  const auto task = noise_images(options.batch * options.steps);
  const plugin::ResNetShape shape = models::parse_resnet(options.resnet);
  const auto problem = plugin.deep_models.resnet(shape, task, 0);
  train::TrainOptions training;
  training.batch = options.batch;
  training.epochs = static_cast<std::size_t>(options.rounds) + 1;
  training.measured_samples = 1;  // points tell the time of training alone
  train::Trainer trainer(*problem, {{"diag-to", kDiagTo}}, training);
  trainer.epoch();
  const auto loop =
      plugin.torch_bench.resnet(shape, *task, options.batch, "tandem::optim::DiagonalTO");
  loop->run(1);
  Rounds ours;
  Rounds theirs;
  for (int round = 0; round < options.rounds; ++round) {
    const double before = trainer.members()[0].points.back().seconds;
    trainer.epoch();
    ours.add(trainer.members()[0].points.back().seconds - before);
    theirs.time([&] { loop->run(options.steps); });
  }
  const auto steps = static_cast<double>(options.steps);
  Row pace{"resnet",
           fmt::format("{}, batch {}, diag-to: the trainer", options.resnet, options.batch),
           "steps/s",
           steps / ours.best(),
           steps / theirs.best(),
           "a bare loop in LibTorch"};
  pace.ratio = pace.value / pace.reference;
  pace.target = ">= 0.9";
  pace.met = pace.ratio >= 0.9;
  report.row(pace);

  const double step = optimizer_seconds(*problem, trainer.weights(0), options.rounds);
  Row share{
      "resnet",
      fmt::format("{}: diag-to's part of a step, {} weights", options.resnet, problem->dimension()),
      "ms",
      1e3 * step,
      1e3 * ours.best() / steps,
      "the whole step"};
  share.ratio = share.value / share.reference;
  share.target = "<= 0.02";
  share.met = share.ratio <= 0.02;
  report.row(share);
}

// ---- Llama --------------------------------------------------------------------------------------

/// A Llama of noise in memory.
struct NoiseLlama {
  llama::Config config;
  std::shared_ptr<std::vector<float>> numbers = std::make_shared<std::vector<float>>();
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> shapes;

  void add(const std::string& name, std::vector<std::uint64_t> shape) {
    shapes.emplace_back(name, std::move(shape));
  }

  plugin::LlamaRequest request(std::vector<std::string> trained,
                               const std::vector<plugin::TokenSample>& samples) const {
    plugin::LlamaRequest request{.config = config,
                                 .weights = {},
                                 .owner = numbers,
                                 .trained = std::move(trained),
                                 .train = samples,
                                 .validation = {},
                                 .micro_batch = samples.size(),
                                 .lambda = 0};
    std::size_t at = 0;
    for (const auto& [name, shape] : shapes) {
      const auto count =
          std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
      request.weights.push_back(
          {name, tensors::Type::f32, shape,
           std::as_bytes(std::span<const float>(*numbers).subspan(at, count))});
      at += count;
    }
    return request;
  }
};

NoiseLlama noise_llama(const DeepOptions& options) {
  NoiseLlama llama;
  llama::Config& config = llama.config;
  config.dim = options.llama_dim;
  config.hidden = options.llama_dim * 8 / 3;
  config.layers = options.llama_layers;
  config.heads = config.kv_heads = 6;
  config.head_dim = config.dim / config.heads;
  config.vocabulary = options.llama_vocabulary;
  config.sequence = options.llama_tokens;
  config.tied = true;
  const std::uint64_t d = config.dim;
  const std::uint64_t h = config.hidden;
  llama.add("tok_embeddings", {config.vocabulary, d});
  for (std::size_t n = 0; n < config.layers; ++n) {
    const std::string layer = fmt::format("layers.{}.", n);
    llama.add(layer + "attention_norm", {d});
    for (const char* name : {"wq", "wk", "wv", "wo"})
      llama.add(layer + "attention." + name, {d, d});
    llama.add(layer + "ffn_norm", {d});
    llama.add(layer + "feed_forward.w1", {h, d});
    llama.add(layer + "feed_forward.w2", {d, h});
    llama.add(layer + "feed_forward.w3", {h, d});
  }
  llama.add("norm", {d});
  Random random(1, 2);
  for (const auto& [name, shape] : llama.shapes) {
    std::uint64_t count = 1;
    for (const std::uint64_t size : shape) count *= size;
    for (std::uint64_t i = 0; i < count; ++i) {
      llama.numbers->push_back(shape.size() == 1 ? 1.0F
                                                 : 0.02F * static_cast<float>(random.normal()));
    }
  }
  return llama;
}

/// Tokens a second of forward and backward.
double llama_pace(const plugin::LanguageModel& model, std::size_t samples, std::size_t tokens,
                  int rounds) {
  const auto session = model.session(1);
  std::vector<float> weights(model.dimension());
  session->start(weights);
  std::vector<float> gradient(weights.size());
  std::vector<std::uint32_t> rows(samples);
  std::iota(rows.begin(), rows.end(), 0U);
  double rough = 0;
  const auto step = [&] {
    session->batch(Problem::Part::train, rows)
        ->gradients(1, weights.data(), gradient.data(), &rough);
  };
  step();
  return static_cast<double>(samples * tokens) / best_seconds(rounds, step);
}

void measure_llama(const plugin::Plugin& plugin, const DeepOptions& options, const Report& report) {
  const NoiseLlama llama = noise_llama(options);
  Random random(1, 3);
  std::vector<plugin::TokenSample> samples(options.llama_samples);
  for (plugin::TokenSample& sample : samples) {
    for (std::size_t i = 0; i < options.llama_tokens; ++i) {
      sample.tokens.push_back(static_cast<std::int32_t>(random.below(options.llama_vocabulary)));
    }
    sample.response = options.llama_tokens / 2;
  }
  std::vector<std::string> all;
  std::vector<std::string> some;
  const std::string last = fmt::format("layers.{}.attention.", llama.config.layers - 1);
  for (const auto& [name, shape] : llama.shapes) {
    all.push_back(name);
    if (name.starts_with(last)) some.push_back(name);
  }
  const auto part = plugin.deep_models.llama(llama.request(some, samples));
  const double chosen =
      llama_pace(*part, options.llama_samples, options.llama_tokens, options.rounds);
  const auto whole = plugin.deep_models.llama(llama.request(all, samples));
  const double every =
      llama_pace(*whole, options.llama_samples, options.llama_tokens, options.rounds);
  Row row{"llama",
          fmt::format("{} weights, the last layer's attention trained", llama.numbers->size()),
          "tokens/s",
          chosen,
          every,
          "training all weights"};
  row.ratio = row.value / row.reference;
  report.row(row);
}

}  // namespace

void run_deep_bench(const plugin::Plugin& plugin, const DeepOptions& options,
                    const Report& report) {
  report.note(fmt::format("{}, threads: {}, {}, tandem {}", plugin.library(),
                          default_executor()->threads(), cpu_target(), version()));
  measure_resnet(plugin, options, report);
  measure_llama(plugin, options, report);
}

}  // namespace tandem::bench
