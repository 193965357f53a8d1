// SPDX-License-Identifier: MIT
#include "optimizers/span.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/make_room.h"
#include "base/parallel.h"
#include "kernels/hash.h"
#include "kernels/kernels.h"
#include "optimizers/full.h"
#include "optimizers/state_visitors.h"

namespace tandem {
template <class T>
SpanEstimator<T>::SpanEstimator(const detail::TrainableSpec& spec, std::size_t dimension,
                                StateOwner owner)
    : TrainableEstimator<T>(spec),
      dimension_(dimension),
      rows_per_chunk_(span_rows_per_chunk(dimension, sizeof(T))),
      chunks_(owner),
      products_(true, owner),
      weights_at_(false, owner),
      row_facts_(owner),
      estimate_(dimension) {}

template <class T>
void SpanEstimator<T>::make_room_for(std::size_t more) {
  const std::size_t rows = rows_.size() + more;
  if (chunks_.owner() == StateOwner::engine) {
    while (chunks_.parts() < chunks_for(rows)) chunks_.add_part(rows_per_chunk_ * dimension_);
  }
  make_room(rows_, rows);
  products_.prepare(rows);
  products_.prepare_products(rows);
  weights_at_.prepare(rows);
  for (std::vector<double>* numbers : {&alpha_, &beta_, &x_, &y_, &c_, &mc_}) {
    make_room(*numbers, rows);
  }
  make_room(rounded_, rows);
  history_.prepare(rows, dimension_);
  sums_.resize(history_ranges(dimension_));
}

template <class T>
void SpanEstimator<T>::prepare(const Step<T>& step) {
  hashes_.resize(step.layout.blocks());
  if (rows_.empty()) {
    make_room_for(this->spec().initial_b.empty() ? 2 : 3);
    return;
  }
  moved_ = !weights_known_ || hash_weights(step) != weights_hash_;
  make_room_for(moved_ ? 2 : 1);
}

template <class T>
T* SpanEstimator<T>::new_row() {
  return row_at(rows_.size());
}

template <class T>
std::span<double> SpanEstimator<T>::keep_row(bool residual, double alpha, double beta) {
  rows_.push_back(new_row());
  const std::span<double> then = weights_at_.push(residual);
  std::copy(x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(then.size()), then.begin());
  alpha_.push_back(alpha);
  beta_.push_back(beta);
  return products_.push();
}

template <class T>
void SpanEstimator<T>::begin(const Step<T>& step) {
  const auto& kernels = kernels::kernels<T>();
  T* weights = new_row();
  flatten_weights(step, weights);
  const double ww = kernels.dot(weights, weights, dimension_);
  keep_row(false, 0, 0)[0] = ww;
  x_.push_back(1);
  y_.push_back(ww);
  if (this->spec().initial_b.empty()) return;
  T* b = new_row();
  std::transform(this->spec().initial_b.begin(), this->spec().initial_b.end(), b,
                 [](double value) { return static_cast<T>(value); });
  const double bw = kernels.dot(b, weights, dimension_);
  const std::span<double> products = keep_row(false, 0, 1);
  products[0] = bw;
  products[1] = kernels.dot(b, b, dimension_);
  x_.push_back(0);
  y_.push_back(bw);
}

template <class T>
void SpanEstimator<T>::rebase(const Step<T>& step) {
  const auto& kernels = kernels::kernels<T>();
  const std::size_t count = rows_.size();
  // off = w - sum of x_j B_j
  T* off = new_row();
  flatten_weights(step, off);
  rounded_.resize(count);
  std::transform(x_.begin(), x_.end(), rounded_.begin(),
                 [](double x) { return static_cast<T>(-x); });
  history_.pass(step.executor, rows_, dimension_, rounded_.data(), off, nullptr);
  history_.pass(step.executor, rows_, dimension_, nullptr, nullptr, off);
  const double off2 = kernels.dot(off, off, dimension_);
  const std::span<double> products = keep_row(false, 0, 0);
  std::copy(history_.dots().begin(), history_.dots().end(), products.begin());
  products[count] = off2;
  for (std::size_t k = 0; k < count; ++k) y_[k] += products[k];
  double own = products[count];
  for (std::size_t k = 0; k < count; ++k) own += products[k] * x_[k];
  x_.push_back(1);
  y_.push_back(own);
}

template <class T>
void SpanEstimator<T>::ready(const Step<T>& step, const GatheredSums&, kernels::PassScalars<T>&) {
  const auto& kernels = kernels::kernels<T>();
  if (rows_.empty()) {
    begin(step);
  } else if (moved_) {
    rebase(step);
  }
  const std::size_t count = rows_.size();
  T* r = new_row();
  const T* g = r;
  if (step.segments.size() == 1 && step.l2 == 0) {
    g = step.segments[0].gradient.data();
  } else {
    flatten_gradient(step, r);
  }

  c_.resize(count);
  weights_at_.rows_times(step.executor, y_, c_);
  for (std::size_t k = 0; k < count; ++k) c_[k] = alpha_[k] * c_[k] + beta_[k];
  double ww = 0;
  for (std::size_t k = 0; k < count; ++k) ww += x_[k] * y_[k];
  const auto gain = this->gain(step, ww);

  // One read of the history gives p and B g, and while a range of columns is in the cache r = g - p
  // and G = p + delta r.
  rounded_.resize(count);
  std::transform(c_.begin(), c_.end(), rounded_.begin(),
                 [](double v) { return static_cast<T>(v); });
  const kernels::BlockRates<T> rates{T{1}, T{0}, static_cast<T>(gain.delta)};
  T* p = estimate_.data();
  std::fill(sums_.begin(), sums_.end(), kernels::PassSums{});
  history_.pass(
      step.executor, rows_, dimension_, rounded_.data(), p, g,
      [&](std::size_t, std::size_t column, std::size_t columns) {
        std::fill_n(p + column, columns, T{0});
      },
      [&](std::size_t range, std::size_t column, std::size_t columns) {
        kernels.learn_vector(p + column, g + column, nullptr, r + column, columns, rates,
                             &sums_[range]);
      });
  kernels::PassSums total;
  for (const kernels::PassSums& range : sums_) {
    total.residual2 += range.residual2;
    total.gradient2 += range.gradient2;
  }

  // Bookkeeping: the new row of M, x of the next weights, y = M x.
  mc_.resize(count);
  products_.symmetric_times(step.executor, c_, mc_);
  const std::span<double> products = keep_row(true, gain.alpha, gain.beta);
  for (std::size_t k = 0; k < count; ++k) products[k] = history_.dots()[k] - mc_[k];
  products[count] = total.residual2;
  const double last = -step.lr * gain.delta;
  for (std::size_t k = 0; k < count; ++k) {
    x_[k] = step.shrink * x_[k] - step.lr * c_[k];
    y_[k] = step.shrink * y_[k] - step.lr * mc_[k] + last * products[k];
  }
  x_.push_back(last);
  double own = 0;
  for (std::size_t k = 0; k <= count; ++k) own += products[k] * x_[k];
  y_.push_back(own);

  this->set_norms(total.residual2, total.gradient2);
  this->last_.delta = gain.delta;
}

template <class T>
std::uint64_t SpanEstimator<T>::hash_weights(const Step<T>& step) {
  const auto& kernels = kernels::kernels<T>();
  parallel_ranges(
      step.executor, hashes_.size(), kBlocksPerThread, [&](std::size_t first, std::size_t last) {
        step.layout.for_blocks(first, last, [&](const Layout::Block& block) {
          hashes_[block.index] =
              kernels.hash(step.segments[block.segment].weights.data() + block.begin, block.count);
        });
      });
  std::uint64_t hash = 0;
  for (const std::uint64_t next : hashes_) hash = kernels::combine_hashes(hash, next);
  return hash;
}

template <class T>
void SpanEstimator<T>::finish(const Step<T>& step, const Outcome& outcome) {
  if (outcome.scaled != 1) {
    for (double& x : x_) x *= outcome.scaled;
    for (double& y : y_) y *= outcome.scaled;
  }
  if (outcome.scaled == 1 && !outcome.boxed) {
    weights_hash_ = 0;
    for (const kernels::PassSums& block : outcome.sums) {
      weights_hash_ = kernels::combine_hashes(weights_hash_, block.weights_hash);
    }
  } else {
    weights_hash_ = hash_weights(step);
  }
  weights_known_ = true;
}

template <class T>
std::size_t SpanEstimator<T>::state_bytes() const {
  std::size_t bytes = products_.bytes() + weights_at_.bytes();
  bytes += used_chunks() * rows_per_chunk_ * dimension_ * sizeof(T);
  return bytes + (alpha_.size() + beta_.size() + x_.size() + y_.size()) * sizeof(double);
}

template <class T>
std::size_t SpanEstimator<T>::workspace_bytes() const {
  // A chunk that a step asked for which then failed is spare until the next one.
  const std::size_t spare = chunks_.parts() - used_chunks();
  return estimate_.bytes() + history_.bytes() + products_.workspace_bytes() +
         spare * rows_per_chunk_ * dimension_ * sizeof(T) +
         (c_.capacity() + mc_.capacity()) * sizeof(double) + rounded_.capacity() * sizeof(T) +
         hashes_.capacity() * sizeof(std::uint64_t) + sums_.capacity() * sizeof(kernels::PassSums);
}

template <class T>
void SpanEstimator<T>::Facts::visit(StateVisitor& visitor, std::uint64_t most_rows) {
  visitor.count("rows", rows, most_rows);
  visitor.small("weights_known", weights_known, 1);
  visitor.count("weights_hash", weights_hash);
}

template <class T>
std::uint64_t SpanEstimator<T>::most_rows() const {
  const auto limit = static_cast<double>(this->spec().memory_limit);
  const double vectors = limit / (static_cast<double>(dimension_) * sizeof(T));
  const double products = std::sqrt(limit / sizeof(double));  // two triangles of doubles
  return static_cast<std::uint64_t>(std::min(vectors, products)) + 4;
}

template <class T>
void SpanEstimator<T>::set_facts(const Facts& facts) {
  rows_in_memory_ = facts.rows;
  weights_known_ = facts.weights_known;
  weights_hash_ = facts.weights_hash;
}

template <class T>
void SpanEstimator<T>::arrays(StateVisitor& visitor) {
  // The first step keeps the weights, b_0 and a residual; a later one a residual, and what the
  // weights are off by where somebody else moved them.
  const std::size_t rows = rows_in_memory_ + (rows_in_memory_ == 0 ? 3 : 2);
  chunks_.set_parts(std::vector<std::size_t>(chunks_for(rows), rows_per_chunk_ * dimension_));
  products_.set_rows_in_memory(rows);
  weights_at_.set_rows_in_memory(rows);
  const std::size_t parts = (rows + kRowsPerPart - 1) / kRowsPerPart;
  row_facts_.set_parts(std::vector<std::size_t>(parts, kRowsPerPart * kFacts));
  visitor.array("history", chunks_);
  visitor.array("products", products_.array());
  visitor.array("weights_at", weights_at_.array());
  visitor.array("row_facts", row_facts_);
}

template <class T>
void SpanEstimator<T>::taken() {
  const std::size_t rows = rows_in_memory_;
  rows_.clear();
  for (std::size_t k = 0; k < rows; ++k) rows_.push_back(row_at(k));
  for (std::vector<double>* numbers : {&alpha_, &beta_, &x_, &y_}) numbers->resize(rows);
  const auto facts_of = [&](std::size_t k) {
    return row_facts_.part(k / kRowsPerPart) + k % kRowsPerPart * kFacts;
  };
  for (std::size_t k = 0; k < rows; ++k) {
    const double* facts = facts_of(k);
    alpha_[k] = facts[0];
    beta_[k] = facts[1];
    x_[k] = facts[2];
    y_[k] = facts[3];
  }
  products_.take_rows(rows, [](std::size_t) { return true; });
  weights_at_.take_rows(rows, [&](std::size_t k) { return facts_of(k)[4] != 0; });
}

template <class T>
void SpanEstimator<T>::give_back() {
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    double* facts = row_facts_.part(k / kRowsPerPart) + k % kRowsPerPart * kFacts;
    facts[0] = alpha_[k];
    facts[1] = beta_[k];
    facts[2] = x_[k];
    facts[3] = y_[k];
    facts[4] = weights_at_.row(k).empty() ? 0 : 1;
  }
  rows_in_memory_ = rows_.size();
}

template <class T>
void SpanEstimator<T>::save(StateWriter& writer) const {
  WriteState write(writer);
  Diagnostics last = this->last_;
  visit_diagnostics(write, last);
  facts().visit(write, most_rows());
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    writer.number("alpha", alpha_[k]);
    writer.number("beta", beta_[k]);
    writer.count("is_residual", weights_at_.row(k).empty() ? 0 : 1);
    writer.array("weights_at", weights_at_.row(k));
    writer.array("products", products_.row(k));
    writer.array("row", std::span<const T>(rows_[k], dimension_));
  }
  writer.array("x", x_);
  writer.array("y", y_);
}

template <class T>
void SpanEstimator<T>::load(StateReader& reader) {
  ReadState read(reader);
  visit_diagnostics(read, this->last_);
  Facts facts;
  facts.visit(read, std::numeric_limits<std::uint64_t>::max());
  weights_known_ = facts.weights_known;
  weights_hash_ = facts.weights_hash;
  // A row is allocated when it has been reached, so that a wrong count ends with the file, not with
  // the memory.
  for (std::uint64_t k = 0; k < facts.rows; ++k) {
    const double alpha = reader.number("alpha");
    const double beta = reader.number("beta");
    const bool residual = reader.count("is_residual", 1) == 1;
    make_room_for(1);
    x_.resize(k);  // keep_row takes them for the weights then
    const std::span<double> products = keep_row(residual, alpha, beta);
    // A row of a triangle that is not filled is an empty array in the file.
    reader.array("weights_at", weights_at_.last());
    reader.array("products", products);
    reader.array("row", std::span<T>(row_at(k), dimension_));
  }
  x_.resize(rows_.size());
  y_.resize(rows_.size());
  reader.array("x", x_);
  reader.array("y", y_);
}

template <class T>
void SpanEstimator<T>::move_to(DenseEstimator<T>& dense, Executor& executor) const {
  // b = sum of beta_j B_j, b_0 among them
  std::fill(dense.b().begin(), dense.b().end(), T{0});
  History<T> history;
  std::vector<T> beta(beta_.size());
  std::transform(beta_.begin(), beta_.end(), beta.begin(),
                 [](double v) { return static_cast<T>(v); });
  history.pass(executor, rows_, dimension_, beta.data(), dense.b().data(), nullptr);

  // A = sum of alpha_j r_j w_j^T, kDelayed residuals at a time.
  std::vector<std::size_t> learned;
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (!weights_at_.row(j).empty() && alpha_[j] != 0) learned.push_back(j);
  }
  Buffer<T> weights(kDelayed * dimension_);
  dense.prepare_factors(executor, kDelayed);
  std::vector<const T*> u;
  std::vector<const T*> v;
  for (std::size_t first = 0; first < learned.size(); first += kDelayed) {
    const auto group =
        std::span(learned).subspan(first, std::min(kDelayed, learned.size() - first));
    weights_of(group, executor, weights.data());
    u.clear();
    v.clear();
    for (std::size_t i = 0; i < group.size(); ++i) {
      u.push_back(rows_[group[i]]);
      v.push_back(weights.data() + i * dimension_);
    }
    dense.add_factors(executor, u, v, std::numeric_limits<std::uint64_t>::max() - first);
  }
  dense.release_factors();
}

template <class T>
void SpanEstimator<T>::weights_of(std::span<const std::size_t> residuals, Executor& executor,
                                  T* out) const {
  const auto& kernels = kernels::kernels<T>();
  const std::size_t height = residuals.size();
  const std::size_t width = history_columns(dimension_);
  const std::size_t tasks = history_ranges(dimension_);
  std::fill(out, out + height * dimension_, T{0});
  std::vector<T> coefficients(kDelayed * height);
  std::vector<const T*> u(kDelayed);
  for (std::size_t k = 0; k < kDelayed; ++k) u[k] = coefficients.data() + k * height;
  // kDelayed vectors of B at a time; the last of the residuals has the longest row of coefficients.
  const std::size_t count = weights_at_.row(residuals.back()).size();
  for (std::size_t first = 0; first < count; first += kDelayed) {
    const std::size_t rank = std::min(kDelayed, count - first);
    for (std::size_t k = 0; k < rank; ++k) {
      for (std::size_t i = 0; i < height; ++i) {
        const auto row = weights_at_.row(residuals[i]);
        const double x = first + k < row.size() ? row[first + k] : 0;
        coefficients[k * height + i] = static_cast<T>(alpha_[residuals[i]] * x);
      }
    }
    Buffer<T> scratch(tasks * kernels::rank_update_scratch(rank));
    std::vector<const T*> v(tasks * rank);
    parallel_ranges(executor, tasks, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t task = begin; task < end; ++task) {
        const std::size_t column = task * width;
        const T** shifted = v.data() + task * rank;
        for (std::size_t k = 0; k < rank; ++k) shifted[k] = rows_[first + k] + column;
        kernels.rank_update(out + column, dimension_, height, std::min(width, dimension_ - column),
                            u.data(), shifted, rank,
                            scratch.data() + task * kernels::rank_update_scratch(rank));
      }
    });
  }
}

template class SpanEstimator<float>;
template class SpanEstimator<double>;

}  // namespace tandem
