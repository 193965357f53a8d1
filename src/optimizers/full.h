// SPDX-License-Identifier: MIT
// Full-TO, Algorithm 1 of the paper, in its two exact forms, and the one that chooses between them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "optimizers/estimator.h"

namespace tandem {

/// Below this dimension the matrix fits the cache, and Full-TO is one block of Block-TO, unless the
/// matrix is kept in bfloat16.
inline constexpr std::size_t kSmallMatrix = 512;
/// How many rank-one updates the dense form keeps unapplied.
inline constexpr std::size_t kDelayed = 64;

/// The span form allocates its vectors a few at a time where they are short.
std::size_t span_rows_per_chunk(std::size_t dimension, std::size_t element);

/// Bytes of an element: of vectors, which are of the type of the weights, and of the matrix.
struct ElementBytes {
  std::size_t vector;
  std::size_t matrix;
};

/// The most bytes of state and workspace; as double because they may be beyond any memory.
double dense_bytes(std::size_t dimension, const ElementBytes& element);
double span_bytes(std::size_t dimension, std::size_t rows, std::size_t element);

/// The most bytes of state and workspace in a run of so many steps in which nobody else moves the
/// weights: as span, as dense, or as both for the moment of the change, which uses `threads`.
double most_bytes(const detail::Recipe& recipe, std::size_t dimension, std::size_t steps,
                  std::size_t element, int threads);

/// Full-TO with the matrix itself.
template <class T>
std::unique_ptr<Estimator<T>> make_dense(const detail::TrainableSpec& spec, std::size_t dimension,
                                         StateOwner owner, const detail::StateStorage& storage);

/// Full-TO with the choice of its form; throws std::invalid_argument where no form is possible.
template <class T>
std::unique_ptr<Estimator<T>> make_full(const detail::Recipe& recipe,
                                        const detail::TrainableSpec& spec, const Layout& layout,
                                        StateOwner owner);

/// The form in use and why.
struct FormInfo {
  Form form = Form::automatic;
  std::string reason;
};
/// Of a Full-TO estimator.
template <class T>
FormInfo form_info(const Estimator<T>& estimator);
/// Of one that is not made yet; throws std::invalid_argument where no form is possible.
FormInfo planned_form(const detail::Recipe& recipe, std::size_t dimension, std::size_t element);

}  // namespace tandem
