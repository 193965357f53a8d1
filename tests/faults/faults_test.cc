// SPDX-License-Identifier: MIT
// Memory that runs out, at every place where it can: each request of a construction, a step, a save
// and a load fails in turn. Nothing may change, leak or crash, and the run goes on as if nothing had
// been.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/battery.h"
#include "tests/executors.h"
#include "tests/faults/failing_memory.h"

namespace tandem::testing {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>()>;

/// A run in which some steps are disturbed, beside one that is not.
struct Course {
  Layout layout;
  int steps;
  std::set<int> disturbed;
  std::set<int> moved = {};  // before these somebody else moves the weights
  std::shared_ptr<Executor> executor = serial_executor();
};

template <class T>
void expect_undisturbed(const Make& make, const problems::Objective& problem,
                        const Course& course) {
  const auto start = problem.start();
  Model<T> model(course.layout, start), other(course.layout, start);
  std::unique_ptr<Optimizer> optimizer = make();
  const std::unique_ptr<Optimizer> twin = make();
  optimizer->set_executor(course.executor);
  twin->set_executor(course.executor);
  std::size_t failures = 0;
  for (int step = 1; step <= course.steps; ++step) {
    if (course.moved.contains(step)) {
      model.weight(0, 0) += T(0.125);
      other.weight(0, 0) += T(0.125);
    }
    model.differentiate(problem, static_cast<std::uint64_t>(step));
    if (course.disturbed.contains(step)) {
      const std::vector<T> weights = model.weights();
      const std::string state = saved(*optimizer);
      const Diagnostics last = optimizer->last();
      const std::vector<Segment<T>> segments = model.segments();
      const std::size_t count = fail_each_request(
          [&] { optimizer->step(std::span<const Segment<T>>(segments)); },
          [&](std::size_t n, bool threw) {
            ASSERT_TRUE(threw) << "step " << step << " went on without memory, request " << n;
            ASSERT_TRUE(same_bits(model.weights(), weights))
                << "step " << step << ", request " << n;
            ASSERT_TRUE(saved(*optimizer) == state) << "step " << step << ", request " << n;
            ASSERT_TRUE(last.delta == optimizer->last().delta || std::isnan(last.delta));
          });
      failures += count;
      if (::testing::Test::HasFatalFailure()) return;
    } else {
      model.apply(*optimizer);
    }
    other.step(*twin, problem, static_cast<std::uint64_t>(step));
    ASSERT_TRUE(same_bits(model.weights(), other.weights())) << step;
    ASSERT_TRUE(saved(*optimizer) == saved(*twin)) << step;
    if (step % steps_per_epoch == 0) {
      optimizer->epoch_end();
      twin->epoch_end();
    }
  }
  EXPECT_GT(failures, 0u);  // the first step allocates the state

  // A save that fails, and a load into an optimizer with a state of its own and into a new one.
  const std::string state = saved(*twin);
  fail_each_request(
      [&] {
        std::ostringstream stream;
        optimizer->save(stream);
      },
      [&](std::size_t n, bool) { ASSERT_TRUE(saved(*optimizer) == state) << "save, " << n; });
  const std::unique_ptr<Optimizer> fresh = make();
  fresh->set_executor(course.executor);
  const std::string nothing = saved(*fresh);
  for (Optimizer* target : {optimizer.get(), fresh.get()}) {
    const std::string before = target == fresh.get() ? nothing : state;
    fail_each_request(
        [&] {
          std::istringstream stream(state);
          target->load(stream);
        },
        [&](std::size_t n, bool threw) {
          ASSERT_TRUE(threw) << "load, " << n;
          ASSERT_TRUE(saved(*target) == before) << "load, " << n;
        });
  }
  Model<T> resumed = model;
  advance(*optimizer, model, problem, course.steps + 1, course.steps + 3);
  advance(*fresh, resumed, problem, course.steps + 1, course.steps + 3);
  advance(*twin, other, problem, course.steps + 1, course.steps + 3);
  EXPECT_TRUE(same_bits(model.weights(), other.weights()));
  EXPECT_TRUE(same_bits(resumed.weights(), other.weights()));
}

/// The same, after which all memory has been given back.
template <class T>
void expect_no_trace(const Make& make, const problems::Objective& problem, const Course& course) {
  const auto once = [&] {
    // The first time fills what lives as long as the program.
    make();
    fail_each_request([&] { make(); }, [](std::size_t, bool threw) { ASSERT_TRUE(threw); });
    expect_undisturbed<T>(make, problem, course);
  };
  once();
  if (::testing::Test::HasFailure()) return;
  const std::ptrdiff_t before = live_blocks();
  once();
  EXPECT_EQ(live_blocks(), before);
}

class Faults : public Battery {
 protected:
  template <class T>
  void run(const OptionSet& set, const Course& course) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float, " : " double, ") +
                 std::to_string(course.layout.parts.size()) + " parts, dimension " +
                 std::to_string(course.layout.dimension()));
    const problems::Quadratic problem = bowl_for(it(), course.layout.dimension());
    expect_no_trace<T>([&] { return make(it(), set, course.layout.specs()); }, problem, course);
  }
};

TEST_P(Faults, change_nothing) {
  for (const OptionSet& set : it().sets) {
    run<float>(set, {one_part(37), 5, {1, 2, 3, 5}, {3, 5}});
    run<double>(set, {many_parts(101, 1), 5, {1, 2, 3, 5}, {3, 5}});
  }
}

// Where the work is split: as for four threads, all of it on this one, and by real ones.
TEST_P(Faults, change_nothing_where_work_is_shared) {
  if (it().name == "full-to") GTEST_SKIP() << "has tests of its own";
  for (const OptionSet& set : it().sets) {
    if (set.label == "block_100_normalized_box") continue;  // 28 MB of state
    run<float>(set, {one_part(70001), 2, {1, 2}, {2}, std::make_shared<BackwardsExecutor>(4)});
  }
  run<float>(it().sets[0], {one_part(70001), 2, {1, 2}, {2}, pool_executor(2)});
}

// Segments with rates of their own, one of which is left out.
TEST_P(Faults, change_nothing_in_segments) {
  const OptionSet& set = it().sets[0];
  const Layout layout = with_own_rates(many_parts(300), 0.05);
  run<float>(set, {layout, 3, {1, 2, 3}, {2}});
}

// bfloat16 weights, which rules that need all of them at once widen into a workspace.
TEST_P(Faults, change_no_bfloat16_weights) {
  for (const OptionSet& set : it().sets) {
    const auto optimizer = make(it(), set, 50);
    const auto twin = make(it(), set, 50);
    std::vector<BFloat16> weights(50, BFloat16{0x3f80}), gradient(50, BFloat16{0x3e00});
    std::vector<BFloat16> other = weights;
    const auto same = [](const std::vector<BFloat16>& x, const std::vector<BFloat16>& y) {
      return std::equal(x.begin(), x.end(), y.begin(),
                        [](BFloat16 a, BFloat16 b) { return a.bits == b.bits; });
    };
    for (int step = 1; step <= 3; ++step) {
      const std::vector<BFloat16> before = weights;
      const std::string state = saved(*optimizer);
      const Segment<BFloat16> segment{weights, gradient};
      fail_each_request(
          [&] { optimizer->step(std::span<const Segment<BFloat16>>(&segment, 1)); },
          [&](std::size_t n, bool threw) {
            ASSERT_TRUE(threw) << n;
            ASSERT_TRUE(same(weights, before)) << set.label << " step " << step << ", " << n;
            ASSERT_TRUE(saved(*optimizer) == state) << set.label << " step " << step << ", " << n;
          });
      const Segment<BFloat16> twins{other, gradient};
      twin->step(std::span<const Segment<BFloat16>>(&twins, 1));
      ASSERT_TRUE(same(weights, other)) << set.label << " step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(records, Faults, ::testing::ValuesIn(record_names()), name_of);

// ---- Full-TO where its matrix is not small: dense with delayed updates, span with a history -------

FullTOOptions options(Form form, const Projection& projection) {
  return {.lr = 0.1, .alpha = 0.05, .beta = 0.2, .form = form, .projection = projection};
}

template <class T>
void expect_no_trace_of_full_to(std::size_t dimension, const FullTOOptions& given,
                                const Course& course) {
  const problems::Quadratic problem = bowl_for(record("full-to"), dimension);
  expect_no_trace<T>([&] { return std::make_unique<FullTO>(course.layout.specs(), given); },
                     problem, course);
}

// The 65th step adds 64 delayed updates to the matrix.
TEST(FaultsOfFullTO, change_nothing_when_dense_takes_its_delayed_updates) {
  for (const Projection& projection : {Projection::none(), Projection::ball(0.9)}) {
    expect_no_trace_of_full_to<float>(600, options(Form::dense, projection),
                                      {one_part(600), 66, {1, 2, 64, 65, 66}});
  }
  expect_no_trace_of_full_to<double>(520, options(Form::dense, Projection::none()),
                                     {many_parts(520, 1), 66, {1, 64, 65, 66}});
}

TEST(FaultsOfFullTO, change_nothing_where_work_is_shared) {
  expect_no_trace_of_full_to<float>(
      1100, options(Form::dense, Projection::ball(0.9)),
      {one_part(1100), 66, {1, 2, 65}, {}, std::make_shared<BackwardsExecutor>(4)});
  expect_no_trace_of_full_to<float>(
      70001, options(Form::span, Projection::ball(0.9)),
      {one_part(70001), 8, {1, 2, 5, 6, 8}, {5, 6}, std::make_shared<BackwardsExecutor>(4)});
  expect_no_trace_of_full_to<float>(70001, options(Form::span, Projection::none()),
                                    {one_part(70001), 3, {1, 2, 3}, {3}, pool_executor(2)});
}

// Every step up to 70: the history's vectors, their lists and the bookkeeping grow at many of them.
TEST(FaultsOfFullTO, change_nothing_while_the_history_grows) {
  std::set<int> all;
  for (int step = 1; step <= 70; ++step) all.insert(step);
  const std::set<int> moved = {2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  for (const Projection& projection : {Projection::none(), Projection::ball(0.9)}) {
    expect_no_trace_of_full_to<float>(600, options(Form::span, projection),
                                      {many_parts(600), 70, all, moved});
  }
  expect_no_trace_of_full_to<double>(5000, options(Form::span, Projection::ball(0.9)),
                                     {one_part(5000), 40, {1, 2, 8, 9, 16, 17, 33}, moved});
  FullTOOptions started = options(Form::span, Projection::none());
  started.initial_b.assign(600, 0.01);
  expect_no_trace_of_full_to<float>(600, started, {one_part(600), 20, {1, 2, 3, 4, 8, 9}, {3}});
}

// The step in which the span form becomes the dense one.
TEST(FaultsOfFullTO, change_nothing_when_the_form_changes) {
  const std::size_t d = 600;
  FullTOOptions given = options(Form::automatic, Projection::none());
  given.memory_limit = 4 * d * d * 2;
  const problems::Quadratic problem = bowl_for(record("full-to"), d);
  FullTO scout(d, given);
  Model<float> model(one_part(d), problem.start());
  int changed = 0;
  while (scout.form() == Form::span && changed < 400) {
    ++changed;
    advance(scout, model, problem, changed, changed);
  }
  ASSERT_EQ(scout.form(), Form::dense) << scout.form_reason();
  ASSERT_GT(changed, 2);
  expect_no_trace_of_full_to<float>(
      d, given, {one_part(d), changed + 2, {changed - 1, changed, changed + 1}, {changed}});
}

}  // namespace
}  // namespace tandem::testing
