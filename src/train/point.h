// SPDX-License-Identifier: MIT
// A measurement of a run, and the one list of its fields: what stores, exports, checkpoints and
// viewers hold follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

namespace tandem::train {

/// What is measured once an epoch; epoch 0 is the start.
struct Point {
  std::size_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t gradient_evaluations = 0;  // of single samples
  double seconds = 0;                      // of training, a member's share, without evaluation
  double train_loss = 0;
  double validation_loss = 0;  // NaN where there is no validation part
  double validation_accuracy = 0;
  // Of the epoch's last step, as in Diagnostics; NaN at the start and where nothing is trained:
  double residual = std::numeric_limits<double>::quiet_NaN();  // its norm over the gradient's
  double delta = std::numeric_limits<double>::quiet_NaN();
  // NaN unless asked for, and at the start:
  double estimator_error = std::numeric_limits<double>::quiet_NaN();  // |G - grad F|^2
  double batch_error = std::numeric_limits<double>::quiet_NaN();      // |g - grad F|^2
  double distance = std::numeric_limits<double>::quiet_NaN();         // |w - w*|^2
  // NaN in stores of versions before 5. train_loss is data_loss + lambda/2 squared_norm.
  double data_loss = std::numeric_limits<double>::quiet_NaN();     // without the regulariser
  double squared_norm = std::numeric_limits<double>::quiet_NaN();  // |w|^2
};

template <class T>
struct PointField {
  static constexpr bool kCounts = std::is_integral_v<T>;  // otherwise a real number

  const char* name;  // as columns and keys are called
  T Point::*member;
  bool optional = false;  // a run may have no value at any point
};

/// In the order in which files have them: a new field stands at the end and needs a migration in
/// store/schema.cc.
inline constexpr std::tuple kPointFields{
    PointField<std::size_t>{"epoch", &Point::epoch},
    PointField<std::uint64_t>{"step", &Point::step},
    PointField<std::uint64_t>{"gradient_evaluations", &Point::gradient_evaluations},
    PointField<double>{"seconds", &Point::seconds},
    PointField<double>{"train_loss", &Point::train_loss},
    PointField<double>{"validation_loss", &Point::validation_loss, true},
    PointField<double>{"validation_accuracy", &Point::validation_accuracy, true},
    PointField<double>{"residual", &Point::residual, true},
    PointField<double>{"delta", &Point::delta, true},
    PointField<double>{"estimator_error", &Point::estimator_error, true},
    PointField<double>{"batch_error", &Point::batch_error, true},
    PointField<double>{"distance", &Point::distance, true},
    PointField<double>{"data_loss", &Point::data_loss, true},
    PointField<double>{"squared_norm", &Point::squared_norm, true}};

// Fourteen fields of eight bytes: one that is in the struct and not in the list is noticed here.
static_assert(sizeof(Point) == 8 * std::tuple_size_v<decltype(kPointFields)>);

/// Calls visit(field) for each, in order; visit takes it by value, so that `if constexpr` can ask it.
template <class Visit>
constexpr void for_each_point_field(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, kPointFields);
}

}  // namespace tandem::train
