// SPDX-License-Identifier: MIT
// Trains a population: many settings of optimizers on one problem, with the same batches from the
// same start.
//
// A step makes one batch, then goes over the members a block at a time: gradients of the block, and
// each member's optimizer on its part while it is in the cache. A member's result depends on
// nothing but its own setting: not on the others, its place, or the number of threads. Members that
// diverge leave at once.
#pragma once

#include <tandem/executor.h>
#include <tandem/optimizer.h>
#include <tandem/problem.h>
#include <tandem/registry.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "sources/source.h"
#include "train/point.h"

namespace tandem::train {

/// One member: a method by name ("diag-to", "svrg+adam") and its options.
struct Setting {
  std::string method;
  OptionMap options;
};

enum class Init { normal, zeros };
enum class Sampling { epochs, independent };

struct TrainOptions {
  std::size_t batch = 64;
  std::size_t epochs = 10;
  std::uint64_t seed = 1;
  Init init = Init::normal;              // N(0, 1), as the paper starts
  bool shuffle = true;                   // off: rows in the order of the file
  Sampling sampling = Sampling::epochs;  // independent: each batch drawn afresh
  // Measure the estimators in the last step of each epoch: costs a full gradient a member.
  bool diagnose = false;
  std::vector<double> optimum = {};  // w*, if known: points then tell the distance
  // A loss so many times what it was at the start is divergence.
  double divergence = 1000;
  // Gradients of a batch that are longer than this are shortened to it; 0: none are.
  double clip = 0;
  // An epoch, after which is measured, is so many steps; 0: it is a pass over the data. The
  // schedules of optimizers always count passes.
  std::size_t epoch_steps = 0;
  // At most so many samples of each part are measured, the first ones; 0: all.
  std::size_t measured_samples = 0;
  // Called between steps with the part of the epoch that is done; false stops the run, and epoch()
  // throws Interrupted.
  std::function<bool(double)> progress = {};
};

/// The run was asked to stop in the middle of an epoch; what was saved after the one before is
/// good.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

struct Member {
  std::size_t id = 0;  // its place in the list of settings
  Setting setting;
  bool diverged = false;
  std::uint64_t diverged_at = 0;  // the step
  bool pruned = false;            // was taken out
  std::size_t state_bytes = 0;    // of optimizer and source
  std::vector<Point> points;
};

class Trainer {
 public:
  /// Throws std::invalid_argument for settings that cannot be, naming them.
  Trainer(const Problem& problem, const std::vector<Setting>& settings, const TrainOptions& options,
          std::shared_ptr<Executor> executor = default_executor());
  ~Trainer();

  /// Trains one epoch more and measures it; the first call measures the start too. False when all
  /// epochs are done.
  bool epoch();
  /// Takes members out, by id; those that have left already may be among them.
  void prune(const std::vector<std::size_t>& ids);
  /// The weights of a member that is in training, by id.
  std::span<const float> weights(std::size_t id) const;

  const std::vector<Member>& members() const { return members_; }
  std::size_t epochs_done() const { return epochs_done_; }
  std::size_t alive() const { return places_.size(); }
  /// Bytes that training holds beyond the problem: weights, state, workspace.
  std::size_t bytes() const;

  /// Everything that the rest of the run depends on; a resumed run gives the same bits. Throws
  /// StateError for a checkpoint of another run.
  void save(std::ostream& stream) const;
  void load(std::istream& stream);

 private:
  /// A member in training.
  struct Place {
    std::size_t id;
    std::unique_ptr<Optimizer> optimizer;
    std::unique_ptr<sources::Source> source;  // null: the batch's own gradient
    double first_loss = -1;                   // rough, of its first step
    Point diagnosed = {};                     // what the last diagnosed step told
  };

  void start();
  void measure();
  std::unique_ptr<Batch> batch(Problem::Part part, std::span<const std::uint32_t> rows) const;
  std::size_t measured(std::size_t samples) const;
  /// A step after which each member knows how far its estimate was from the full gradient.
  void diagnosed_step(std::span<const std::uint32_t> rows);
  std::vector<LossSum> losses(Problem::Part part, std::size_t samples) const;
  std::vector<std::uint32_t> pass_order(std::size_t pass) const;
  void step(std::span<const std::uint32_t> rows);
  void step_block(const Batch& batch, std::span<const std::uint32_t> rows, std::size_t first,
                  std::size_t last, float* gradients, double* rough, char* alive);
  enum class Leave { diverged, pruned };
  void remove(const std::vector<char>& alive, Leave why);
  /// A member alone has all threads for itself; the bits do not depend on them.
  void share_threads();
  std::size_t block_members() const;
  float* weights_at(std::size_t place) { return weights_.data() + place * dimension_; }
  std::string fingerprint() const;

  const Problem& problem_;
  std::unique_ptr<Session> session_;  // null: the problem's own batches
  TrainOptions options_;
  std::shared_ptr<Executor> executor_;
  std::size_t dimension_;
  std::vector<std::size_t> segments_;
  std::vector<Member> members_;
  std::vector<Place> places_;
  Buffer<float> weights_;  // a member after another, in the order of places_
  std::size_t epochs_done_ = 0;
  bool started_ = false;
  std::uint64_t steps_ = 0;
  double seconds_ = 0;  // a member's share
};

}  // namespace tandem::train
