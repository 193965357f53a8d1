// SPDX-License-Identifier: MIT
// The caller's weights are the net's parameters, without a copy. All that a session remembers from
// batch to batch is how many it trained on.
#include "deep/image_problem.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/errors.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/state_stream.h"
#include "deep/images.h"
#include "deep/plain_errors.h"
#include "deep/resnet.h"

namespace tandem::deep {
namespace {

constexpr std::size_t kEvaluationBatch = 128;  // bounds the memory of evaluations

class ImageProblem;

class ImageSession : public Session {
 public:
  ImageSession(const ImageProblem& problem, std::uint64_t seed);

  void start(std::span<float> weights) const override;
  std::unique_ptr<Batch> batch(Problem::Part part, std::span<const std::uint32_t> rows) override;
  void before_measuring(std::span<const float> weights) override;
  void save(std::ostream& stream) const override;
  void load(std::istream& stream) override;

  /// A number for a batch that is trained on.
  std::uint64_t next_batch() { return batches_++; }
  /// The mean loss of the rows as they are seen in batch `number`, and its gradient.
  double gradient(std::uint64_t number, std::span<const std::uint32_t> rows, const float* weights,
                  float* gradient);
  LossSum losses(const data::Dataset& data, std::span<const std::uint32_t> rows,
                 const float* weights) const;

 private:
  const ImageProblem& problem_;
  std::uint64_t seed_;
  std::optional<RunningStatistics> statistics_;  // of the weights that are being measured
  std::uint64_t batches_ = 0;                    // trained on: the place in the random numbers
};

class ImageProblem : public Problem {
 public:
  ImageProblem(ResNet net, std::shared_ptr<const data::Task> task,
               const Normalisation& normalisation, double lambda)
      : task_(std::move(task)),
        lambda_(lambda),
        normalisation_(normalisation),
        net_(std::move(net)) {}

  std::vector<std::size_t> segments() const override {
    std::vector<std::size_t> sizes;
    for (const Parameter& parameter : net_.parameters()) sizes.push_back(parameter.size);
    return sizes;
  }
  std::size_t samples() const override { return task_->train.rows; }
  std::size_t validation_samples() const override {
    return task_->validation ? task_->validation->rows : 0;
  }
  double lambda() const override { return lambda_; }
  bool classifies() const override { return true; }
  std::string description() const override {
    return fmt::format(
        "ResNet-{} of width {}, 3 x 32 x 32, {} classes, mean {:.3f}, deviation {:.3f}",
        net_.depth(), net_.width(), net_.classes(), fmt::join(normalisation_.mean, " "),
        fmt::join(normalisation_.deviation, " "));
  }
  std::unique_ptr<Batch> batch(Part /*part*/,
                               std::span<const std::uint32_t> /*rows*/) const override {
    throw std::logic_error("A ResNet is trained in a session: batches come from Session::batch");
  }
  std::unique_ptr<Session> session(std::uint64_t seed) const override {
    return plain_errors([&] { return std::make_unique<ImageSession>(*this, seed); });
  }

  const data::Dataset& part(Part part) const {
    if (part == Part::train) return task_->train;
    if (!task_->validation) throw std::logic_error("The data set has no validation images");
    return *task_->validation;
  }
  const ResNet& net() const { return net_; }
  const Normalisation& normalisation() const { return normalisation_; }

 private:
  std::shared_ptr<const data::Task> task_;
  double lambda_;
  Normalisation normalisation_;
  ResNet net_;
};

class ImageBatch : public Batch {
 public:
  ImageBatch(ImageSession& session, const data::Dataset& data, bool trains,
             std::span<const std::uint32_t> rows)
      : session_(session), data_(data), trains_(trains), rows_(rows.begin(), rows.end()) {}

  void gradients(std::size_t members, const float* weights, float* gradients,
                 double* rough_losses) const override {
    check(members);
    if (!trains_) throw std::logic_error("Gradients are asked of training batches alone");
    // Evaluations take no number, and another gradient of this batch sees the same images.
    if (!number_) number_ = session_.next_batch();
    rough_losses[0] = session_.gradient(*number_, rows_, weights, gradients);
  }

  void losses(std::size_t members, const float* weights, LossSum* losses) const override {
    check(members);
    losses[0] = session_.losses(data_, rows_, weights);
  }

 private:
  static void check(std::size_t members) {
    if (members == 1) return;
    throw std::logic_error(
        fmt::format("A ResNet trains one member at a time: found {} members, expected 1", members));
  }

  ImageSession& session_;
  const data::Dataset& data_;
  bool trains_;
  std::vector<std::uint32_t> rows_;
  mutable std::optional<std::uint64_t> number_;
};

/// Tensors need memory that may be written; this is only read.
float* only_read(const float* weights) { return const_cast<float*>(weights); }

// ---- The session --------------------------------------------------------------------------------

ImageSession::ImageSession(const ImageProblem& problem, std::uint64_t seed)
    : problem_(problem), seed_(seed) {}

void ImageSession::start(std::span<float> weights) const {
  plain_errors([&] { problem_.net().start(seed_, weights); });
}

std::unique_ptr<Batch> ImageSession::batch(Problem::Part part,
                                           std::span<const std::uint32_t> rows) {
  const data::Dataset& data = problem_.part(part);
  if (rows.empty()) throw std::invalid_argument("Invalid batch of images: 0, expected 1 or more");
  const std::uint32_t last = *std::max_element(rows.begin(), rows.end());
  if (last >= data.rows) {
    throw std::invalid_argument(
        fmt::format("Invalid row of a batch: {}, expected one below {}", last, data.rows));
  }
  return std::make_unique<ImageBatch>(*this, data, part == Problem::Part::train, rows);
}

/// With the k-th batch averages move by 1/k of their distance, and so become the mean of all.
void ImageSession::before_measuring(std::span<const float> weights) {
  plain_errors([&] {
    const at::NoGradGuard plain;
    const ResNet& net = problem_.net();
    const data::Dataset& data = problem_.part(Problem::Part::train);
    const std::vector<at::Tensor> parameters = net.tensors(only_read(weights.data()));
    RunningStatistics statistics = net.fresh_statistics();
    std::size_t seen = 0;
    for (const std::vector<std::uint32_t>& rows : statistics_batches(data.rows)) {
      net.forward(image_tensor(data, problem_.normalisation(), rows, {}), parameters, statistics,
                  ResNet::Mode::training, 1 / static_cast<double>(++seen));
    }
    statistics_ = std::move(statistics);
  });
}

double ImageSession::gradient(std::uint64_t number, std::span<const std::uint32_t> rows,
                              const float* weights, float* gradient) {
  statistics_.reset();  // the weights are about to change
  return plain_errors([&] {
    const ResNet& net = problem_.net();
    const data::Dataset& data = problem_.part(Problem::Part::train);
    std::vector<View> views(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) views[i] = random_view(seed_, number, i);

    const at::AutoGradMode with_gradients(true);
    std::vector<at::Tensor> parameters = net.tensors(only_read(weights));
    for (at::Tensor& parameter : parameters) parameter.set_requires_grad(true);
    const at::Tensor logits = net.forward(image_tensor(data, problem_.normalisation(), rows, views),
                                          parameters, {}, ResNet::Mode::training);
    const at::Tensor loss = at::cross_entropy_loss(logits, label_tensor(data, rows));
    const std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, parameters);

    const at::NoGradGuard plain;
    const std::vector<at::Tensor> targets = net.tensors(gradient);
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].copy_(gradients[i]);
    return loss.item<double>();
  });
}

LossSum ImageSession::losses(const data::Dataset& data, std::span<const std::uint32_t> rows,
                             const float* weights) const {
  if (!statistics_) {
    throw std::logic_error("Losses of a ResNet are asked after Session::before_measuring");
  }
  return plain_errors([&] {
    const at::NoGradGuard plain;
    const ResNet& net = problem_.net();
    const std::vector<at::Tensor> parameters = net.tensors(only_read(weights));
    LossSum sum;
    for (std::size_t at = 0; at < rows.size(); at += kEvaluationBatch) {
      const auto some = rows.subspan(at, std::min(kEvaluationBatch, rows.size() - at));
      const at::Tensor logits = net.forward(image_tensor(data, problem_.normalisation(), some, {}),
                                            parameters, *statistics_, ResNet::Mode::evaluation);
      const at::Tensor labels = label_tensor(data, some);
      const at::Tensor each = at::cross_entropy_loss(logits, labels, {}, at::Reduction::None);
      sum.loss += each.sum(at::kDouble).item<double>();
      sum.correct +=
          static_cast<std::size_t>(logits.argmax(1).eq(labels).sum().item<std::int64_t>());
    }
    return sum;
  });
}

// ---- What a session remembers -------------------------------------------------------------------

constexpr const char* kKind = "resnet session";

void ImageSession::save(std::ostream& stream) const {
  StateWriter writer(stream);
  writer.text("kind", kKind);
  writer.count("depth", static_cast<std::uint64_t>(problem_.net().depth()));
  writer.count("width", problem_.net().width());
  writer.count("seed", seed_);
  writer.count("batches", batches_);
  writer.finish();
}

void ImageSession::load(std::istream& stream) {
  StateReader reader(stream);
  if (const std::string kind = reader.text("kind"); kind != kKind) {
    throw StateError(fmt::format(
        "Invalid state of a ResNet's session: found a '{}', expected a '{}'", kind, kKind));
  }
  const auto expect = [&](const char* name, std::uint64_t expected) {
    const std::uint64_t found = reader.count(name);
    if (found == expected) return;
    throw StateError(fmt::format("Invalid state of a ResNet's session: found {} {}, expected {}",
                                 name, found, expected));
  };
  expect("depth", static_cast<std::uint64_t>(problem_.net().depth()));
  expect("width", problem_.net().width());
  expect("seed", seed_);
  const std::uint64_t batches = reader.count("batches");
  reader.finish();
  statistics_.reset();
  batches_ = batches;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> statistics_batches(std::size_t rows) {
  const std::size_t images = std::min(rows, kStatisticsImages);
  std::vector<std::vector<std::uint32_t>> batches((images + kEvaluationBatch - 1) /
                                                  kEvaluationBatch);
  for (std::size_t i = 0; i < images; ++i) {
    batches[i % batches.size()].push_back(static_cast<std::uint32_t>(i * rows / images));
  }
  return batches;
}

std::unique_ptr<Problem> make_resnet(const plugin::ResNetShape& shape,
                                     std::shared_ptr<const data::Task> task, double lambda) {
  return plain_errors([&] {
    const Normalisation normalisation = check_images(*task);
    return std::make_unique<ImageProblem>(ResNet(shape.depth, task->train.classes, shape.width),
                                          task, normalisation, lambda);
  });
}

}  // namespace tandem::deep
