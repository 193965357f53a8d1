// SPDX-License-Identifier: MIT
// Memory that runs out behind the C interface: every request of every call fails in turn. The call
// says so, weights and state stay, and the next call works. Steps that go on as before need none.
#include <gtest/gtest.h>
#include <tandem/c.h>

#include <deque>
#include <new>
#include <string>
#include <vector>

#include "tests/battery.h"
#include "tests/faults/failing_memory.h"

namespace tandem::testing {
namespace {

/// The caller's arrays.
class State {
 public:
  void grow(const tandem_need* needs, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i == names_.size()) {
        names_.emplace_back(needs[i].name);
        data_.emplace_back();
        counts_.emplace_back();
        types_.push_back(needs[i].type);
      }
      for (std::size_t p = data_[i].size(); p < needs[i].parts; ++p) {
        memory_.emplace_back(needs[i].counts[p] + 1);
        data_[i].push_back(memory_.back().data());
        counts_[i].push_back(needs[i].counts[p]);
      }
    }
    arrays_.clear();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      arrays_.push_back(
          {names_[i].c_str(), types_[i], 0, data_[i].size(), data_[i].data(), counts_[i].data()});
    }
  }
  const tandem_array* data() const { return arrays_.data(); }
  std::size_t size() const { return arrays_.size(); }
  const std::deque<std::vector<double>>& memory() const { return memory_; }

 private:
  std::deque<std::string> names_;
  std::vector<std::int32_t> types_;
  std::vector<std::vector<void*>> data_;
  std::vector<std::vector<std::size_t>> counts_;
  std::deque<std::vector<double>> memory_;  // 8 bytes an element: enough for any type
  std::vector<tandem_array> arrays_;
};

class FaultsInC : public Battery {};

TEST_P(FaultsInC, change_nothing) {
  const std::size_t sizes[] = {7, 0, 5};
  std::vector<float> w(12, 0.1F), g(12, 0.3F);
  const tandem_segment segments[] = {
      {w.data(), g.data(), 7}, {nullptr, nullptr, 0}, {w.data() + 7, g.data() + 7, 5}};
  State state;
  tandem_rule* rule = nullptr;
  const std::vector<float> start = w;
  // What the library makes once for all rules: the declarations, the pool.
  ASSERT_EQ(tandem_v1_create(it().name.c_str(), nullptr, 0, sizes, 3, &rule), TANDEM_OK);
  tandem_v1_destroy(rule);
  // Fails each request of a call, which throws here what it returns there; gives how many there were.
  const auto disturb = [&](const auto& call) {
    const std::vector<float> weights(w.begin(), w.end());
    const std::deque<std::vector<double>> before(state.memory().begin(), state.memory().end());
    tandem_status status = TANDEM_OK;
    return fail_each_request(
        [&] {
          status = call();
          if (status != TANDEM_OK) throw std::bad_alloc();
        },
        [&](std::size_t n, bool threw) {
          EXPECT_TRUE(threw) << "request " << n;
          EXPECT_EQ(status, TANDEM_MEMORY) << "request " << n << ": " << tandem_v1_error();
          EXPECT_EQ(w, weights) << "request " << n;
          for (std::size_t i = 0; i < before.size(); ++i) {
            EXPECT_TRUE(same_bits(before[i], state.memory()[i])) << "request " << n;
          }
        });
  };
  EXPECT_GT(
      disturb([&] { return tandem_v1_create(it().name.c_str(), nullptr, 0, sizes, 3, &rule); }),
      0u);
  for (int step = 1; step <= 5; ++step) {
    const tandem_need* needs = nullptr;
    std::size_t count = 0;
    disturb([&] {
      return tandem_v1_needs(rule, TANDEM_FLOAT32, state.data(), state.size(), &needs, &count);
    });
    state.grow(needs, count);
    if (step == 1) {
      disturb([&] { return tandem_v1_start(rule, TANDEM_FLOAT32, state.data(), state.size()); });
    }
    const std::size_t requests = disturb([&] {
      return tandem_v1_step(rule, TANDEM_FLOAT32, segments, 3, state.data(), state.size(), nullptr);
    });
    if (step > 2) {
      EXPECT_EQ(requests, 0u) << "step " << step;
    }
  }
  // The steps that ran through are those of the class.
  const auto twin = make_optimizer(it().name, {{7}, {5}});
  std::vector<float> v = start;
  for (int step = 1; step <= 5; ++step) {
    const std::vector<Segment<float>> two = {
        {std::span(v).first(7), std::span<const float>(g).first(7)},
        {std::span(v).last(5), std::span<const float>(g).last(5)}};
    twin->step(two);
  }
  EXPECT_TRUE(same_bits(w, v));
  tandem_v1_destroy(rule);
}

INSTANTIATE_TEST_SUITE_P(records, FaultsInC, ::testing::ValuesIn(record_names()), name_of);

}  // namespace
}  // namespace tandem::testing
