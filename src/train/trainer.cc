// SPDX-License-Identifier: MIT
#include "train/trainer.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <tandem/errors.h>
#include <tandem/version.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/float_environment.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/state_stream.h"
#include "kernels/kernels.h"
#include "train/results.h"

namespace tandem::train {
namespace {

// What random numbers are for.
enum Stream : std::uint64_t { kInitStream = 1, kOrderStream = 1000 };

constexpr std::size_t kEvaluationBatch = 256;
// Floats of gradient that a thread works on at a time: they stay in its cache between the two
// products and the optimizer.
constexpr std::size_t kBlockFloats = std::size_t{1} << 16;
constexpr std::size_t kMostBlockMembers = 48;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<SegmentSpec> specs(const std::vector<std::size_t>& sizes) {
  std::vector<SegmentSpec> specs;
  for (const std::size_t size : sizes) specs.push_back({.size = size});
  return specs;
}

void check_session_options(const Problem& problem, std::size_t members,
                           const TrainOptions& options) {
  if (members != 1) {
    throw std::invalid_argument(
        fmt::format("Invalid population: {} members, and {} trains one at a time", members,
                    problem.description()));
  }
  if (options.init == Init::zeros) {
    throw std::invalid_argument(
        fmt::format("Invalid init: zeros, and {} has a start of its own", problem.description()));
  }
  if (options.diagnose) {
    throw std::invalid_argument(fmt::format("Invalid diagnose: {} has no gradient over all samples",
                                            problem.description()));
  }
}

/// Shortens a gradient that is longer than `most`.
void clip(float* gradient, std::size_t count, double most) {
  const FlushDenormals flush;
  const auto& kernels = kernels::kernels<float>();
  const double norm = std::sqrt(kernels.dot(gradient, gradient, count));
  if (!(norm > most)) return;  // one that is not finite is the optimizer's business
  const auto factor = static_cast<float>(most / norm);
  for (std::size_t i = 0; i < count; ++i) gradient[i] *= factor;
}

}  // namespace

Trainer::Trainer(const Problem& problem, const std::vector<Setting>& settings,
                 const TrainOptions& options, std::shared_ptr<Executor> executor)
    : problem_(problem),
      session_(problem.session(options.seed)),
      options_(options),
      executor_(std::move(executor)),
      dimension_(problem.dimension()),
      segments_(problem.segments()) {
  if (settings.empty()) throw std::invalid_argument("Invalid population: it has no members");
  if (options.batch == 0 || options.batch > problem.samples()) {
    throw std::invalid_argument(
        fmt::format("Invalid batch: {}, expected 1 to {}, the number of training samples",
                    options.batch, problem.samples()));
  }
  if (!options.optimum.empty() && options.optimum.size() != dimension_) {
    throw std::invalid_argument(fmt::format("Invalid optimum: {} weights, expected {}",
                                            options.optimum.size(), dimension_));
  }
  if (!(options.clip >= 0)) {
    throw std::invalid_argument(fmt::format("Invalid clip: {}, expected at least 0", options.clip));
  }
  if (session_ != nullptr) check_session_options(problem, settings.size(), options);
  weights_ = Buffer<float>(settings.size() * dimension_);
  for (std::size_t id = 0; id < settings.size(); ++id) {
    const sources::Method method = sources::parse_method(settings[id].method);
    if (session_ != nullptr && method.source != "minibatch") {
      throw std::invalid_argument(
          fmt::format("{}: {} needs gradients at other weights than a member's own, which {} does "
                      "not give",
                      settings[id].method, method.source, problem.description()));
    }
    OptionMap rest = settings[id].options;
    Place place{id, nullptr, sources::make_source(method, problem, rest), -1, {}};
    // The problem owns lambda; the pass adds lambda w to the gradient.
    if (problem.lambda() != 0) {
      if (rest.contains("l2")) {
        throw std::invalid_argument(
            fmt::format("{}: Invalid l2: the problem has lambda = {}, which is the same",
                        settings[id].method, problem.lambda()));
      }
      rest["l2"] = fmt::format("{}", problem.lambda());
    }
    rest.try_emplace("on_nonfinite", "skip");
    place.optimizer = make_optimizer(method.rule, specs(segments_), rest);
    place.optimizer->set_executor(serial_executor());
    Member member;
    member.id = id;
    member.setting = settings[id];
    members_.push_back(std::move(member));
    places_.push_back(std::move(place));
  }
  share_threads();
}

Trainer::~Trainer() = default;

void Trainer::start() {
  if (session_ != nullptr) {
    session_->start({weights_.data(), dimension_});
  } else if (options_.init == Init::normal) {
    // All members start from the same weights.
    Random random(options_.seed, kInitStream);
    for (std::size_t i = 0; i < dimension_; ++i) {
      weights_[i] = static_cast<float>(random.normal());
    }
    for (std::size_t place = 1; place < places_.size(); ++place) {
      std::copy_n(weights_.data(), dimension_, weights_at(place));
    }
  }
  started_ = true;
  measure();
}

bool Trainer::epoch() {
  if (!started_) start();
  if (epochs_done_ == options_.epochs || places_.empty()) return false;
  const double begin = now();
  const auto sharing = static_cast<double>(places_.size());
  parallel_ranges(*executor_, places_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t place = first; place < last; ++place) {
      if (places_[place].source != nullptr) places_[place].source->epoch(weights_at(place));
    }
  });
  const std::size_t pass_steps = problem_.samples() / options_.batch;
  const std::size_t epoch_steps = options_.epoch_steps > 0 ? options_.epoch_steps : pass_steps;
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < epoch_steps && !places_.empty(); ++i) {
    if (options_.progress &&
        !options_.progress(static_cast<double>(i) / static_cast<double>(epoch_steps))) {
      throw Interrupted();
    }
    const std::size_t at = steps_ % pass_steps;
    if (order.empty() || at == 0) order = pass_order(steps_ / pass_steps);
    const auto rows = std::span(order).subspan(at * options_.batch, options_.batch);
    if (i + 1 == epoch_steps && options_.diagnose) {
      diagnosed_step(rows);
    } else {
      step(rows);
    }
    if (at + 1 == pass_steps) {
      for (Place& place : places_) place.optimizer->epoch_end();
    }
  }
  seconds_ += (now() - begin) / sharing;
  ++epochs_done_;
  measure();
  return epochs_done_ < options_.epochs && !places_.empty();
}

/// The rows of a pass's batches, one after another. What does not fill a batch is left out.
std::vector<std::uint32_t> Trainer::pass_order(std::size_t pass) const {
  const std::size_t samples = problem_.samples();
  Random random(options_.seed, kOrderStream + pass);
  if (options_.sampling == Sampling::independent) {
    std::vector<std::uint32_t> order(samples / options_.batch * options_.batch);
    for (std::uint32_t& row : order) row = static_cast<std::uint32_t>(random.below(samples));
    return order;
  }
  if (options_.shuffle) return random.permutation(samples);
  std::vector<std::uint32_t> order(samples);
  for (std::size_t i = 0; i < samples; ++i) order[i] = static_cast<std::uint32_t>(i);
  return order;
}

std::unique_ptr<Batch> Trainer::batch(Problem::Part part,
                                      std::span<const std::uint32_t> rows) const {
  return session_ != nullptr ? session_->batch(part, rows) : problem_.batch(part, rows);
}

std::size_t Trainer::block_members() const {
  const std::size_t fitting =
      std::clamp<std::size_t>(kBlockFloats / dimension_, 1, kMostBlockMembers);
  const auto threads = static_cast<std::size_t>(std::max(1, executor_->threads()));
  return std::clamp<std::size_t>((places_.size() + threads - 1) / threads, 1, fitting);
}

void Trainer::step(std::span<const std::uint32_t> rows) {
  const std::unique_ptr<Batch> shared = batch(Problem::Part::train, rows);
  const std::size_t block = block_members();
  const std::size_t blocks = (places_.size() + block - 1) / block;
  std::vector<char> alive(places_.size(), 1);
  const auto step_one = [&](std::size_t b) {
    // Kept by the thread from step to step.
    static thread_local std::vector<float> gradients;
    static thread_local std::vector<double> rough;
    if (gradients.size() < block * dimension_) gradients.resize(block * dimension_);
    if (rough.size() < block) rough.resize(block);
    const std::size_t begin = b * block;
    step_block(*shared, rows, begin, std::min(begin + block, places_.size()), gradients.data(),
               rough.data(), alive.data());
  };
  if (blocks == 1) {
    // As in a task, or a member alone would differ from one in a crowd. Not for a session, which
    // has threads of its own.
    std::optional<FlushDenormals> flush;
    if (session_ == nullptr) flush.emplace();
    step_one(0);
  } else {
    run_tasks(*executor_, blocks, step_one);
  }
  ++steps_;
  remove(alive, Leave::diverged);
}

void Trainer::step_block(const Batch& batch, std::span<const std::uint32_t> rows, std::size_t first,
                         std::size_t last, float* gradients, double* rough, char* alive) {
  // Members without a source of their own share one call.
  std::size_t at = first;
  while (at < last) {
    std::size_t end = at;
    while (end < last && places_[end].source == nullptr) ++end;
    if (end > at) {
      batch.gradients(end - at, weights_at(at), gradients + (at - first) * dimension_,
                      rough + (at - first));
      at = end;
    } else {
      rough[at - first] = places_[at].source->gradient(batch, rows, weights_at(at),
                                                       gradients + (at - first) * dimension_);
      ++at;
    }
  }
  std::vector<Segment<float>> parts(segments_.size());
  for (std::size_t place = first; place < last; ++place) {
    Place& member = places_[place];
    const double loss = rough[place - first];
    if (member.first_loss < 0) member.first_loss = std::max(1.0, loss);
    if (!(loss <= options_.divergence * member.first_loss)) {
      alive[place] = 0;
      continue;
    }
    float* w = weights_at(place);
    float* g = gradients + (place - first) * dimension_;
    if (options_.clip > 0) clip(g, dimension_, options_.clip);
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      parts[s] = {{w, segments_[s]}, {g, segments_[s]}};
      w += segments_[s];
      g += segments_[s];
    }
    const std::uint64_t skipped = member.optimizer->skipped_steps();
    member.optimizer->step(parts);
    if (member.optimizer->skipped_steps() != skipped) alive[place] = 0;
  }
}

void Trainer::diagnosed_step(std::span<const std::uint32_t> rows) {
  const auto shared = batch(Problem::Part::train, rows);
  std::vector<std::vector<double>> full(members_.size());
  parallel_ranges(*executor_, places_.size(), 1, [&](std::size_t first, std::size_t last) {
    std::vector<float> gradient(dimension_);
    double rough = 0;
    for (std::size_t at = first; at < last; ++at) {
      const float* w = weights_at(at);
      std::vector<double> grad = sources::full_gradient(problem_, w);
      shared->gradients(1, w, gradient.data(), &rough);
      double error = 0;
      for (std::size_t i = 0; i < dimension_; ++i) {
        const double off = static_cast<double>(gradient[i]) - grad[i];
        error += off * off;
        grad[i] += problem_.lambda() * static_cast<double>(w[i]);
      }
      places_[at].diagnosed.batch_error = error;
      places_[at].optimizer->keep_estimate();
      full[places_[at].id] = std::move(grad);
    }
  });
  step(rows);
  for (Place& place : places_) {
    const std::vector<double> estimate = place.optimizer->last_estimate();
    double error = 0;
    for (std::size_t i = 0; i < dimension_; ++i) {
      const double off = estimate[i] - full[place.id][i];
      error += off * off;
    }
    place.diagnosed.estimator_error = error;
    place.optimizer->keep_estimate(false);
  }
}

/// The last member takes the place of one that left; nothing depends on places.
void Trainer::remove(const std::vector<char>& alive, Leave why) {
  for (std::size_t place = alive.size(); place > 0; --place) {
    if (alive[place - 1] != 0) continue;
    Member& member = members_[places_[place - 1].id];
    if (why == Leave::diverged) {
      member.diverged = true;
      member.diverged_at = steps_;
    } else {
      member.pruned = true;
    }
    const std::size_t last = places_.size() - 1;
    if (place - 1 != last) {
      std::copy_n(weights_at(last), dimension_, weights_at(place - 1));
      places_[place - 1] = std::move(places_[last]);
    }
    places_.pop_back();
  }
  share_threads();
}

void Trainer::prune(const std::vector<std::size_t>& ids) {
  std::vector<char> alive(places_.size(), 1);
  for (std::size_t place = 0; place < places_.size(); ++place) {
    if (std::find(ids.begin(), ids.end(), places_[place].id) != ids.end()) alive[place] = 0;
  }
  remove(alive, Leave::pruned);
}

void Trainer::share_threads() {
  if (places_.size() == 1) places_.front().optimizer->set_executor(executor_);
}

std::vector<LossSum> Trainer::losses(Problem::Part part, std::size_t samples) const {
  const std::size_t members = places_.size();
  const std::size_t chunks = (samples + kEvaluationBatch - 1) / kEvaluationBatch;
  const std::size_t block = std::max<std::size_t>(1, kBlockFloats / kEvaluationBatch / 16);
  std::vector<LossSum> partial(chunks * members);
  const auto sum_up = [&](std::size_t first, std::size_t last) {
    std::vector<std::uint32_t> rows;
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      rows.clear();
      const std::size_t end = std::min(samples, (chunk + 1) * kEvaluationBatch);
      for (std::size_t row = chunk * kEvaluationBatch; row < end; ++row) {
        rows.push_back(static_cast<std::uint32_t>(row));
      }
      const auto chunk_batch = batch(part, rows);
      for (std::size_t m = 0; m < members; m += block) {
        chunk_batch->losses(std::min(block, members - m), weights_.data() + m * dimension_,
                            partial.data() + chunk * members + m);
      }
    }
  };
  if (session_ != nullptr) {
    sum_up(0, chunks);  // a session is one thread's
  } else {
    parallel_ranges(*executor_, chunks, 1, sum_up);
  }
  std::vector<LossSum> sums(members);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t m = 0; m < members; ++m) sums[m] += partial[chunk * members + m];
  }
  return sums;
}

std::size_t Trainer::measured(std::size_t samples) const {
  return options_.measured_samples > 0 ? std::min(samples, options_.measured_samples) : samples;
}

void Trainer::measure() {
  if (session_ != nullptr && !places_.empty()) {
    session_->before_measuring({weights_.data(), dimension_});
  }
  const auto samples = static_cast<double>(measured(problem_.samples()));
  const std::vector<LossSum> train = losses(Problem::Part::train, measured(problem_.samples()));
  const std::size_t held_out = measured(problem_.validation_samples());
  const std::vector<LossSum> validation =
      held_out > 0 ? losses(Problem::Part::validation, held_out) : std::vector<LossSum>();
  std::vector<char> alive(places_.size(), 1);
  const FlushDenormals flush;
  for (std::size_t place = 0; place < places_.size(); ++place) {
    Place& entry = places_[place];
    const float* w = weights_at(place);
    Point point;
    point.epoch = epochs_done_;
    point.step = steps_;
    point.gradient_evaluations =
        entry.source != nullptr ? entry.source->evaluations() : steps_ * options_.batch;
    point.seconds = seconds_;
    point.data_loss = train[place].loss / samples;
    point.squared_norm = kernels::kernels<float>().dot(w, w, dimension_);
    point.train_loss = point.data_loss + problem_.lambda() / 2 * point.squared_norm;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const auto count = static_cast<double>(held_out);
    point.validation_loss = held_out > 0 ? validation[place].loss / count : kNone;
    point.validation_accuracy = held_out > 0 && problem_.classifies()
                                    ? static_cast<double>(validation[place].correct) / count
                                    : kNone;
    const Diagnostics& last = entry.optimizer->last();
    point.residual = last.residual_norm / last.gradient_norm;
    point.delta = last.delta;
    point.estimator_error = entry.diagnosed.estimator_error;
    point.batch_error = entry.diagnosed.batch_error;
    if (!options_.optimum.empty()) {
      point.distance = 0;
      for (std::size_t i = 0; i < dimension_; ++i) {
        const double off = static_cast<double>(w[i]) - options_.optimum[i];
        point.distance += off * off;
      }
    }
    if (!std::isfinite(point.train_loss)) {
      alive[place] = 0;
      continue;
    }
    Member& member = members_[entry.id];
    member.state_bytes = entry.optimizer->state_bytes() +
                         (entry.source != nullptr ? entry.source->state_bytes() : 0);
    member.points.push_back(point);
  }
  remove(alive, Leave::diverged);
}

std::span<const float> Trainer::weights(std::size_t id) const {
  for (std::size_t place = 0; place < places_.size(); ++place) {
    if (places_[place].id == id) return {weights_.data() + place * dimension_, dimension_};
  }
  throw std::invalid_argument(fmt::format("Member {} has left or does not exist", id));
}

std::size_t Trainer::bytes() const {
  std::size_t bytes = weights_.bytes();
  for (const Place& place : places_) {
    bytes += place.optimizer->state_bytes() + place.optimizer->workspace_bytes();
    if (place.source != nullptr) bytes += place.source->state_bytes();
  }
  const auto threads = static_cast<std::size_t>(std::max(1, executor_->threads()));
  return bytes + threads * block_members() * dimension_ * sizeof(float);
}

std::string Trainer::fingerprint() const {
  std::string text = fmt::format("{} samples={} batch={} seed={} init={} shuffle={} sampling={}",
                                 problem_.description(), problem_.samples(), options_.batch,
                                 options_.seed, static_cast<int>(options_.init), options_.shuffle,
                                 static_cast<int>(options_.sampling));
  text += fmt::format(" lambda={} diagnose={} target={} clip={} epoch_steps={} measured={}",
                      problem_.lambda(), options_.diagnose, cpu_target(), options_.clip,
                      options_.epoch_steps, options_.measured_samples);
  for (const Member& member : members_) {
    text += "\n" + member.setting.method;
    for (const auto& [name, value] : member.setting.options) {
      text += fmt::format(" {}={}", name, value);
    }
  }
  return text;
}

void Trainer::save(std::ostream& stream) const {
  StateWriter writer(stream);
  writer.text("kind", "checkpoint");
  writer.count("fingerprint", XXH3_64bits(fingerprint().data(), fingerprint().size()));
  writer.count("epochs_done", epochs_done_);
  writer.count("started", started_ ? 1 : 0);
  writer.count("steps", steps_);
  writer.number("seconds", seconds_);
  save_results(writer, members_);
  writer.count("alive", places_.size());
  for (std::size_t place = 0; place < places_.size(); ++place) {
    writer.count("id", places_[place].id);
    writer.number("first_loss", places_[place].first_loss);
    writer.array("weights", std::span(weights_.data() + place * dimension_, dimension_));
    if (places_[place].source != nullptr) places_[place].source->save(writer);
  }
  writer.finish();
  for (const Place& place : places_) place.optimizer->save(stream);
  if (session_ != nullptr) session_->save(stream);
}

void Trainer::load(std::istream& stream) {
  StateReader reader(stream);
  if (reader.text("kind") != "checkpoint")
    throw StateError("Invalid checkpoint: another kind of file");
  if (reader.count("fingerprint") != XXH3_64bits(fingerprint().data(), fingerprint().size())) {
    throw StateError(
        "Invalid checkpoint: it is of another run (other data, options, settings or CPU target)");
  }
  // Read into this object: a checkpoint is loaded into a new trainer, which is thrown away on an
  // error.
  epochs_done_ = reader.count("epochs_done");
  started_ = reader.count("started", 1) == 1;
  steps_ = reader.count("steps");
  seconds_ = reader.number("seconds");
  load_results(reader, members_, epochs_done_);
  const std::uint64_t alive = reader.count("alive", places_.size());
  std::vector<Place> kept;
  for (std::uint64_t place = 0; place < alive; ++place) {
    const std::uint64_t id = reader.count("id", members_.size() - 1);
    // places_ is still in the order of ids.
    if (places_[id].optimizer == nullptr) throw StateError("Invalid checkpoint: a member twice");
    kept.push_back(std::move(places_[id]));
    kept.back().first_loss = reader.number("first_loss");
    reader.array("weights", std::span(weights_at(place), dimension_));
    if (kept.back().source != nullptr) kept.back().source->load(reader);
  }
  reader.finish();
  for (Place& place : kept) place.optimizer->load(stream);
  if (session_ != nullptr) session_->load(stream);
  places_ = std::move(kept);
  share_threads();
}

}  // namespace tandem::train
