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
  RankOne(const detail::TrainableSpec& spec, const Layout& layout, StateOwner owner)
      : TrainableEstimator<T>(spec),
        a_(layout, owner),
        b_(layout, owner),
        c_(layout, owner),
        gathered_(layout.blocks()),
        blocks_(layout.blocks()) {
    if (!spec.initial_c.empty()) c_ready_ = Ready::yes;
  }

  kernels::EstimatorStage stage() const override { return kernels::EstimatorStage::rank_one; }

  bool gather(const Step<T>& step, GatheredSums& out) override {
    const auto l2 = static_cast<T>(step.l2);
    gathered_.assign(gathered_.size(), {});
    for_blocks(step, [&](const Layout::Block& block, const Segment<T>& segment) {
      gathered_[block.index] = kernels_.rank_one_gather(
          segment.weights.data() + block.begin, segment.gradient.data() + block.begin,
          a_.part(block.segment) + block.begin, l2, block.count);
    });
    std::uint64_t hash = 0;
    for (const kernels::RankOneGather& block : gathered_) {
      out.ga += block.ga;
      hash = kernels::combine_hashes(hash, block.weights_hash);
    }
    const bool known = sums_known_ && sums_.weights_hash == hash;
    const kernels::PassSums sums = known ? sums_ : sums_from_nothing(step);
    out.cw = sums.cw;
    out.ww = sums.ww;
    out.aa = sums.aa;
    out.ab = sums.ab;
    if (c_ready_ != Ready::yes) {
      for (const Segment<T>& segment : step.segments) {
        const T* w = segment.weights.data();
        out.all_ww += kernels_.dot(w, w, segment.weights.size());
      }
    }
    // Any NaN or infinity in g makes a NaN or an infinity of its product, even with a zero, and
    // then of the sum.
    return std::isfinite(out.ga);
  }

  void ready(const Step<T>& step, const GatheredSums& totals,
             kernels::PassScalars<T>& scalars) override {
    const double s = c_ready_ == Ready::yes ? totals.cw : set_first_c(step, totals);
    const auto [alpha, beta] = this->rates(step);
    const double ww = totals.ww;
    const double q = totals.ga - s * totals.aa - totals.ab;
    double a_rate = alpha;
    double c_rate = alpha;
    if (this->normalize()) {
      a_rate = alpha / (this->spec().eps + s * s);
      c_rate = alpha / (this->spec().eps + totals.aa * ww);
      const double change = std::abs(c_rate * q * ww);
      const double most = alpha * std::abs(s);
      if (change > most) c_rate *= most / change;
    }
    scalars.beta = static_cast<T>(beta);
    scalars.s_before = static_cast<T>(s);
    scalars.s_after = static_cast<T>(s + c_rate * q * ww);
    scalars.a_step = static_cast<T>(a_rate * s);
    scalars.c_step = static_cast<T>(c_rate * q);
    this->last_.delta = a_rate * s * s + c_rate * totals.aa * ww + beta;
  }

  kernels::PassStreams<T> streams(std::size_t segment) override {
    kernels::PassStreams<T> streams;
    streams.first = a_.part(segment);
    streams.second = b_.part(segment);
    streams.third = c_.part(segment);
    return streams;
  }

  void finish(const Step<T>&, const Outcome& outcome) override {
    sums_ = total_of(outcome.sums);
    this->set_norms(sums_.residual2, sums_.gradient2);
    sums_known_ = outcome.scaled == 1 && !outcome.boxed;
  }

  void weights_changed() override { sums_known_ = false; }

  std::size_t state_bytes() const override { return a_.bytes() + b_.bytes() + c_.bytes(); }
  std::size_t workspace_bytes() const override {
    return gathered_.size() * sizeof(kernels::RankOneGather) +
           blocks_.size() * sizeof(kernels::PassSums);
  }

  void scalars(StateVisitor& visitor) override {
    visit_diagnostics(visitor, this->last_);
    visitor.small("c_known", c_ready_, 2);
    visitor.small("sums_known", sums_known_, 1);
    visitor.number("cw", sums_.cw);
    visitor.number("ww", sums_.ww);
    visitor.number("aa", sums_.aa);
    visitor.number("ab", sums_.ab);
    visitor.count("weights_hash", sums_.weights_hash);
  }
  void arrays(StateVisitor& visitor) override {
    visitor.array("a", a_);
    visitor.array("b", b_);
    visitor.array("c", c_);
  }
  void start() override {
    a_.start_from(this->spec().initial_a);
    b_.start_from(this->spec().initial_b);
    c_.start_from(this->spec().initial_c);
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
  /// which gradients differ, and w / |w|^2 of small weights would be huge. Gives c.w.
  double set_first_c(const Step<T>& step, const GatheredSums& totals) {
    if (!(totals.all_ww > 0)) {
      c_ready_ = Ready::when_moved;
      return 0;
    }
    const double scale =
        c_ready_ == Ready::when_moved ? 1 / std::sqrt(totals.all_ww) : 1 / totals.all_ww;
    for (std::size_t s = 0; s < step.segments.size(); ++s) {
      const std::span<T> weights = step.segments[s].weights;
      std::copy(weights.begin(), weights.end(), c_.part(s));
      kernels_.scale(c_.part(s), weights.size(), static_cast<T>(scale));
    }
    c_ready_ = Ready::yes;
    return scale * totals.ww;
  }

  kernels::PassSums sums_from_nothing(const Step<T>& step) {
    std::fill(blocks_.begin(), blocks_.end(), kernels::PassSums{});
    for_blocks(step, [&](const Layout::Block& block, const Segment<T>& segment) {
      kernels_.rank_one_sums(
          segment.weights.data() + block.begin, a_.part(block.segment) + block.begin,
          b_.part(block.segment) + block.begin, c_.part(block.segment) + block.begin, block.count,
          &blocks_[block.index]);
    });
    return total_of(blocks_);
  }

  static kernels::PassSums total_of(std::span<const kernels::PassSums> blocks) {
    kernels::PassSums total;
    for (const kernels::PassSums& block : blocks) {
      total.residual2 += block.residual2;
      total.gradient2 += block.gradient2;
      total.cw += block.cw;
      total.ww += block.ww;
      total.aa += block.aa;
      total.ab += block.ab;
      total.weights_hash = kernels::combine_hashes(total.weights_hash, block.weights_hash);
    }
    return total;
  }

  const kernels::Kernels<T>& kernels_ = kernels::kernels<T>();
  StateArray<T> a_;
  StateArray<T> b_;
  StateArray<T> c_;
  enum class Ready : std::uint8_t { no, yes, when_moved };  // as saved
  Ready c_ready_ = Ready::no;

  kernels::PassSums sums_;  // of the weights and the state as the last step left them
  bool sums_known_ = false;

  // of the step under way
  std::vector<kernels::RankOneGather> gathered_;
  std::vector<kernels::PassSums> blocks_;
};

}  // namespace

template <class T>
std::unique_ptr<Estimator<T>> make_rank_one(const detail::TrainableSpec& spec, const Layout& layout,
                                            StateOwner owner) {
  return std::make_unique<RankOne<T>>(spec, layout, owner);
}
template std::unique_ptr<Estimator<float>> make_rank_one(const detail::TrainableSpec&,
                                                         const Layout&, StateOwner);
template std::unique_ptr<Estimator<double>> make_rank_one(const detail::TrainableSpec&,
                                                          const Layout&, StateOwner);

}  // namespace tandem
