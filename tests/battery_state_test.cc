// SPDX-License-Identifier: MIT
// Saved states: resumed runs give the same bits; what is damaged, truncated or foreign is refused
// with a reason and changes nothing.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <tandem/tandem.h>

#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/battery.h"

namespace tandem::testing {
namespace {

/// An optimizer, a model and the problem that they are at.
template <class T>
struct Training {
  Training(const Record& record, const OptionSet& set, const problems::Objective& bowl)
      : optimizer(make(record, set, bowl.dimension())),
        model(one_part(bowl.dimension()), bowl.start()),
        problem(bowl) {}

  void advance_to(int step) {
    advance(*optimizer, model, problem, done + 1, step);
    done = step;
  }

  std::unique_ptr<Optimizer> optimizer;
  Model<T> model;
  const problems::Objective& problem;
  int done = 0;
};

class State : public Battery {
 protected:
  /// Saves after `first` steps, and goes on in another optimizer that made `wrong` steps before.
  template <class T>
  void resume(const OptionSet& set, int first, int last, int wrong) const {
    SCOPED_TRACE(set.label + (sizeof(T) == 4 ? " float, " : " double, ") + std::to_string(first) +
                 " to " + std::to_string(last) + " steps, over " + std::to_string(wrong));
    const problems::Quadratic problem = bowl_for(it(), 37);
    Training<T> without(it(), set, problem), with(it(), set, problem), after(it(), set, problem);
    without.advance_to(last);

    with.advance_to(first);
    std::stringstream stream;
    stream << "before ";
    with.optimizer->save(stream);
    stream << " after";
    // Saving changes nothing.
    Model<T> resumed = with.model;
    with.advance_to(last);
    EXPECT_TRUE(same_bits(with.model.weights(), without.model.weights()));

    after.advance_to(wrong);
    std::string word;
    stream >> word;
    EXPECT_EQ(stream.get(), ' ');
    after.optimizer->load(stream);
    EXPECT_EQ(after.optimizer->clock().step, static_cast<std::uint64_t>(first) + 1);
    EXPECT_EQ(after.optimizer->clock().epoch, static_cast<std::uint64_t>(first) / steps_per_epoch);
    stream >> word;
    EXPECT_EQ(word, "after");
    advance(*after.optimizer, resumed, problem, first + 1, last);
    EXPECT_TRUE(same_bits(resumed.weights(), without.model.weights()));
    EXPECT_TRUE(saved(*after.optimizer) == saved(*without.optimizer));
  }

  /// Asserts that none of `states` can be loaded and that the attempts leave no trace.
  void expect_refused(const OptionSet& set, const std::vector<std::string>& states) const {
    const problems::Quadratic problem = bowl_for(it(), 5);
    Training<float> tried(it(), set, problem), twin(it(), set, problem);
    tried.advance_to(6);
    twin.advance_to(6);
    const std::string before = saved(*tried.optimizer);
    for (std::size_t k = 0; k < states.size(); ++k) {
      try {
        load(*tried.optimizer, states[k]);
        FAIL() << "state " << k << " of " << states[k].size() << " bytes was loaded";
      } catch (const StateError& error) {
        ASSERT_GT(std::strlen(error.what()), 10u);
      }
      ASSERT_TRUE(saved(*tried.optimizer) == before) << "state " << k;
    }
    tried.advance_to(30);
    twin.advance_to(30);
    EXPECT_TRUE(same_bits(tried.model.weights(), twin.model.weights()));

    // Nor in an optimizer that has not stepped.
    Training<float> fresh(it(), set, problem);
    for (std::size_t k = 0; k < states.size(); k += 1 + states.size() / 20)
      EXPECT_THROW(load(*fresh.optimizer, states[k]), StateError) << k;
    fresh.advance_to(30);
    EXPECT_TRUE(same_bits(fresh.model.weights(), twin.model.weights()));
  }

  std::string state_of(const OptionSet& set, std::size_t dimension, int steps) const {
    const problems::Quadratic problem = bowl_for(it(), dimension);
    Training<float> run(it(), set, problem);
    run.advance_to(steps);
    return saved(*run.optimizer);
  }
};

TEST_P(State, resumes_to_the_bit_at_random_points) {
  std::mt19937 random(41);
  for (const OptionSet& set : it().sets) {
    resume<float>(set, 0, 10, 0);
    resume<double>(set, 0, 10, 0);
    for (int k = 0; k < 4; ++k) {
      const int first = static_cast<int>(random() % 150), more = static_cast<int>(random() % 80);
      const int wrong = k % 2 == 0 ? 0 : static_cast<int>(random() % 90);
      resume<float>(set, first, first + 1 + more, wrong);
      resume<double>(set, first, first + 1 + more, wrong);
    }
  }
}

TEST_P(State, loaded_state_decides_the_type) {
  const problems::Quadratic problem = bowl_for(it(), 5);
  Training<double> run(it(), it().sets[0], problem);
  run.advance_to(3);
  const auto optimizer = make(it(), it().sets[0], 5);
  load(*optimizer, saved(*run.optimizer));
  std::vector<float> w(5, 1), g(5, 1);
  EXPECT_THROW(optimizer->step(w, g), std::invalid_argument);
  std::vector<double> w2(5, 1), g2(5, 1);
  EXPECT_NO_THROW(optimizer->step(w2, g2));
}

TEST_P(State, truncated_anywhere_is_refused) {
  for (const OptionSet& set : it().sets) {
    SCOPED_TRACE(set.label);
    const std::string state = state_of(set, 5, 9);
    std::vector<std::string> states;
    const std::size_t stride = 1 + state.size() / 500;
    for (std::size_t size = 0; size < state.size(); size += size < 128 ? 1 : stride)
      states.push_back(state.substr(0, size));
    for (std::size_t less = 1; less <= 16; ++less)
      states.push_back(state.substr(0, state.size() - less));
    expect_refused(set, states);
  }
}

TEST_P(State, flipped_bits_are_refused) {
  std::mt19937 random(43);
  for (const OptionSet& set : it().sets) {
    SCOPED_TRACE(set.label);
    const std::string state = state_of(set, 5, 9);
    std::vector<std::string> states;
    const auto flip = [&](std::size_t byte) {
      states.push_back(state);
      states.back()[byte] = static_cast<char>(states.back()[byte] ^ (1 << random() % 8));
    };
    for (std::size_t byte = 0; byte < std::min<std::size_t>(128, state.size()); ++byte) flip(byte);
    for (int k = 0; k < 200; ++k) flip(random() % state.size());
    for (std::size_t back = 1; back <= 16; ++back) flip(state.size() - back);
    expect_refused(set, states);
  }
}

TEST_P(State, foreign_bytes_are_refused) {
  std::mt19937 random(47);
  std::string noise(10000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  const std::string state = state_of(it().sets[0], 5, 9);
  expect_refused(it().sets[0],
                 {"", "x", std::string(1, '\0'), std::string(5000, '\0'), std::string(5000, '\xff'),
                  noise, "{\"state\": {}}\n", "\x89PNG\r\n\x1a\n" + noise, "x" + state,
                  state.substr(1), state.substr(state.size() / 2), state.substr(0, 16) + state});
}

TEST_P(State, of_another_rule_or_dimension_is_refused) {
  std::vector<std::string> states;
  for (const Record& other : records()) {
    if (other.name == it().name) continue;
    const problems::Quadratic problem = bowl_for(other, 5);
    Training<float> run(other, other.sets[0], problem);
    run.advance_to(9);
    states.push_back(saved(*run.optimizer));
  }
  for (const std::size_t d : {1, 4, 6, 10, 50}) states.push_back(state_of(it().sets[0], d, 9));
  expect_refused(it().sets[0], states);
}

/// The process's largest resident size so far, in bytes.
std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

// Whatever field holds a size, it now asks for far more than there is.
TEST_P(State, huge_sizes_are_refused_without_allocating_them) {
  const std::size_t before = peak_memory();
  for (const OptionSet& set : it().sets) {
    SCOPED_TRACE(set.label);
    const std::string state = state_of(set, 5, 9);
    std::vector<std::string> states;
    for (const std::uint64_t huge : {~std::uint64_t{0}, std::uint64_t{1} << 62,
                                     std::uint64_t{1} << 40, std::uint64_t{1} << 33})
      for (std::size_t at = 0; at + 8 <= std::min<std::size_t>(160, state.size()); at += 4) {
        states.push_back(state);
        if (std::memcmp(states.back().data() + at, &huge, 8) == 0) {
          states.pop_back();
          continue;
        }
        std::memcpy(states.back().data() + at, &huge, 8);
      }
    expect_refused(set, states);
  }
  // A sanitizer keeps freed memory for a while; a gigabyte is beyond that and below 2^33 elements.
  EXPECT_LT(peak_memory() - before, std::size_t{1} << 30);
}

TEST_P(State, stream_that_has_failed_is_refused) {
  const std::string state = state_of(it().sets[0], 5, 9);
  const auto optimizer = make(it(), it().sets[0], 5);
  std::istringstream stream(state);
  stream.setstate(std::ios::failbit);
  EXPECT_THROW(optimizer->load(stream), StateError);
  EXPECT_EQ(optimizer->clock(), Clock{});
}

INSTANTIATE_TEST_SUITE_P(records, State, ::testing::ValuesIn(record_names()), name_of);

}  // namespace
}  // namespace tandem::testing
