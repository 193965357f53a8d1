// SPDX-License-Identifier: MIT
// Full-TO's two exact forms: span equals dense, automatic switches without a trace and within its
// limit, and what a form cannot do is refused with the reason.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/executors.h"
#include "tests/harness.h"

namespace tandem::testing {
namespace {

using Invalid = std::invalid_argument;

FullTOOptions rates() {
  return {.lr = Schedule::exponential_steps(0.1, 0.7, 1000),
          .alpha = Schedule::exponential_steps(0.3, 0.5, 1000),
          .beta = 0.3};
}

FullTOOptions with_form(Form form, Projection projection = {}) {
  FullTOOptions options = rates();
  options.form = form;
  options.projection = projection;
  return options;
}

problems::Quadratic bowl(std::size_t dimension) {
  return bowl_for(record("full-to"), dimension, 67);
}

/// 2000 steps; 1e-5 is what a float dense form differs by from a double one, with room.
template <class T>
void expect_span_equals_dense(Projection projection, double tolerance) {
  const problems::Quadratic problem = bowl(250);
  const Layout layout = one_part(250);
  FullTO dense(250, with_form(Form::dense, projection));
  FullTO span(250, with_form(Form::span, projection));
  const Course expected = course_of<T>(dense, problem, layout, 2000, problem.start());
  const Course course = course_of<T>(span, problem, layout, 2000, problem.start());
  EXPECT_EQ(dense.form(), Form::dense);
  EXPECT_EQ(span.form(), Form::span);
  EXPECT_LE(difference(course, expected), tolerance);
  EXPECT_LE(diagnostics_difference(course, expected), 100 * tolerance);
}

TEST(Forms, span_equals_dense_in_float) { expect_span_equals_dense<float>({}, 1e-5); }
TEST(Forms, span_equals_dense_in_double) { expect_span_equals_dense<double>({}, 1e-9); }
TEST(Forms, span_equals_dense_in_a_ball_in_float) {
  expect_span_equals_dense<float>(Projection::ball(0.9), 1e-5);
}
TEST(Forms, span_equals_dense_in_a_ball_in_double) {
  expect_span_equals_dense<double>(Projection::ball(0.9), 1e-9);
}

FullTOOptions narrow(FullTOOptions options) {
  options.state = StateType::bfloat16;
  return options;
}

/// Bytes that the dense form holds after a step.
std::size_t dense_bytes(std::size_t d, const FullTOOptions& options = with_form(Form::dense)) {
  FullTO dense(d, options);
  std::vector<float> w(d, 0.01f), g(d, 0.01f);
  dense.step(w, g);
  return dense.state_bytes() + dense.workspace_bytes();
}

/// Runs automatic with `limit` beside dense; returns the step at which it went dense, 0 if never.
template <class T>
int expect_switch(std::size_t d, std::size_t limit, Projection projection, double tolerance) {
  const problems::Quadratic problem = bowl(d);
  FullTOOptions options = with_form(Form::automatic, projection);
  options.memory_limit = limit;
  FullTO automatic(d, options), dense(d, with_form(Form::dense, projection));
  Model<T> model(one_part(d), problem.start()), expected(one_part(d), problem.start());
  EXPECT_EQ(automatic.form(), Form::span) << automatic.form_reason();
  int switched = 0;
  double most_off = 0;
  std::size_t most_bytes = 0;
  for (int step = 1; step <= 800; ++step) {
    advance(automatic, model, problem, step, step);
    advance(dense, expected, problem, step, step);
    if (automatic.form() == Form::dense && switched == 0) switched = step;
    most_bytes = std::max(most_bytes, automatic.state_bytes() + automatic.workspace_bytes());
    most_off =
        std::max(most_off, difference(model.weights_as_double(), expected.weights_as_double()));
  }
  EXPECT_LE(most_bytes, limit);
  EXPECT_LE(most_off, tolerance);
  EXPECT_EQ(automatic.form(), Form::dense) << automatic.form_reason();
  EXPECT_FALSE(automatic.form_reason().empty());
  return switched;
}

TEST(Forms, automatic_goes_dense_in_the_middle) {
  const std::size_t d = 600, unlimited = std::size_t{1} << 30;
  for (const Projection& projection : {Projection::none(), Projection::ball(0.9)}) {
    const int by_cost = expect_switch<float>(d, unlimited, projection, 1e-5);
    EXPECT_GT(by_cost, 20);
    EXPECT_LT(by_cost, 600);
    expect_switch<double>(d, unlimited, projection, 1e-9);
  }
}

// The limit has room for the dense form and for a short history beside it at the moment of the
// switch.
TEST(Forms, automatic_goes_dense_when_memory_runs_short) {
  const std::size_t d = 600;
  const std::size_t limit = dense_bytes(d) * 3 / 2;
  for (const Projection& projection : {Projection::none(), Projection::ball(0.9)}) {
    const int by_memory = expect_switch<float>(d, limit, projection, 1e-5);
    EXPECT_GT(by_memory, 1);
    EXPECT_LT(by_memory, 300);  // without the limit it would go on
  }
}

TEST(Forms, limit_that_nothing_meets_is_refused_with_both_needs) {
  FullTOOptions options;
  options.memory_limit = 1000;
  EXPECT_TRUE(
      throws_saying<Invalid>([&] { FullTO(1000, options); }, {"dense", "span", "memory_limit"}));
  // 4 (d^2 + d) does not fit, and neither do 5000 residuals.
  options.memory_limit = 1000000;
  options.max_steps = 5000;
  EXPECT_TRUE(
      throws_saying<Invalid>([&] { FullTO(1000, options); }, {"dense", "span", "memory_limit"}));
  EXPECT_TRUE(throws_saying<Invalid>(
      [&] {
        make_optimizer("full-to", 1000, {{"memory_limit", "1000000"}, {"max_steps", "5000"}});
      },
      {"dense", "span", "memory_limit"}));
  // Nothing is allocated on the way: this would be 4e18 bytes.
  options.memory_limit = 1000000000;
  options.max_steps = 1000000000;
  EXPECT_THROW(FullTO(1000000000, options), Invalid);
  // A short run fits as a span.
  options.memory_limit = 1000000;
  options.max_steps = 50;
  EXPECT_EQ(FullTO(1000, options).form(), Form::span);
}

TEST(Forms, form_that_exceeds_the_limit_is_refused) {
  FullTOOptions options;
  options.memory_limit = 1000000;
  options.form = Form::dense;
  EXPECT_TRUE(throws_saying<Invalid>([&] { FullTO(1000, options); }, {"dense", "memory_limit"}));
  options.form = Form::span;
  options.max_steps = 5000;
  EXPECT_TRUE(throws_saying<Invalid>([&] { FullTO(1000, options); }, {"span", "memory_limit"}));
}

// No room for dense and no max_steps: the history runs into the limit in some step, which then
// changes nothing.
TEST(Forms, step_beyond_the_limit_changes_nothing) {
  const std::size_t d = 1000;
  const problems::Quadratic problem = bowl(d);
  for (const Form form : {Form::automatic, Form::span}) {
    FullTOOptions options = with_form(form);
    options.memory_limit = 1000000;
    FullTO optimizer(d, options);
    Model<float> model(one_part(d), problem.start());
    int step = 1;
    std::size_t most_bytes = 0;
    for (; step <= 300; ++step) {
      const std::vector<float> before = model.weights();
      const std::string state = saved(optimizer);
      try {
        advance(optimizer, model, problem, step, step);
      } catch (const MemoryLimitError& error) {
        EXPECT_NE(std::string(error.what()).find("memory_limit"), std::string::npos);
        EXPECT_TRUE(same_bits(model.weights(), before));
        EXPECT_TRUE(saved(optimizer) == state);
        break;
      }
      most_bytes = std::max(most_bytes, optimizer.state_bytes() + optimizer.workspace_bytes());
    }
    EXPECT_LE(most_bytes, options.memory_limit);
    EXPECT_GT(step, 20);
    EXPECT_LT(step, 250);  // 250 residuals of 4000 bytes are the limit
  }
}

// ---- Where span is not valid --------------------------------------------------------------------

struct Unfit {
  FullTOOptions options;
  std::vector<SegmentSpec> segments;
  std::string reason;  // what the message must name
};

std::vector<Unfit> unfit_for_span() {
  const std::vector<SegmentSpec> one = {{.size = 3}};
  FullTOOptions with_A = rates(), boxed = rates();
  with_A.initial_A = std::vector<double>(9, 0.1);
  boxed.projection = Projection::box(-1, 1);
  return {{with_A, one, "initial_A"},
          {boxed, one, "box"},
          {rates(), {{.size = 2}, {.size = 1, .lr = 0.2}}, "segments"},
          {rates(), {{.size = 2}, {.size = 1, .weight_decay = 0.2}}, "segments"}};
}

TEST(Forms, span_is_refused_with_the_reason) {
  for (Unfit& unfit : unfit_for_span()) {
    unfit.options.form = Form::span;
    EXPECT_TRUE(throws_saying<Invalid>([&] { FullTO(unfit.segments, unfit.options); },
                                       {"span", unfit.reason}))
        << unfit.reason;
  }
}

TEST(Forms, automatic_goes_dense_with_the_reason) {
  for (const Unfit& unfit : unfit_for_span()) {
    const FullTO optimizer(unfit.segments, unfit.options);
    EXPECT_EQ(optimizer.form(), Form::dense);
    EXPECT_NE(optimizer.form_reason().find(unfit.reason), std::string::npos)
        << optimizer.form_reason();
  }
}

// ---- Memory and threads -------------------------------------------------------------------------

TEST(Forms, bytes_of_a_history) {
  const std::size_t d = 20000;
  const problems::Quadratic problem = bowl(d);
  FullTO span(d, with_form(Form::span));
  Model<float> model(one_part(d), problem.start());
  for (int step = 1; step <= 100; ++step) {
    advance(span, model, problem, step, step);
    const std::size_t t = static_cast<std::size_t>(step);
    EXPECT_GE(span.state_bytes(), 4 * t * d);
    // The history in pieces of up to 64 residuals, t x t matrices in double, and a few vectors.
    EXPECT_LE(span.state_bytes(), 4 * (t + 63) * d + 32 * t * t + 64 * t + 40 * d + 4096);
  }
}

// A matrix in bfloat16 takes half: what is counted, what is planned, and what a limit has room for.
TEST(Forms, bytes_of_a_matrix_in_bfloat16) {
  for (const std::size_t d : {40, 511, 512, 1000}) {
    const FullTOOptions options = narrow(with_form(Form::dense));
    FullTO dense(d, options);
    std::vector<float> w(d, 0.01f), g(d, 0.01f);
    for (int step = 1; step <= 66; ++step) dense.step(w, g);  // the matrix is in use
    EXPECT_EQ(dense.state_bytes(), 2 * d * d + 4 * d);
    const std::size_t bytes = dense_bytes(d, options);
    EXPECT_LE(bytes, dense.most_bytes(66));
    EXPECT_LE(dense.most_bytes(66), bytes + bytes / 10 + 20000);
  }
  const std::size_t d = 1000;
  FullTOOptions options = with_form(Form::dense);
  options.memory_limit = 3'000'000;  // 2 d^2 and 130 vectors, but not 4 d^2
  EXPECT_THROW(FullTO(d, options), Invalid);
  EXPECT_EQ(FullTO(d, narrow(options)).form(), Form::dense);
  // 5000 residuals do not fit, the matrix does.
  options.form = Form::automatic;
  options.max_steps = 5000;
  EXPECT_THROW(FullTO(d, options), Invalid);
  EXPECT_EQ(FullTO(d, narrow(options)).form(), Form::dense);
}

/// The step at which automatic goes dense, and that it never holds more than was planned.
int switch_of(std::size_t d, const FullTOOptions& options) {
  const problems::Quadratic problem = bowl(d);
  FullTO optimizer(d, options);
  Model<float> model(one_part(d), problem.start());
  for (int step = 1; step <= 800; ++step) {
    advance(optimizer, model, problem, step, step);
    EXPECT_LE(optimizer.state_bytes() + optimizer.workspace_bytes(), options.memory_limit);
    EXPECT_LE(optimizer.state_bytes() + optimizer.workspace_bytes(), optimizer.most_bytes(800));
    if (optimizer.form() == Form::dense) return step;
  }
  return 0;
}

// A cheaper matrix is worth going to earlier; within a limit there is room for more history.
TEST(Forms, automatic_knows_that_a_matrix_in_bfloat16_is_cheaper) {
  const std::size_t d = 600;
  FullTOOptions options = with_form(Form::automatic);
  const int full = switch_of(d, options), half = switch_of(d, narrow(options));
  EXPECT_GT(half, 20);
  EXPECT_LT(half, full);
  options.memory_limit = dense_bytes(d) * 3 / 2;
  EXPECT_GT(switch_of(d, narrow(options)), switch_of(d, options));
}

std::vector<float> weights_with(std::shared_ptr<Executor> executor, std::size_t d,
                                const FullTOOptions& options, int steps) {
  const problems::Quadratic problem = bowl(d);
  FullTO optimizer(d, options);
  optimizer.set_executor(std::move(executor));
  Model<float> model(one_part(d, 1), problem.start());
  advance(optimizer, model, problem, 1, steps);
  return model.weights();
}

// 70 steps go over a flush of the delayed updates.
TEST(Forms, threads_do_not_change_a_bit_of_a_large_dense_one) {
  const FullTOOptions options = with_form(Form::dense);
  const std::vector<float> expected = weights_with(serial_executor(), 3000, options, 70);
  EXPECT_TRUE(same_bits(weights_with(pool_executor(2), 3000, options, 70), expected));
  EXPECT_TRUE(same_bits(weights_with(pool_executor(3), 3000, options, 70), expected));
  EXPECT_TRUE(
      same_bits(weights_with(std::make_shared<BackwardsExecutor>(5), 3000, options, 70), expected));
}

TEST(Forms, threads_do_not_change_a_bit_of_a_large_span) {
  const FullTOOptions options = with_form(Form::span, Projection::ball(0.9));
  const std::vector<float> expected = weights_with(serial_executor(), 300001, options, 12);
  EXPECT_TRUE(same_bits(weights_with(pool_executor(2), 300001, options, 12), expected));
  EXPECT_TRUE(same_bits(weights_with(pool_executor(3), 300001, options, 12), expected));
  EXPECT_TRUE(same_bits(weights_with(std::make_shared<BackwardsExecutor>(5), 300001, options, 12),
                        expected));
}

// A state saved before the switch, one after it, both resumed to the bit.
TEST(Forms, automatic_resumes_on_both_sides_of_the_switch) {
  const std::size_t d = 520;
  const int steps = 620;
  const problems::Quadratic problem = bowl(d);
  FullTO whole(d, rates());
  Model<float> model(one_part(d), problem.start());
  EXPECT_EQ(whole.form(), Form::span);
  advance(whole, model, problem, 1, steps);
  EXPECT_EQ(whole.form(), Form::dense);
  for (int saved_at = 5; saved_at < steps; saved_at += 61) {
    FullTO first(d, rates()), second(d, rates());
    Model<float> resumed(one_part(d), problem.start());
    advance(first, resumed, problem, 1, saved_at);
    load(second, saved(first));
    EXPECT_EQ(second.form(), first.form());
    advance(second, resumed, problem, saved_at + 1, steps);
    EXPECT_TRUE(same_bits(resumed.weights(), model.weights())) << saved_at;
    EXPECT_EQ(second.form(), whole.form());
  }
}

}  // namespace
}  // namespace tandem::testing
