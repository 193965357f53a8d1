// SPDX-License-Identifier: MIT
#include "optimizers/span.h"

#include <algorithm>
#include <utility>

#include "base/make_room.h"
#include "base/parallel.h"
#include "kernels/hash.h"
#include "kernels/kernels.h"
#include "optimizers/full.h"

namespace tandem {
template <class T>
SpanEstimator<T>::SpanEstimator(const detail::TrainableSpec& spec, std::size_t dimension)
    : TrainableEstimator<T>(spec),
      dimension_(dimension),
      rows_per_chunk_(span_rows_per_chunk(dimension, sizeof(T))),
      estimate_(dimension) {}

template <class T>
void SpanEstimator<T>::make_room_for(std::size_t more) {
  const std::size_t rows = rows_.size() + more;
  const std::size_t chunks = (rows + rows_per_chunk_ - 1) / rows_per_chunk_;
  make_room(chunks_, chunks);
  while (chunks_.size() < chunks) chunks_.emplace_back(rows_per_chunk_ * dimension_);
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
  for (std::size_t i = 0; i < more; ++i) {
    new_rows_[i] = {};
    new_rows_[i].products.reserve(rows_.size() + i + 1);
  }
  new_rows_[more - 1].weights_then.reserve(rows - 1);
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
  const std::size_t chunk = rows_.size() / rows_per_chunk_;
  if (chunk == chunks_.size()) chunks_.emplace_back(rows_per_chunk_ * dimension_);
  return chunks_[chunk].data() + rows_.size() % rows_per_chunk_ * dimension_;
}

template <class T>
void SpanEstimator<T>::keep_row(std::vector<double> products, std::vector<double> weights_then,
                                double alpha, double beta) {
  rows_.push_back(new_row());
  products_.push(std::move(products));
  weights_at_.push(std::move(weights_then));
  alpha_.push_back(alpha);
  beta_.push_back(beta);
}

template <class T>
void SpanEstimator<T>::start(const Step<T>& step) {
  const auto& kernels = kernels::kernels<T>();
  T* weights = new_row();
  flatten_weights(step, weights);
  const double ww = kernels.dot(weights, weights, dimension_);
  new_rows_[0].products.push_back(ww);
  keep_row(std::move(new_rows_[0].products), {}, 0, 0);
  x_.push_back(1);
  y_.push_back(ww);
  if (this->spec().initial_b.empty()) return;
  T* b = new_row();
  std::transform(this->spec().initial_b.begin(), this->spec().initial_b.end(), b,
                 [](double value) { return static_cast<T>(value); });
  const double bw = kernels.dot(b, weights, dimension_);
  new_rows_[1].products.push_back(bw);
  new_rows_[1].products.push_back(kernels.dot(b, b, dimension_));
  keep_row(std::move(new_rows_[1].products), {}, 0, 1);
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
  std::vector<double> products = std::move(new_rows_[0].products);
  products.assign(history_.dots().begin(), history_.dots().end());
  products.push_back(kernels.dot(off, off, dimension_));
  for (std::size_t k = 0; k < count; ++k) y_[k] += products[k];
  double own = products[count];
  for (std::size_t k = 0; k < count; ++k) own += products[k] * x_[k];
  keep_row(std::move(products), {}, 0, 0);
  x_.push_back(1);
  y_.push_back(own);
}

template <class T>
void SpanEstimator<T>::gather(const Step<T>& step, kernels::PassScalars<T>&) {
  const auto& kernels = kernels::kernels<T>();
  const std::size_t before = rows_.size();
  if (before == 0) {
    start(step);
  } else if (moved_) {
    rebase(step);
  }
  const std::size_t count = rows_.size();
  Bookkeeping& kept = new_rows_[count - before];
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
  kept.products.resize(count + 1);
  for (std::size_t k = 0; k < count; ++k) kept.products[k] = history_.dots()[k] - mc_[k];
  kept.products[count] = total.residual2;
  kept.weights_then.assign(x_.begin(), x_.end());
  const double last = -step.lr * gain.delta;
  for (std::size_t k = 0; k < count; ++k) {
    x_[k] = step.shrink * x_[k] - step.lr * c_[k];
    y_[k] = step.shrink * y_[k] - step.lr * mc_[k] + last * kept.products[k];
  }
  x_.push_back(last);
  double own = 0;
  for (std::size_t k = 0; k <= count; ++k) own += kept.products[k] * x_[k];
  y_.push_back(own);
  keep_row(std::move(kept.products), std::move(kept.weights_then), gain.alpha, gain.beta);

  this->set_norms(total.residual2, total.gradient2);
  this->last_.delta = gain.delta;
}

template <class T>
kernels::PassStreams<T> SpanEstimator<T>::streams() {
  kernels::PassStreams<T> streams;
  streams.given = estimate_.data();
  return streams;
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
  const std::size_t spare = chunks_.size() - used_chunks();
  return estimate_.bytes() + history_.bytes() + products_.workspace_bytes() +
         spare * rows_per_chunk_ * dimension_ * sizeof(T) +
         (c_.capacity() + mc_.capacity()) * sizeof(double) + rounded_.capacity() * sizeof(T) +
         hashes_.capacity() * sizeof(std::uint64_t) + sums_.capacity() * sizeof(kernels::PassSums);
}

template <class T>
void SpanEstimator<T>::save(StateWriter& writer) const {
  this->save_last(writer);
  writer.count("rows", rows_.size());
  writer.count("weights_known", weights_known_ ? 1 : 0);
  writer.count("weights_hash", weights_hash_);
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
  this->load_last(reader);
  const std::uint64_t count = reader.count("rows");
  weights_known_ = reader.count("weights_known", 1) == 1;
  weights_hash_ = reader.count("weights_hash");
  // A row is allocated when it has been reached, so that a wrong count ends with the file, not with
  // the memory.
  for (std::uint64_t k = 0; k < count; ++k) {
    const double alpha = reader.number("alpha");
    const double beta = reader.number("beta");
    std::vector<double> then(reader.count("is_residual", 1) == 1 ? k : 0);
    reader.array("weights_at", then);
    std::vector<double> products(k + 1);
    reader.array("products", products);
    reader.array("row", std::span<T>(new_row(), dimension_));
    keep_row(std::move(products), std::move(then), alpha, beta);
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
    dense.add_factors(executor, u, v);
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
