// SPDX-License-Identifier: MIT
// RO-TO's estimator, Algorithm 3 of the paper: A = a c^T.
//
// With s = c.w and q = r.a = g.a - s |a|^2 - b.a the corrected product is c'.w = s + alpha q |w|^2,
// so that one pass can do the rest. All scalars but g.a are summed up by the pass of the step
// before; they hold while nobody else moves the weights, which a hash of the weights tells. The
// gather phase reads w, g and a; the pass reads w, g, a, b, c and writes w, a, b, c.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/hash.h"
#include "kernels/kernels.h"
#include "optimizers/estimator.h"

namespace tandem {
namespace {

template <class T>
class RankOne : public TrainableEstimator<T> {
 public:
  RankOne(const detail::TrainableSpec& spec, const Layout& layout)
      : TrainableEstimator<T>(spec),
        a_(layout.dimension()),
        b_(layout.dimension()),
        c_(layout.dimension()),
        gathered_(layout.blocks()),
        blocks_(layout.blocks()) {
    fill_from<T>(spec.initial_a, a_);
    fill_from<T>(spec.initial_b, b_);
    fill_from<T>(spec.initial_c, c_);
    if (!spec.initial_c.empty()) c_ready_ = Ready::yes;
  }

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::rank_one; }

  bool screen(const Step<T>& step) override {
    const auto l2 = static_cast<T>(step.l2);
    gathered_.assign(gathered_.size(), {});
    for_blocks(step, [&](const Layout::Block& block, const Segment<T>& segment) {
      gathered_[block.index] = kernels_.rank_one_gather(segment.weights.data() + block.begin,
                                                        segment.gradient.data() + block.begin,
                                                        a_.data() + block.flat, l2, block.count);
    });
    ga_ = 0;
    seen_hash_ = 0;
    for (const kernels::RankOneGather& block : gathered_) {
      ga_ += block.ga;
      seen_hash_ = kernels::combine_hashes(seen_hash_, block.weights_hash);
    }
    // Any NaN or infinity in g makes a NaN or an infinity of its product, even with a zero, and
    // then of the sum.
    return std::isfinite(ga_);
  }

  void gather(const Step<T>& step, kernels::PassScalars<T>& scalars) override {
    if (c_ready_ != Ready::yes) set_first_c(step);
    if (!sums_known_ || sums_.weights_hash != seen_hash_) sum_from_nothing(step);

    const auto [alpha, beta] = this->rates(step);
    const double s = sums_.cw;
    const double ww = sums_.ww;
    const double q = ga_ - s * sums_.aa - sums_.ab;
    double a_rate = alpha;
    double c_rate = alpha;
    if (this->normalize()) {
      a_rate = alpha / (this->spec().eps + s * s);
      c_rate = alpha / (this->spec().eps + sums_.aa * ww);
      const double change = std::abs(c_rate * q * ww);
      const double most = alpha * std::abs(s);
      if (change > most) c_rate *= most / change;
    }
    scalars.beta = static_cast<T>(beta);
    scalars.s_before = static_cast<T>(s);
    scalars.s_after = static_cast<T>(s + c_rate * q * ww);
    scalars.a_step = static_cast<T>(a_rate * s);
    scalars.c_step = static_cast<T>(c_rate * q);
    this->last_.delta = a_rate * s * s + c_rate * sums_.aa * ww + beta;
  }

  kernels::PassStreams<T> streams() override {
    kernels::PassStreams<T> streams;
    streams.first = a_.data();
    streams.second = b_.data();
    streams.third = c_.data();
    return streams;
  }

  void finish(const Step<T>&, const Outcome& outcome) override {
    set_sums(outcome.sums);
    this->set_norms(sums_.residual2, sums_.gradient2);
    sums_known_ = outcome.scaled == 1 && !outcome.boxed;
  }

  void weights_changed() override { sums_known_ = false; }

  std::size_t state_bytes() const override { return a_.bytes() + b_.bytes() + c_.bytes(); }
  std::size_t workspace_bytes() const override {
    return gathered_.size() * sizeof(kernels::RankOneGather) +
           blocks_.size() * sizeof(kernels::PassSums);
  }

  void save(StateWriter& writer) const override {
    this->save_last(writer);
    writer.count("c_known", static_cast<std::uint64_t>(c_ready_));
    writer.count("sums_known", sums_known_ ? 1 : 0);
    writer.number("cw", sums_.cw);
    writer.number("ww", sums_.ww);
    writer.number("aa", sums_.aa);
    writer.number("ab", sums_.ab);
    writer.count("weights_hash", sums_.weights_hash);
    writer.array("a", a_.span());
    writer.array("b", b_.span());
    writer.array("c", c_.span());
  }
  void load(StateReader& reader) override {
    this->load_last(reader);
    c_ready_ = static_cast<Ready>(reader.count("c_known", 2));
    sums_known_ = reader.count("sums_known", 1) == 1;
    sums_.cw = reader.number("cw");
    sums_.ww = reader.number("ww");
    sums_.aa = reader.number("aa");
    sums_.ab = reader.number("ab");
    sums_.weights_hash = reader.count("weights_hash");
    reader.array("a", a_.span());
    reader.array("b", b_.span());
    reader.array("c", c_.span());
  }

 private:
  /// Those that are not left out.
  template <class Body>
  void for_blocks(const Step<T>& step, const Body& body) {
    parallel_ranges(step.executor, step.layout.blocks(), kBlocksPerThread,
                    [&](std::size_t first, std::size_t last) {
                      step.layout.for_blocks(first, last, [&](const Layout::Block& block) {
                        const Segment<T>& segment = step.segments[block.segment];
                        if (!left_out(segment)) body(block, segment);
                      });
                    });
  }

  /// c_0 = w_1 / |w_1|^2, so that c_0.w_1 = 1; with a = c = 0 neither would ever move. Where
  /// w_1 = 0, c is w / |w| when the weights have moved: the direction in which they move is one in
  /// which gradients differ, and w / |w|^2 of small weights would be huge.
  void set_first_c(const Step<T>& step) {
    double ww = 0;
    for (const Segment<T>& segment : step.segments) {
      ww += kernels_.dot(segment.weights.data(), segment.weights.data(), segment.weights.size());
    }
    if (ww > 0) {
      const double scale = c_ready_ == Ready::when_moved ? 1 / std::sqrt(ww) : 1 / ww;
      flatten_weights(step, c_.data());
      kernels_.scale(c_.data(), c_.size(), static_cast<T>(scale));
      c_ready_ = Ready::yes;
      sums_known_ = false;
    } else {
      c_ready_ = Ready::when_moved;
    }
  }

  void sum_from_nothing(const Step<T>& step) {
    std::fill(blocks_.begin(), blocks_.end(), kernels::PassSums{});
    for_blocks(step, [&](const Layout::Block& block, const Segment<T>& segment) {
      kernels_.rank_one_sums(segment.weights.data() + block.begin, a_.data() + block.flat,
                             b_.data() + block.flat, c_.data() + block.flat, block.count,
                             &blocks_[block.index]);
    });
    set_sums(blocks_);
  }

  void set_sums(std::span<const kernels::PassSums> blocks) {
    sums_ = {};
    for (const kernels::PassSums& block : blocks) {
      sums_.residual2 += block.residual2;
      sums_.gradient2 += block.gradient2;
      sums_.cw += block.cw;
      sums_.ww += block.ww;
      sums_.aa += block.aa;
      sums_.ab += block.ab;
      sums_.weights_hash = kernels::combine_hashes(sums_.weights_hash, block.weights_hash);
    }
    sums_known_ = true;
  }

  const kernels::Kernels<T>& kernels_ = kernels::kernels<T>();
  Buffer<T> a_;
  Buffer<T> b_;
  Buffer<T> c_;
  enum class Ready : std::uint8_t { no, yes, when_moved };  // as saved
  Ready c_ready_ = Ready::no;

  kernels::PassSums sums_;  // of the weights and the state as the last step left them
  bool sums_known_ = false;

  // of the step under way
  std::vector<kernels::RankOneGather> gathered_;
  std::vector<kernels::PassSums> blocks_;
  double ga_ = 0;
  std::uint64_t seen_hash_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_rank_one(const detail::TrainableSpec& spec,
                                            const Layout& layout) {
  return std::make_unique<RankOne<T>>(spec, layout);
}
template std::unique_ptr<Estimator<float>> make_rank_one(const detail::TrainableSpec&,
                                                         const Layout&);
template std::unique_ptr<Estimator<double>> make_rank_one(const detail::TrainableSpec&,
                                                          const Layout&);

}  // namespace tandem
