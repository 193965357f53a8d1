// SPDX-License-Identifier: MIT
// Full-TO's choice of form. Both forms are exact, but for the rounding of a matrix in bfloat16; what
// differs is what a step reads (4 d^2 bytes dense, 2 d^2 in bfloat16, 4 t d + 8 t^2 as span at step
// t) and what is kept. `automatic` starts as span and goes
// dense when it has spent as much more than dense steps would have cost as going dense costs, or
// when the history would leave no room for it.
#include "optimizers/full.h"

#include <fmt/format.h>
#include <tandem/errors.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/bytes_text.h"
#include "optimizers/dense.h"
#include "optimizers/history.h"
#include "optimizers/span.h"

namespace tandem {
namespace {

/// Why the span form cannot hold this rule, or "".
std::string span_obstacle(const detail::Recipe& recipe, const detail::TrainableSpec& spec) {
  if (spec.starts_from_matrix) return "initial_A is given";
  if (recipe.scaling.stage != kernels::ScalingStage::none) return "the estimate is scaled";
  if (recipe.projection.kind() == Projection::Kind::box) return "a box leaves the span";
  for (const SegmentSpec& segment : recipe.segments) {
    if (segment.lr) return "segments have rates of their own";
    if (segment.weight_decay) return "segments have weight decays of their own";
  }
  return "";
}

/// Bytes that a step of each form moves, and what the change from span to dense costs, by a model
/// of a machine that computes 4 flops in the time of a byte.
double dense_cost(double d, double matrix_element) { return 1.15 * d * d * matrix_element; }
double span_cost(double d, double rows, double element) {
  return rows * d * element + 8 * rows * rows;
}
double change_cost(double d, double rows, double matrix_element) {
  return (rows * rows * d + 2 * rows * d * d) / 4 + 2 * d * d * matrix_element;
}

ElementBytes element_bytes(const detail::StateStorage& storage, std::size_t vector) {
  return {vector, storage.narrow() ? sizeof(BFloat16) : vector};
}

}  // namespace

namespace {

/// What the engine and the history passes hold beside the vectors: sums of blocks and of column
/// ranges.
double sums_bytes(std::size_t dimension, double rows) {
  const auto d = static_cast<double>(dimension);
  const double blocks = d / kernels::kBlock + 1;
  const double ranges = d / static_cast<double>(history_columns(dimension)) + 1;
  return 2 * blocks * sizeof(kernels::PassSums) + 2 * rows * ranges * sizeof(double);
}

}  // namespace

std::size_t span_rows_per_chunk(std::size_t dimension, std::size_t element) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
  return std::max<std::size_t>(1, kChunkBytes / (dimension * element));
}

double dense_bytes(std::size_t dimension, const ElementBytes& element) {
  const auto d = static_cast<double>(dimension);
  const double vector = d * static_cast<double>(element.vector);
  const double state = d * d * static_cast<double>(element.matrix) + vector;
  if (dimension < kSmallMatrix && element.matrix == element.vector) {
    return state + 3 * vector + d * sizeof(kernels::PassSums) + sums_bytes(dimension, 0);
  }
  return state + (2 * kDelayed + 2) * vector + sums_bytes(dimension, kDelayed + 1);
}

double span_bytes(std::size_t dimension, std::size_t rows, std::size_t element) {
  const std::size_t per_chunk = span_rows_per_chunk(dimension, element);
  const std::size_t chunks = (rows + per_chunk - 1) / per_chunk;
  const double vectors = static_cast<double>(chunks * per_chunk + 1) *
                         static_cast<double>(dimension) * static_cast<double>(element);
  const auto t = static_cast<double>(rows);
  // M and X, and what grows with each row: their vectors, rates, x and y, the columns of M's bands,
  // with room to grow.
  return vectors + 8 * t * (t + 1) + 1024 * t + 8192 + sums_bytes(dimension, t);
}

template <class T>
std::unique_ptr<Estimator<T>> make_dense(const detail::TrainableSpec& spec, std::size_t dimension,
                                         StateOwner owner, const detail::StateStorage& storage) {
  // A block learns in each step: in bfloat16 it would be rounded 64 times as often.
  if (dimension < kSmallMatrix && !storage.narrow()) {
    return make_block<T>(spec, dimension, dimension, owner);
  }
  return std::make_unique<DenseEstimator<T>>(spec, dimension, owner, storage);
}

FormInfo planned_form(const detail::Recipe& recipe, std::size_t dimension, std::size_t element) {
  const auto& spec = std::get<detail::TrainableSpec>(recipe.estimator);
  const std::string obstacle = span_obstacle(recipe, spec);
  const double dense = dense_bytes(dimension, element_bytes(recipe.storage, element));
  // At least the first weights, b_0, one residual and one change from outside.
  const std::size_t rows = std::max<std::size_t>(4, spec.max_steps + 2);
  const double span = span_bytes(dimension, rows, element);
  const auto limit = static_cast<double>(spec.memory_limit);
  const auto refuse = [&](const std::string& why) {
    return std::invalid_argument(
        fmt::format("FullTO: {}. With dimension {} the dense form needs {}, the span form {} {}; "
                    "memory_limit is {}",
                    why, dimension, bytes_text(dense), bytes_text(span),
                    spec.max_steps > 0 ? fmt::format("for {} steps", spec.max_steps) : "to start",
                    bytes_text(limit)));
  };
  switch (spec.form) {
    case Form::dense:
      if (dense > limit) throw refuse("the memory limit has no room for form = dense");
      return {Form::dense, "dense: as asked"};
    case Form::span:
      if (!obstacle.empty()) {
        throw std::invalid_argument("FullTO: form = span is not possible: " + obstacle);
      }
      if (span > limit) throw refuse("the memory limit has no room for form = span");
      return {Form::span, "span: as asked"};
    case Form::automatic:
      break;
  }
  if (!obstacle.empty()) {
    if (dense > limit) {
      throw refuse("the memory limit has no room for form = dense, and span is not possible: " +
                   obstacle);
    }
    return {Form::dense, "dense: " + obstacle};
  }
  if (dimension < kSmallMatrix && dense <= limit)
    return {Form::dense, "dense: the matrix is small"};
  if (span <= limit) return {Form::span, "span: the history is still small"};
  if (dense <= limit) return {Form::dense, "dense: the memory limit has no room for span"};
  throw refuse("the memory limit has no room for any form");
}

namespace {

/// Bytes that a step with so many vectors of history moves beyond what a dense one would.
double step_excess(std::size_t dimension, std::size_t rows, const ElementBytes& element) {
  const auto d = static_cast<double>(dimension);
  const double span = span_cost(d, static_cast<double>(rows), static_cast<double>(element.vector));
  return std::max(0.0, span - dense_cost(d, static_cast<double>(element.matrix)));
}

/// Why the next step should be dense, or "". Throws where it cannot be made at all.
std::string reason_to_leave(const detail::TrainableSpec& spec, std::size_t dimension,
                            std::size_t rows, double excess, const ElementBytes& element) {
  const double dense = dense_bytes(dimension, element);
  // The next step may add its residual and one vector for weights that somebody moved.
  const double next = span_bytes(dimension, rows + 2, element.vector);
  const double now = span_bytes(dimension, rows, element.vector);
  const auto limit = static_cast<double>(spec.memory_limit);
  const bool may_leave = spec.form == Form::automatic && dimension >= kSmallMatrix;
  if (may_leave && now + dense <= limit) {
    if (excess > change_cost(static_cast<double>(dimension), static_cast<double>(rows),
                             static_cast<double>(element.matrix))) {
      return "dense: the history became dearer than the matrix";
    }
    if (next + dense > limit) return "dense: the memory limit has no room for more history";
  }
  if (next > limit) {
    throw MemoryLimitError(fmt::format(
        "FullTO: the span form would need {} after {} residuals, the dense form {}{}; "
        "memory_limit is {}",
        bytes_text(next), rows, bytes_text(dense),
        may_leave ? fmt::format(" beside {} of history while changing", bytes_text(now)) : "",
        bytes_text(limit)));
  }
  return "";
}

/// What the change from span to dense holds beside both of them.
double change_bytes(std::size_t dimension, std::size_t element, int threads) {
  const std::size_t scratch =
      (history_ranges(dimension) + static_cast<std::size_t>(std::max(1, threads))) *
      kernels::rank_update_scratch(kDelayed);
  return static_cast<double>((kDelayed * dimension + scratch) * element);
}

}  // namespace

double most_bytes(const detail::Recipe& recipe, std::size_t dimension, std::size_t steps,
                  std::size_t element, int threads) {
  const auto& spec = std::get<detail::TrainableSpec>(recipe.estimator);
  const ElementBytes bytes = element_bytes(recipe.storage, element);
  const double dense = dense_bytes(dimension, bytes);
  if (planned_form(recipe, dimension, element).form == Form::dense) return dense;
  // The run that is planned, without its numbers.
  std::size_t rows = spec.initial_b.empty() ? 1 : 2;
  double excess = 0;
  for (std::size_t step = 1; step <= steps; ++step, ++rows) {
    try {
      if (step > 1 && !reason_to_leave(spec, dimension, rows, excess, bytes).empty()) {
        return span_bytes(dimension, rows, element) + dense +
               change_bytes(dimension, element, threads);
      }
    } catch (const MemoryLimitError&) {
      break;  // the run ends here
    }
    excess += step_excess(dimension, rows + 1, bytes);
  }
  return span_bytes(dimension, rows, element);
}

namespace {

template <class T>
class Full : public Estimator<T> {
 public:
  Full(const detail::Recipe& recipe, const detail::TrainableSpec& spec, const Layout& layout,
       StateOwner owner)
      : spec_(spec),
        storage_(recipe.storage),
        dimension_(layout.dimension()),
        owner_(owner),
        info_(planned_form(recipe, layout.dimension(), sizeof(T))),
        may_be_span_(info_.form == Form::span) {
    make_inner();
  }

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::given; }

  void prepare(const Step<T>& step) override {
    if (next_ == nullptr) look_ahead();
    if (next_ != nullptr && !next_is_filled_) fill_next(step.executor);
    (next_ != nullptr ? next_.get() : inner_.get())->prepare(step);
  }

  void ready(const Step<T>& step, const GatheredSums& totals,
             kernels::PassScalars<T>& scalars) override {
    if (next_ != nullptr) go_dense();
    inner_->ready(step, totals, scalars);
    if (span_ != nullptr) count_excess();
  }

  const T* estimate() const override { return inner_->estimate(); }
  void finish(const Step<T>& step, const Outcome& outcome) override {
    inner_->finish(step, outcome);
  }
  void weights_changed() override { inner_->weights_changed(); }
  const Diagnostics& last() const override { return inner_->last(); }
  std::size_t state_bytes() const override { return inner_->state_bytes(); }
  std::size_t workspace_bytes() const override {
    const std::size_t waiting =
        next_ != nullptr ? next_->state_bytes() + next_->workspace_bytes() : 0;
    return inner_->workspace_bytes() + waiting;
  }

  /// The numbers of both forms, so that the list does not change with the form.
  void scalars(StateVisitor& visitor) override {
    bool dense = span_ == nullptr;
    visitor.small("dense", dense, 1);
    if (dense != (span_ == nullptr)) {
      const bool excluded = dense ? spec_.form == Form::span : !may_be_span_;
      if (excluded) {
        throw StateError(fmt::format("Invalid state: it has form {}, the options exclude it",
                                     dense ? "dense" : "span"));
      }
      info_ = {dense ? Form::dense : Form::span, "as the state says"};
      make_inner();
    }
    visitor.number("excess", excess_);
    Diagnostics last = inner_->last();
    visit_diagnostics(visitor, last);
    inner_->set_last(last);
    typename SpanEstimator<T>::Facts span_facts;
    if (span_ != nullptr) span_facts = span_->facts();
    span_facts.visit(
        visitor, span_ != nullptr ? span_->most_rows() : std::numeric_limits<std::uint64_t>::max());
    if (span_ != nullptr) span_->set_facts(span_facts);
    typename DenseEstimator<T>::Facts dense_facts;
    auto* matrix = dynamic_cast<DenseEstimator<T>*>(inner_.get());
    if (matrix != nullptr) dense_facts = matrix->facts();
    dense_facts.visit(visitor);
    if (matrix != nullptr) matrix->set_facts(dense_facts);
  }
  void arrays(StateVisitor& visitor) override {
    inner_->arrays(visitor);
    // What the next step will go on with, where it goes dense.
    next_ = nullptr;
    look_ahead();
    if (next_ != nullptr) next_->arrays(visitor);
  }
  void start() override { inner_->start(); }
  void taken() override {
    inner_->taken();
    if (next_ != nullptr) next_->taken();
  }
  void give_back() override { inner_->give_back(); }

  void save(StateWriter& writer) const override {
    writer.text("form", span_ != nullptr ? "span" : dense_name());
    writer.text("form_reason", info_.reason);
    writer.number("excess", excess_);
    inner_->save(writer);
  }
  void load(StateReader& reader) override {
    const std::string form = reader.text("form");
    if (form == (storage_.narrow() ? kDense : kNarrowDense)) {
      throw StateError(fmt::format(
          "Invalid state: its matrix A is kept in {}, expected {}: the option state must be as it "
          "was when the state was saved",
          storage_.narrow() ? "full" : "bfloat16", storage_.narrow() ? "bfloat16" : "full"));
    }
    if (form != "span" && form != dense_name()) {
      throw StateError("Invalid state: form is '" + form + "', expected span or " + dense_name());
    }
    const Form found = form == "span" ? Form::span : Form::dense;
    if (spec_.form != Form::automatic && spec_.form != found) {
      throw StateError("Invalid state: it has form " + form + ", the option form excludes it");
    }
    info_ = {found, reader.text("form_reason")};
    excess_ = reader.number("excess");
    make_inner();
    inner_->load(reader);
  }

  const FormInfo& info() const { return info_; }

 private:
  // How files call the dense form. A span has the same file whatever its matrix will be.
  static constexpr const char* kDense = "dense";
  static constexpr const char* kNarrowDense = "dense in bfloat16";
  const char* dense_name() const { return storage_.narrow() ? kNarrowDense : kDense; }

  void make_inner() {
    next_ = nullptr;
    if (info_.form == Form::span) {
      auto span = std::make_unique<SpanEstimator<T>>(spec_, dimension_, owner_);
      span_ = span.get();
      inner_ = std::move(span);
    } else {
      span_ = nullptr;
      inner_ = make_dense<T>(spec_, dimension_, owner_, storage_);
    }
  }

  std::size_t rows() const {
    return static_cast<std::size_t>(owner_ == StateOwner::caller ? span_->rows_in_memory()
                                                                 : span_->rows());
  }
  ElementBytes bytes() const { return element_bytes(storage_, sizeof(T)); }
  void count_excess() { excess_ += step_excess(dimension_, span_->rows(), bytes()); }

  /// Makes room for the dense form where the next step goes on with it. The step may still fail:
  /// until then it waits beside the span form, which nothing but a step changes.
  void look_ahead() {
    if (span_ == nullptr) return;
    std::string reason = reason_to_leave(spec_, dimension_, rows(), excess_, bytes());
    if (reason.empty()) return;
    next_ = std::make_unique<DenseEstimator<T>>(spec_, dimension_, owner_, storage_);
    next_info_ = {Form::dense, std::move(reason)};
    next_is_filled_ = false;
  }

  void fill_next(Executor& executor) {
    try {
      next_->start();
      span_->move_to(*next_, executor);
    } catch (...) {
      if (owner_ == StateOwner::engine) next_ = nullptr;  // half full, in memory that must be 0
      throw;
    }
    next_is_filled_ = true;
  }

  void go_dense() {
    span_ = nullptr;
    inner_ = std::move(next_);
    info_ = std::move(next_info_);
  }

  const detail::TrainableSpec& spec_;
  detail::StateStorage storage_;
  std::size_t dimension_;
  StateOwner owner_;
  FormInfo info_;
  bool may_be_span_;  // one starts as span, or never is
  std::unique_ptr<Estimator<T>> inner_;
  SpanEstimator<T>* span_ = nullptr;         // inner_, while it is one
  std::unique_ptr<DenseEstimator<T>> next_;  // what inner_ becomes in the next step, or nothing
  bool next_is_filled_ = false;
  FormInfo next_info_ = {};
  double excess_ = 0;  // bytes that span steps moved beyond what dense ones would have
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_full(const detail::Recipe& recipe,
                                        const detail::TrainableSpec& spec, const Layout& layout,
                                        StateOwner owner) {
  return std::make_unique<Full<T>>(recipe, spec, layout, owner);
}

template <class T>
FormInfo form_info(const Estimator<T>& estimator) {
  return dynamic_cast<const Full<T>&>(estimator).info();
}

template std::unique_ptr<Estimator<float>> make_full(const detail::Recipe&,
                                                     const detail::TrainableSpec&, const Layout&,
                                                     StateOwner);
template std::unique_ptr<Estimator<double>> make_full(const detail::Recipe&,
                                                      const detail::TrainableSpec&, const Layout&,
                                                      StateOwner);
template FormInfo form_info(const Estimator<float>&);
template FormInfo form_info(const Estimator<double>&);

}  // namespace tandem
