// SPDX-License-Identifier: MIT
// What the laboratory trains: a loss over samples, F(w) = mean of f_n(w) + lambda/2 |w|^2. Derive
// from it to train a model of your own; examples/own_problem.cc is one in a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem {

/// Sums over some samples.
struct LossSum {
  double loss = 0;          // of f_n
  std::size_t correct = 0;  // samples that the model gets right, for problems that classify

  LossSum& operator+=(const LossSum& other) {
    loss += other.loss;
    correct += other.correct;
    return *this;
  }
};

/// A set of samples, looked at by many members of a population in turn. Made once a batch, so that
/// whatever depends on the samples alone is done once. Its functions are called from several
/// threads at the same time.
///
/// `weights` and `gradients` hold `members` models one after another, each as Problem::segments()
/// says.
class Batch {
 public:
  virtual ~Batch() = default;

  /// gradients = the gradient of the mean of f_n over the batch, without lambda. rough_losses[m] is
  /// a figure of that mean by which a member that diverges is recognised: not finite, or a thousand
  /// times what it was at the start.
  virtual void gradients(std::size_t members, const float* weights, float* gradients,
                         double* rough_losses) const = 0;
  /// losses[m] = sums over the batch.
  virtual void losses(std::size_t members, const float* weights, LossSum* losses) const = 0;
};

class Session;

class Problem {
 public:
  virtual ~Problem() = default;

  /// Sizes of the parts of the weights: a layer's matrix, a tensor.
  virtual std::vector<std::size_t> segments() const = 0;
  virtual std::size_t samples() const = 0;
  /// 0 where there are none held out.
  virtual std::size_t validation_samples() const { return 0; }
  virtual double lambda() const { return 0; }
  /// For tables and messages: "softmax regression, 1025 x 10".
  virtual std::string description() const = 0;
  /// Whether Batch::losses fills `correct`.
  virtual bool classifies() const { return false; }

  enum class Part { train, validation };
  /// `rows` are indices below samples() or validation_samples(). Gradients are asked of training
  /// batches alone.
  virtual std::unique_ptr<Batch> batch(Part part, std::span<const std::uint32_t> rows) const = 0;

  /// Null, unless training needs a session: then batches come from it, and batch() is not called.
  virtual std::unique_ptr<Session> session(std::uint64_t seed) const;

  std::size_t dimension() const {
    std::size_t sum = 0;
    for (const std::size_t size : segments()) sum += size;
    return sum;
  }
};

/// One member's training on a problem that has a start of its own, or that remembers more than
/// weights: the place in its random numbers. Such a problem trains one member at a time and uses
/// all threads for it. The problem outlives its sessions.
class Session {
 public:
  virtual ~Session() = default;

  /// Where training starts: a net's layers scaled to their sizes, a checkpoint.
  virtual void start(std::span<float> weights) const = 0;
  /// As Problem::batch, for one member and one thread. A batch is used before the next is made.
  virtual std::unique_ptr<Batch> batch(Problem::Part part, std::span<const std::uint32_t> rows) = 0;
  /// Called before losses are asked at these weights, at the start too: a net with batch
  /// normalisation finds its statistics here. What it does depends on the weights and the data
  /// alone, and changes nothing for the training that follows.
  virtual void before_measuring(std::span<const float> /*weights*/) {}
  /// What it remembers: a run that is loaded goes on to the same bits. load() throws
  /// tandem::StateError for what save() did not write.
  virtual void save(std::ostream& stream) const = 0;
  virtual void load(std::istream& stream) = 0;
};

inline std::unique_ptr<Session> Problem::session(std::uint64_t /*seed*/) const { return nullptr; }

}  // namespace tandem
