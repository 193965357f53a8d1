// SPDX-License-Identifier: MIT
// The number of threads, their order and how the weights are cut into segments do not matter.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/battery.h"
#include "tests/executors.h"

namespace tandem::testing {
namespace {

using Executors = std::vector<std::pair<std::string, std::shared_ptr<Executor>>>;

Executors all_executors() {
  return {{"pool 1", pool_executor(1)},
          {"pool 2", pool_executor(2)},
          {"pool 3", pool_executor(3)},
          {"pool", pool_executor()},
          {"3 threads", std::make_shared<ThreadsExecutor>(3)},
          {"backwards", std::make_shared<BackwardsExecutor>(5)}};
}

/// Large enough for threads to be used. Full-TO's matrix is large earlier; 80 steps go over a flush
/// of its delayed updates.
struct Size {
  std::size_t dimension;
  int steps;
};
Size threaded_size(const Record& record) {
  return record.name == "full-to" ? Size{4000, 200} : Size{300001, 4};
}

template <class T>
std::vector<T> final_weights(const Record& record, const OptionSet& set, const Layout& layout,
                             int steps, std::shared_ptr<Executor> executor, std::string* state) {
  const problems::Quadratic problem = bowl_for(record, layout.dimension(), 29);
  const auto optimizer = make(record, set, layout.specs());
  optimizer->set_executor(std::move(executor));
  Model<T> model(layout, problem.start());
  advance(*optimizer, model, problem, 1, steps);
  *state = saved(*optimizer);
  return model.weights();
}

class Threads : public Battery {
 protected:
  template <class T>
  void run(const OptionSet& set) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float" : " double"));
    const auto [d, steps] = threaded_size(it());
    std::string expected_state, state;
    const Layout layout = many_parts(d, 1);
    const std::vector<T> expected =
        final_weights<T>(it(), set, layout, steps, serial_executor(), &expected_state);
    for (const auto& [name, executor] : all_executors()) {
      EXPECT_TRUE(same_bits(final_weights<T>(it(), set, layout, steps, executor, &state), expected))
          << name;
      EXPECT_TRUE(state == expected_state) << name;
    }
  }
};

TEST_P(Threads, do_not_change_a_bit) {
  for (std::size_t k = 0; k < 2; ++k) run<float>(it().sets[k]);
  run<double>(it().sets[1]);
}

TEST_P(Threads, are_used_where_they_pay) {
  const auto [d, steps] = threaded_size(it());
  const problems::Quadratic problem = bowl_for(it(), d);
  const auto executor = std::make_shared<BackwardsExecutor>(4);
  const auto optimizer = make(it(), it().sets[0], d);
  optimizer->set_executor(executor);
  Model<float> model(one_part(d), problem.start());
  advance(*optimizer, model, problem, 1, steps);
  EXPECT_GT(executor->most_tasks, 1u);
}

TEST_P(Threads, are_left_alone_on_small_problems) {
  const std::size_t d = it().name == "full-to" ? 64 : 1000;
  const problems::Quadratic problem = bowl_for(it(), d);
  const auto executor = std::make_shared<BackwardsExecutor>(4);
  const auto optimizer = make(it(), it().sets[0], d);
  optimizer->set_executor(executor);
  Model<float> model(one_part(d), problem.start());
  advance(*optimizer, model, problem, 1, 3);
  EXPECT_LE(executor->most_tasks, 1u);
}

// The executor of optimizers that are given none.
TEST(DefaultExecutor, is_used_by_optimizers_made_afterwards) {
  const auto before = default_executor();
  const auto executor = std::make_shared<BackwardsExecutor>(4);
  SGD early(300001);
  set_default_executor(executor);
  SGD late(300001);
  set_default_executor(before);
  std::vector<float> w(300001, 1), g(300001, 1);
  early.step(w, g);
  EXPECT_EQ(executor->most_tasks, 0u);
  late.step(w, g);
  EXPECT_GT(executor->most_tasks, 1u);
}

class Segments : public Battery {
 protected:
  template <class T>
  void run(const OptionSet& set, std::size_t d) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float " : " double ") + std::to_string(d));
    const problems::Quadratic problem = bowl_for(it(), d, 31);
    const int steps = 100;
    const auto whole = make(it(), set, d);
    const auto cut = make(it(), set, many_parts(d).specs());
    const Course expected = course_of<T>(*whole, problem, one_part(d), steps, problem.start());
    const Course course = course_of<T>(*cut, problem, many_parts(d), steps, problem.start());
    const double tolerance = sizeof(T) == 4 ? it().float_tolerance : it().double_tolerance;
    EXPECT_LE(difference(course, expected), tolerance);
  }
};

TEST_P(Segments, are_stepped_as_one_vector) {
  for (const OptionSet& set : it().sets)
    for (const std::size_t d : {5, 257, 600}) {
      run<float>(set, d);
      run<double>(set, d);
    }
}

// Segments that hold one element each.
TEST_P(Segments, may_be_as_small_as_a_weight) {
  const std::size_t d = 40;
  const problems::Quadratic problem = bowl_for(it(), d, 37);
  Layout singles;
  for (std::size_t i = 0; i < d; ++i) singles.parts.push_back({.size = 1});
  for (const OptionSet& set : it().sets) {
    SCOPED_TRACE(set.label);
    const auto optimizer = make(it(), set, singles.specs());
    const Course course = course_of<double>(*optimizer, problem, singles, 60, problem.start());
    const Course expected = reference_course(set, problem, one_part(d), 60, problem.start());
    EXPECT_LE(difference(course, expected), it().double_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(records, Threads, ::testing::ValuesIn(record_names()), name_of);
INSTANTIATE_TEST_SUITE_P(records, Segments, ::testing::ValuesIn(record_names()), name_of);

}  // namespace
}  // namespace tandem::testing
