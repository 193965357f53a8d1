// SPDX-License-Identifier: MIT
// The optimizers, each with its update rule. Options and their reasons are in options.h.
#pragma once

#include <tandem/optimizer.h>
#include <tandem/options.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tandem {

/// Full-TO, Algorithm 1 of "A Trainable Optimizer" (Wang and Klabjan):
///
///   r = g - A w - b;  A += alpha r w^T;  b += beta r;  w -= lr (A w + b)
class FullTO : public Optimizer {
 public:
  explicit FullTO(std::size_t dimension, const FullTOOptions& options = {});
  explicit FullTO(const std::vector<SegmentSpec>& segments, const FullTOOptions& options = {});

  /// The form in use, and why: "dense: initial_A is given".
  Form form() const;
  std::string form_reason() const;
  /// The most bytes of state and workspace that a run of so many steps will hold, with float
  /// weights.
  std::size_t most_bytes(std::size_t steps) const;
};

/// Diag-TO, Algorithm 2: r = g - a*w - b;  a += alpha r*w;  b += beta r;  w -= lr (a*w + b),
/// elementwise.
class DiagonalTO : public Optimizer {
 public:
  explicit DiagonalTO(std::size_t dimension, const DiagonalTOOptions& options = {});
  explicit DiagonalTO(const std::vector<SegmentSpec>& segments,
                      const DiagonalTOOptions& options = {});
};

/// RO-TO, Algorithm 3: r = g - a (c.w) - b;  a += alpha (c.w) r;  c += alpha (r.a) w with the old
/// a;  b += beta r; w -= lr (a (c.w) + b).
class RankOneTO : public Optimizer {
 public:
  explicit RankOneTO(std::size_t dimension, const RankOneTOOptions& options = {});
  explicit RankOneTO(const std::vector<SegmentSpec>& segments,
                     const RankOneTOOptions& options = {});
};

/// Full-TO on each block of coordinates.
class BlockTO : public Optimizer {
 public:
  explicit BlockTO(std::size_t dimension, const BlockTOOptions& options = {});
  explicit BlockTO(const std::vector<SegmentSpec>& segments, const BlockTOOptions& options = {});
};

/// Diag-TO's estimate G over the root of Adam's second moment of g: w -= lr G / (sqrt(v / (1 -
/// beta2^t)) + eps).
class AdamTO : public Optimizer {
 public:
  explicit AdamTO(std::size_t dimension, const AdamTOOptions& options = {});
  explicit AdamTO(const std::vector<SegmentSpec>& segments, const AdamTOOptions& options = {});
};

/// w -= lr g.
class SGD : public Optimizer {
 public:
  explicit SGD(std::size_t dimension, const SGDOptions& options = {});
  explicit SGD(const std::vector<SegmentSpec>& segments, const SGDOptions& options = {});
};

/// b = m b + (1 - m) g;  w -= lr b (or torch's form by option).
class Momentum : public Optimizer {
 public:
  explicit Momentum(std::size_t dimension, const MomentumOptions& options = {});
  explicit Momentum(const std::vector<SegmentSpec>& segments, const MomentumOptions& options = {});
};

/// b = m b + g, b_1 = g_1;  w -= lr (g + m b).
class Nesterov : public Optimizer {
 public:
  explicit Nesterov(std::size_t dimension, const NesterovOptions& options = {});
  explicit Nesterov(const std::vector<SegmentSpec>& segments, const NesterovOptions& options = {});
};

/// v += g^2;  w -= lr g / (sqrt(v) + eps) (Duchi, Hazan and Singer 2011).
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(std::size_t dimension, const AdagradOptions& options = {});
  explicit Adagrad(const std::vector<SegmentSpec>& segments, const AdagradOptions& options = {});
};

/// v = beta2 v + (1 - beta2) g^2;  w -= lr g / (sqrt(v) + eps) (Hinton 2012).
class RMSProp : public Optimizer {
 public:
  explicit RMSProp(std::size_t dimension, const RMSPropOptions& options = {});
  explicit RMSProp(const std::vector<SegmentSpec>& segments, const RMSPropOptions& options = {});
};

/// m, v averages of g and g^2, bias-corrected;  w -= lr m / (sqrt(v) + eps) (Kingma and Ba 2014).
class Adam : public Optimizer {
 public:
  explicit Adam(std::size_t dimension, const AdamOptions& options = {});
  explicit Adam(const std::vector<SegmentSpec>& segments, const AdamOptions& options = {});
};

/// Adam, and w -= lr weight_decay w beside it (Loshchilov and Hutter 2017).
class AdamW : public Optimizer {
 public:
  explicit AdamW(std::size_t dimension, const AdamWOptions& options = {});
  explicit AdamW(const std::vector<SegmentSpec>& segments, const AdamWOptions& options = {});
};

/// w -= lr sign(beta1 m + (1 - beta1) g), then m = beta2 m + (1 - beta2) g (Chen et al. 2023).
class Lion : public Optimizer {
 public:
  explicit Lion(std::size_t dimension, const LionOptions& options = {});
  explicit Lion(const std::vector<SegmentSpec>& segments, const LionOptions& options = {});
};

}  // namespace tandem
