// SPDX-License-Identifier: MIT
// Calls that no caller should make: each gives its error code and a message that names the thing,
// changes no byte of weights or state, and leaves the rule as good as it was.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/c_interface/rules.h"
#include "tests/records.h"

namespace tandem::testing {
namespace {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t bytes_of(std::int32_t type) {
  return type == TANDEM_FLOAT32 ? 4 : type == TANDEM_BFLOAT16 ? 2 : 8;
}

using Fragments = std::vector<std::string>;

::testing::AssertionResult says(tandem_status found, tandem_status expected,
                                const Fragments& fragments) {
  const std::string message = tandem_v1_error();
  if (found != expected) {
    return ::testing::AssertionFailure()
           << "status " << found << ", expected " << expected << ": " << message;
  }
  for (const std::string& fragment : fragments) {
    if (message.find(fragment) == std::string::npos) {
      return ::testing::AssertionFailure() << "no \"" << fragment << "\" in: " << message;
    }
  }
  return ::testing::AssertionSuccess();
}

/// The caller's view of the state: pointers and counts that a test may spoil.
struct View {
  explicit View(client* c) {
    for (std::size_t i = 0; i < client_array_count(c); ++i) {
      const tandem_array& array = client_arrays(c)[i];
      arrays.push_back(array);
      data.emplace_back(array.data, array.data + array.parts);
      counts.emplace_back(array.counts, array.counts + array.parts);
    }
  }
  /// Points the arrays to the copies, once they are spoiled.
  const tandem_array* get() {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      arrays[i].data = data[i].data();
      arrays[i].counts = counts[i].data();
    }
    return arrays.data();
  }
  std::size_t size() const { return arrays.size(); }
  std::size_t scalars() const {
    std::size_t i = 0;
    while (std::strcmp(arrays[i].name, "scalars") != 0) ++i;
    return i;
  }

  std::vector<tandem_array> arrays;
  std::vector<std::vector<void*>> data;
  std::vector<std::vector<std::size_t>> counts;
};

class Hostile : public ::testing::TestWithParam<std::string> {
 protected:
  Hostile()
      : it_(client_open(GetParam().c_str(), nullptr, 0, sizes_.data(), sizes_.size(),
                        TANDEM_FLOAT32)),
        twin_(client_open(GetParam().c_str(), nullptr, 0, sizes_.data(), sizes_.size(),
                          TANDEM_FLOAT32)),
        parts_(sizes_),
        twins_(sizes_) {
    train(1, 3);
  }
  /// What failed in between has left no trace.
  ~Hostile() override { train(4, 8); }

  void train(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t t = first; t <= last; ++t) {
      parts_.differentiate(t);
      twins_.differentiate(t);
      EXPECT_EQ(client_step(it_.get(), parts_.segments_in_c().data(), nullptr), TANDEM_OK)
          << tandem_v1_error();
      EXPECT_EQ(client_step(twin_.get(), twins_.segments_in_c().data(), nullptr), TANDEM_OK);
      EXPECT_TRUE(parts_.same_weights(twins_)) << "step " << t;
    }
    EXPECT_EQ(client_make_room(it_.get()), TANDEM_OK);
    parts_.differentiate(last + 1);
  }

  std::string bytes() {
    std::string all;
    const auto add = [&](const void* data, std::size_t count) {
      all.append(static_cast<const char*>(data), count);
    };
    for (const auto& part : parts_.weights) add(part.data(), part.size() * sizeof(float));
    for (const auto& part : parts_.gradients) add(part.data(), part.size() * sizeof(float));
    for (std::size_t i = 0; i < client_array_count(it_.get()); ++i) {
      const tandem_array& array = client_arrays(it_.get())[i];
      for (std::size_t p = 0; p < array.parts; ++p) {
        add(array.data[p], array.counts[p] * bytes_of(array.type));
      }
    }
    return all;
  }

  void refused(tandem_status expected, const Fragments& fragments,
               const std::function<tandem_status()>& call) {
    const std::string before = bytes();
    const tandem_status found = call();
    EXPECT_TRUE(says(found, expected, fragments));
    EXPECT_TRUE(bytes() == before) << "bytes have changed";
  }
  /// A step and its two phases with this; starting on the arrays too, where they are what is wrong.
  void refused_step(tandem_status expected, const Fragments& fragments,
                    const std::vector<tandem_segment>& segments, View view,
                    std::int32_t type = TANDEM_FLOAT32) {
    const tandem_segment* s = segments.data();
    const std::size_t n = segments.size();
    double sums[TANDEM_SUMS] = {};
    refused(expected, fragments, [&] {
      return tandem_v1_step(it_.rule(), type, s, n, view.get(), view.size(), nullptr);
    });
    refused(expected, fragments, [&] {
      return tandem_v1_gather(it_.rule(), type, s, n, view.get(), view.size(), sums);
    });
    refused(expected, fragments, [&] {
      return tandem_v1_apply(it_.rule(), type, s, n, view.get(), view.size(), nullptr, sums);
    });
  }
  void refused_start(tandem_status expected, const Fragments& fragments, View view,
                     std::int32_t type = TANDEM_FLOAT32) {
    refused(expected, fragments,
            [&] { return tandem_v1_start(it_.rule(), type, view.get(), view.size()); });
  }
  View view() const { return View(it_.get()); }

  const std::vector<std::size_t> sizes_ = {30, 1, 12};
  Client it_, twin_;
  Parts<float> parts_, twins_;
};

TEST_P(Hostile, null_pointers) {
  tandem_rule* rule = it_.rule();
  const auto segments = parts_.segments_in_c();
  const tandem_need* needs = nullptr;
  std::size_t count = 0;
  double sums[TANDEM_SUMS] = {};
  View good = view();
  const tandem_array* arrays = good.get();
  const std::size_t n = good.size();
  const auto run = [](void*, std::size_t, void (*)(void*, std::size_t), void*) {};
  tandem_diagnostics last;
  const Fragments null = {"null pointer"};
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_rate(nullptr, "lr", 1); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_rate(rule, nullptr, 1); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_schedule(nullptr, "lr", "1"); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_schedule(rule, nullptr, "1"); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_schedule(rule, "lr", nullptr); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_segment(nullptr, 0, 1, 1); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_first_element(nullptr, 0, 1); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_options(nullptr, nullptr, 0); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_options(rule, nullptr, 1); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_schedule(nullptr, 1, 0, sums); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_schedule("0.1", 1, 0, nullptr); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_set_threads(nullptr, 1, run, nullptr); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_last(nullptr, &last); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_last(rule, nullptr); });
  refused(TANDEM_INVALID, null,
          [&] { return tandem_v1_needs(nullptr, 0, nullptr, 0, &needs, &count); });
  refused(TANDEM_INVALID, null,
          [&] { return tandem_v1_needs(rule, 0, nullptr, 0, nullptr, &count); });
  refused(TANDEM_INVALID, null,
          [&] { return tandem_v1_needs(rule, 0, nullptr, 0, &needs, nullptr); });
  refused(TANDEM_INVALID, {"arrays", "null pointer"},
          [&] { return tandem_v1_needs(rule, 0, nullptr, n, &needs, &count); });
  refused(TANDEM_INVALID, null, [&] { return tandem_v1_start(nullptr, 0, arrays, n); });
  refused(TANDEM_INVALID, {"arrays"}, [&] { return tandem_v1_start(rule, 0, nullptr, n); });
  refused(TANDEM_INVALID, null, [&] {
    return tandem_v1_step(nullptr, 0, segments.data(), segments.size(), arrays, n, nullptr);
  });
  refused(TANDEM_INVALID, {"segments", "null pointer"},
          [&] { return tandem_v1_step(rule, 0, nullptr, segments.size(), arrays, n, nullptr); });
  refused(TANDEM_INVALID, {"arrays", "null pointer"}, [&] {
    return tandem_v1_step(rule, 0, segments.data(), segments.size(), nullptr, n, nullptr);
  });
  refused(TANDEM_INVALID, {"sums"}, [&] {
    return tandem_v1_gather(rule, 0, segments.data(), segments.size(), arrays, n, nullptr);
  });
  refused(TANDEM_INVALID, {"sums"}, [&] {
    return tandem_v1_apply(rule, 0, segments.data(), segments.size(), arrays, n, nullptr, nullptr);
  });
  refused(TANDEM_INVALID, null, [&] {
    return tandem_v1_gather(nullptr, 0, segments.data(), segments.size(), arrays, n, sums);
  });
  auto bad = segments;
  bad[2].weights = nullptr;
  refused_step(TANDEM_INVALID, {GetParam(), "segment 2", "weights", "null pointer"}, bad, view());
  bad = segments;
  for (tandem_segment& segment : bad) segment.gradient = nullptr;
  refused_step(TANDEM_INVALID, {GetParam(), "no", "gradient"}, bad, view());
  tandem_v1_destroy(nullptr);
}

TEST_P(Hostile, sizes_counts_types_and_alignment_of_segments) {
  const auto segments = parts_.segments_in_c();
  const auto spoiled = [&](std::size_t s, const auto& spoil) {
    auto bad = segments;
    spoil(bad[s]);
    return bad;
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{29}, std::size_t{31}, kHuge,
                                 kHuge / 4 + 31, std::size_t{1} << 63}) {
    refused_step(TANDEM_INVALID, {GetParam(), "segment 0", std::to_string(size), "expected 30"},
                 spoiled(0, [&](tandem_segment& bad) { bad.size = size; }), view());
  }
  for (const bool weights : {true, false}) {
    refused_step(TANDEM_INVALID,
                 {GetParam(), "segment 2", weights ? "weights" : "gradient", "aligned"},
                 spoiled(2,
                         [&](tandem_segment& bad) {
                           if (weights) bad.weights = static_cast<char*>(bad.weights) + 2;
                           if (!weights) bad.gradient = static_cast<const char*>(bad.gradient) + 1;
                         }),
                 view());
    refused_step(TANDEM_INVALID, {GetParam(), "segment 0", weights ? "weights" : "gradient"},
                 spoiled(0,
                         [&](tandem_segment& bad) {
                           void* end = reinterpret_cast<void*>(~std::uintptr_t{63});
                           (weights ? bad.weights : const_cast<void*&>(bad.gradient)) = end;
                         }),
                 view());
  }
  refused_step(TANDEM_INVALID, {GetParam(), "segments: 2", "expected 3"},
               {segments.begin(), segments.end() - 1}, view());
  auto more = segments;
  more.push_back(segments[1]);
  refused_step(TANDEM_INVALID, {GetParam(), "segments: 4", "expected 3"}, more, view());
  refused_step(TANDEM_INVALID, {GetParam(), "segments: 0", "expected 3"}, {}, view());
  for (const std::int32_t type : {-1, int{TANDEM_UINT64}, 4, std::numeric_limits<int>::max()}) {
    refused_step(TANDEM_INVALID, {"type", std::to_string(type)}, segments, view(), type);
    refused_start(TANDEM_INVALID, {"type", std::to_string(type)}, view(), type);
    const tandem_need* needs = nullptr;
    std::size_t count = 0;
    refused(TANDEM_INVALID, {"type"},
            [&] { return tandem_v1_needs(it_.rule(), type, nullptr, 0, &needs, &count); });
  }
}

TEST_P(Hostile, memory_that_overlaps) {
  auto bad = parts_.segments_in_c();
  bad[0].gradient = bad[0].weights;
  refused_step(TANDEM_INVALID, {GetParam(), "overlap"}, bad, view());
  bad = parts_.segments_in_c();
  bad[0].gradient = static_cast<const float*>(bad[0].weights) + 29;
  refused_step(TANDEM_INVALID, {GetParam(), "overlap"}, bad, view());
  bad = parts_.segments_in_c();
  bad[1].weights = static_cast<float*>(bad[0].weights) + 29;
  refused_step(TANDEM_INVALID, {GetParam(), "overlap"}, bad, view());
  bad = parts_.segments_in_c();
  const View good = view();
  for (std::size_t i = 0; i < good.size(); ++i) {
    View spoiled = view();
    const std::size_t last = spoiled.data[i].size() - 1;
    if (spoiled.counts[i][last] * bytes_of(spoiled.arrays[i].type) > 8) {
      bad[1].weights = static_cast<char*>(spoiled.data[i][last]) + 8;
      refused_step(TANDEM_INVALID, {GetParam(), "overlap"}, bad, spoiled);
    }
    bad = parts_.segments_in_c();
    for (std::size_t j = 0; j < good.size(); ++j) {
      View shared = view();
      if (i == j) continue;
      shared.data[i][last] = shared.data[j][0];
      refused_step(TANDEM_INVALID, {GetParam(), "overlap"}, bad, shared);
      refused_start(TANDEM_INVALID, {GetParam(), "overlap"}, shared);
    }
  }
}

TEST_P(Hostile, arrays) {
  const auto segments = parts_.segments_in_c();
  const auto spoiled = [&](const Fragments& fragments, const auto& spoil) {
    View bad = view();
    spoil(bad);
    refused_step(TANDEM_STATE, fragments, segments, bad);
    refused_start(TANDEM_STATE, fragments, bad);
  };
  const View good = view();
  for (std::size_t i = 0; i < good.size(); ++i) {
    const std::string name = good.arrays[i].name;
    const std::size_t p = good.data[i].size() - 1;
    const std::size_t count = good.counts[i][p];
    spoiled({GetParam(), name, "missing"}, [&](View& bad) {
      bad.arrays.erase(bad.arrays.begin() + static_cast<std::ptrdiff_t>(i));
      bad.data.erase(bad.data.begin() + static_cast<std::ptrdiff_t>(i));
      bad.counts.erase(bad.counts.begin() + static_cast<std::ptrdiff_t>(i));
    });
    spoiled({GetParam(), name, "missing"}, [&](View& bad) { bad.arrays[i].name = "nothing"; });
    spoiled({"name of array"}, [&](View& bad) { bad.arrays[i].name = nullptr; });
    spoiled({GetParam(), name, "parts"}, [&](View& bad) { bad.arrays[i].parts = p; });
    spoiled({name, "parts"}, [&](View& bad) { bad.arrays[i].parts = kHuge; });
    spoiled({GetParam(), name, std::to_string(count - 1), "expected " + std::to_string(count)},
            [&](View& bad) { --bad.counts[i][p]; });
    for (const std::size_t huge : {kHuge, kHuge / 2 + 2, kHuge / 4 + 2, std::size_t{1} << 62}) {
      if (huge <= kHuge / bytes_of(good.arrays[i].type) - (std::size_t{1} << 48)) continue;
      spoiled({name, std::to_string(huge)}, [&](View& bad) { bad.counts[i][p] = huge; });
    }
    spoiled({name, "null pointer"}, [&](View& bad) { bad.data[i][p] = nullptr; });
    spoiled({name, "aligned"}, [&](View& bad) {
      bad.data[i][p] = static_cast<char*>(bad.data[i][p]) + 1;
      bad.counts[i][p] = count;
    });
    for (const std::int32_t type : {int{TANDEM_FLOAT32}, int{TANDEM_FLOAT64}, int{TANDEM_BFLOAT16},
                                    int{TANDEM_UINT64}, -1, 4}) {
      if (type == good.arrays[i].type) continue;
      spoiled({name, "type"}, [&](View& bad) {
        bad.arrays[i].type = type;
        for (std::size_t& elements : bad.counts[i]) elements /= 4;  // no more bytes than there are
      });
    }
    spoiled({name, "reserved"}, [&](View& bad) { bad.arrays[i].reserved = 1; });
    // Pointers to pointers.
    for (const bool data : {true, false}) {
      View bad = view();
      bad.get();
      (data ? reinterpret_cast<const void*&>(bad.arrays[i].data)
            : reinterpret_cast<const void*&>(bad.arrays[i].counts)) = nullptr;
      refused(TANDEM_STATE, {name, "null pointer"}, [&] {
        return tandem_v1_step(it_.rule(), TANDEM_FLOAT32, segments.data(), segments.size(),
                              bad.arrays.data(), bad.size(), nullptr);
      });
    }
  }
  refused(TANDEM_STATE, {"number of arrays"}, [&] {
    View bad = view();
    return tandem_v1_start(it_.rule(), TANDEM_FLOAT32, bad.get(), kHuge);
  });
  // State of another type than that of the weights.
  if (good.size() > 1) {
    Parts<double> wide(sizes_);
    refused_step(TANDEM_STATE, {GetParam(), "type"}, wide.segments_in_c(), view(), TANDEM_FLOAT64);
  }
}

TEST_P(Hostile, scalars) {
  const auto segments = parts_.segments_in_c();
  const tandem_need* needs = nullptr;
  std::size_t need_count = 0;
  ASSERT_EQ(tandem_v1_needs(it_.rule(), TANDEM_FLOAT32, nullptr, 0, &needs, &need_count),
            TANDEM_OK);
  const std::string elements = needs[need_count - 1].elements;
  const View good = view();
  const std::size_t at = good.scalars();
  std::vector<std::uint64_t> copy(good.counts[at][0]);
  const auto impossible = [&](const std::string& name, std::uint64_t value) {
    const std::size_t found = elements.find(name + ":");
    if (found == std::string::npos) return;
    const auto place = static_cast<std::size_t>(
        std::count(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(found), ','));
    std::memcpy(copy.data(), good.data[at][0], copy.size() * sizeof(copy[0]));
    copy[place] = value;
    const std::vector<std::uint64_t> before = copy;
    View bad = view();
    bad.data[at][0] = copy.data();
    const Fragments fragments = {name, std::to_string(value)};
    refused_step(TANDEM_STATE, fragments, segments, bad);
    if (name != "step") {
      refused(TANDEM_STATE, fragments, [&] {
        return tandem_v1_needs(it_.rule(), TANDEM_FLOAT32, bad.get(), bad.size(), &needs,
                               &need_count);
      });
    }
    EXPECT_EQ(copy, before);
  };
  impossible("step", 0);
  impossible("dense", 7);
  impossible("base_is_zero", 7);
  impossible("pending", 65);
  impossible("c_known", 7);
  impossible("sums_known", 7);
  impossible("block", 7);
}

TEST_P(Hostile, rates) {
  tandem_rule* rule = it_.rule();
  for (const double bad : {kNaN, kInfinity, -kInfinity, -1.0}) {
    for (const char* name : {"lr", "weight_decay", "l2"}) {
      refused(TANDEM_INVALID, {name}, [&] { return tandem_v1_set_rate(rule, name, bad); });
    }
  }
  double value = 0;
  refused(TANDEM_INVALID, {"step"}, [&] { return tandem_v1_schedule("0.1", 0, 0, &value); });
  refused(TANDEM_INVALID, {"fast"}, [&] { return tandem_v1_schedule("fast", 1, 0, &value); });
  const tandem_option unknown[] = {{"learning", "1"}};
  const tandem_option negative[] = {{"lr", "-1"}};
  const tandem_option nameless[] = {{nullptr, "1"}};
  refused(TANDEM_INVALID, {GetParam(), "learning"},
          [&] { return tandem_v1_set_options(rule, unknown, 1); });
  refused(TANDEM_INVALID, {GetParam(), "lr"},
          [&] { return tandem_v1_set_options(rule, negative, 1); });
  refused(TANDEM_INVALID, {GetParam(), "null pointer"},
          [&] { return tandem_v1_set_options(rule, nameless, 1); });
  for (const double bad : {kInfinity, -kInfinity, -1.0}) {  // NaN: as in the options
    if (GetParam() == "full-to") continue;                  // whose segments have no rates at all
    refused(TANDEM_INVALID, {"lr", "segment 1"},
            [&] { return tandem_v1_set_segment(rule, 1, bad, kNaN); });
    refused(TANDEM_INVALID, {"weight_decay", "segment 1"},
            [&] { return tandem_v1_set_segment(rule, 1, kNaN, bad); });
  }
  for (const std::size_t segment : {std::size_t{3}, kHuge}) {
    refused(TANDEM_INVALID, {"segment", std::to_string(segment)},
            [&] { return tandem_v1_set_segment(rule, segment, 1, 1); });
    refused(TANDEM_INVALID, {"segment", std::to_string(segment)},
            [&] { return tandem_v1_set_first_element(rule, segment, 1); });
  }
  for (const char* name : {"rate", "", "beta3"}) {
    refused(TANDEM_INVALID, {GetParam(), name, "lr"},
            [&] { return tandem_v1_set_rate(rule, name, 0.1); });
  }
  for (const char* text : {"", "fast", "0.1*", "1e400", "-1", "nan", "0.1*2^"}) {
    refused(TANDEM_INVALID, {}, [&] { return tandem_v1_set_schedule(rule, "lr", text); });
  }
  for (const std::int32_t threads : {-1, 0}) {
    const auto run = [](void*, std::size_t, void (*)(void*, std::size_t), void*) {};
    refused(TANDEM_INVALID, {"threads", std::to_string(threads)},
            [&] { return tandem_v1_set_threads(rule, threads, run, nullptr); });
  }
  for (const std::int32_t threads : {-1, std::numeric_limits<int>::max()}) {
    refused(TANDEM_INVALID, {"threads", std::to_string(threads)},
            [&] { return tandem_v1_set_threads(rule, threads, nullptr, nullptr); });
  }
}

TEST_P(Hostile, gradients_and_sums) {
  const auto segments = parts_.segments_in_c();
  const float before = std::exchange(parts_.gradients[2][5], std::nanf(""));
  refused(TANDEM_NONFINITE, {GetParam(), "segment 2", "index 5"}, [&] {
    View good = view();
    return tandem_v1_step(it_.rule(), TANDEM_FLOAT32, segments.data(), segments.size(), good.get(),
                          good.size(), nullptr);
  });
  double sums[TANDEM_SUMS];
  View good = view();
  ASSERT_EQ(tandem_v1_gather(it_.rule(), TANDEM_FLOAT32, segments.data(), segments.size(),
                             good.get(), good.size(), sums),
            TANDEM_OK);
  EXPECT_EQ(sums[0], 1);
  const auto apply = [&](const std::vector<tandem_segment>& list) {
    return tandem_v1_apply(it_.rule(), TANDEM_FLOAT32, list.data(), list.size(), good.get(),
                           good.size(), nullptr, sums);
  };
  refused(TANDEM_NONFINITE, {"segment 2", "index 5"}, [&] { return apply(segments); });
  // The place that was found is not there any more.
  auto without = segments;
  without[2].gradient = nullptr;
  refused(is_whole(GetParam()) ? TANDEM_INVALID : TANDEM_NONFINITE, {GetParam()},
          [&] { return apply(without); });
  parts_.gradients[2][5] = before;
  refused(TANDEM_NONFINITE, {GetParam(), "another machine"}, [&] { return apply(segments); });
  for (const double bad : {kNaN, -1.0}) {
    sums[0] = bad;
    refused(TANDEM_INVALID, {"sums[0]"}, [&] { return apply(segments); });
  }
  for (const tandem_rounding bad : {tandem_rounding{2, 0, 1}, tandem_rounding{1, 1, 1}}) {
    refused(TANDEM_INVALID, {"rounding"}, [&] {
      return tandem_v1_step(it_.rule(), TANDEM_FLOAT32, segments.data(), segments.size(),
                            good.get(), good.size(), &bad);
    });
  }
}

TEST_P(Hostile, a_step_before_the_state_is_there) {
  Client fresh(
      client_open(GetParam().c_str(), nullptr, 0, sizes_.data(), sizes_.size(), TANDEM_FLOAT32));
  const auto segments = parts_.segments_in_c();
  refused(TANDEM_STATE, {GetParam(), "scalars", "missing"}, [&] {
    return tandem_v1_step(fresh.rule(), TANDEM_FLOAT32, segments.data(), segments.size(), nullptr,
                          0, nullptr);
  });
  tandem_diagnostics last;
  ASSERT_EQ(tandem_v1_last(fresh.rule(), &last), TANDEM_OK);
  EXPECT_TRUE(std::isnan(last.delta) && std::isnan(last.gradient_norm));
}

TEST_P(Hostile, rules_that_cannot_be_made) {
  const std::string& name = GetParam();
  tandem_rule* rule = nullptr;
  const auto make = [&](const char* of, const std::vector<tandem_option>& options,
                        const std::vector<std::size_t>& sizes) {
    rule = it_.rule();  // anything
    const tandem_status status =
        tandem_v1_create(of, options.data(), options.size(), sizes.data(), sizes.size(), &rule);
    EXPECT_EQ(rule, nullptr);
    return status;
  };
  EXPECT_TRUE(says(make((name + "x").c_str(), {}, {3}), TANDEM_INVALID, {name + "x", name}));
  EXPECT_TRUE(says(make("", {}, {3}), TANDEM_INVALID, {"optimizer"}));
  EXPECT_TRUE(says(make(nullptr, {}, {3}), TANDEM_INVALID, {"name", "null pointer"}));
  EXPECT_TRUE(says(make(name.c_str(), {{"lrr", "1"}}, {3}), TANDEM_INVALID, {"lrr", "'lr'"}));
  EXPECT_TRUE(
      says(make(name.c_str(), {{nullptr, "1"}}, {3}), TANDEM_INVALID, {"option 0", "null"}));
  EXPECT_TRUE(says(make(name.c_str(), {{"lr", nullptr}}, {3}), TANDEM_INVALID, {"option 0"}));
  EXPECT_TRUE(
      says(make(name.c_str(), {{"lr", "1"}, {"lr", "1"}}, {3}), TANDEM_INVALID, {"lr", "twice"}));
  for (const char* bad : {"nan", "inf", "-1", "", "1e999", "one"}) {
    EXPECT_TRUE(says(make(name.c_str(), {{"lr", bad}}, {3}), TANDEM_INVALID, {"lr"})) << bad;
  }
  EXPECT_TRUE(says(make(name.c_str(), {}, {}), TANDEM_INVALID, {name, "segments"}));
  EXPECT_TRUE(says(make(name.c_str(), {}, {0}), TANDEM_INVALID, {name, "dimension"}));
  EXPECT_TRUE(says(make(name.c_str(), {}, {0, 0}), TANDEM_INVALID, {name, "dimension"}));
  EXPECT_TRUE(says(make(name.c_str(), {}, {4, kHuge}), TANDEM_INVALID, {name, "segment 1"}));
  EXPECT_TRUE(says(make(name.c_str(), {}, {kHuge / 64, kHuge / 64 + 2, kHuge / 64, kHuge / 64}),
                   TANDEM_INVALID, {name, "memory"}));
  const std::size_t size = 3;
  EXPECT_TRUE(says(tandem_v1_create(name.c_str(), nullptr, 1, &size, 1, &rule), TANDEM_INVALID,
                   {"options", "null pointer"}));
  EXPECT_TRUE(says(tandem_v1_create(name.c_str(), nullptr, 0, nullptr, 1, &rule), TANDEM_INVALID,
                   {"sizes", "null pointer"}));
  EXPECT_TRUE(says(tandem_v1_create(name.c_str(), nullptr, 0, &size, 1, nullptr), TANDEM_INVALID,
                   {"rule", "null pointer"}));
  const tandem_option option = {"lr", "1"};
  EXPECT_TRUE(says(tandem_v1_create(name.c_str(), &option, kHuge, &size, 1, &rule), TANDEM_INVALID,
                   {"option_count"}));
  EXPECT_TRUE(says(tandem_v1_create(name.c_str(), nullptr, 0, &size, kHuge, &rule), TANDEM_INVALID,
                   {"segment_count"}));
}

TEST_P(Hostile, models_that_no_memory_holds) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "ASan ends the program where memory runs out";
#endif
  const std::size_t size = kHuge / 64;
  tandem_rule* rule = nullptr;
  const tandem_status made = tandem_v1_create(GetParam().c_str(), nullptr, 0, &size, 1, &rule);
  if (made != TANDEM_OK) {  // what must see all weights at once says so at once
    EXPECT_TRUE(says(made, TANDEM_INVALID, {"memory"}));
    return;
  }
  const tandem_need* needs = nullptr;
  std::size_t count = 0;
  EXPECT_TRUE(says(tandem_v1_needs(rule, TANDEM_FLOAT32, nullptr, 0, &needs, &count), TANDEM_MEMORY,
                   {"memory"}));
  tandem_v1_destroy(rule);
}

INSTANTIATE_TEST_SUITE_P(rules, Hostile, ::testing::ValuesIn(rules_in_c()),
                         [](const auto& rule) { return test_name(rule.param); });

TEST(HostileFull, rows_of_history_that_nobody_has) {
  const std::vector<std::size_t> sizes = {520};
  Client it(client_open("full-to", nullptr, 0, sizes.data(), 1, TANDEM_FLOAT32));
  Parts<float> parts(sizes);
  for (std::uint64_t t = 1; t <= 3; ++t) {
    parts.differentiate(t);
    ASSERT_EQ(client_step(it.get(), parts.segments_in_c().data(), nullptr), TANDEM_OK);
  }
  const tandem_need* needs = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(tandem_v1_needs(it.rule(), TANDEM_FLOAT32, nullptr, 0, &needs, &count), TANDEM_OK);
  const std::string elements = needs[count - 1].elements;
  const auto place = static_cast<std::size_t>(
      std::count(elements.begin(),
                 elements.begin() + static_cast<std::ptrdiff_t>(elements.find("rows:")), ','));
  View view(it.get());
  auto* scalars = static_cast<std::uint64_t*>(view.data[view.scalars()][0]);
  const std::uint64_t rows = scalars[place];
  EXPECT_EQ(rows, 4u);
  const Parts<float> before = parts;
  const auto segments = parts.segments_in_c();
  const auto step = [&] {
    return tandem_v1_step(it.rule(), TANDEM_FLOAT32, segments.data(), 1, view.get(), view.size(),
                          nullptr);
  };
  for (const std::uint64_t many :
       {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 32, std::uint64_t{20000}}) {
    scalars[place] = many;
    EXPECT_TRUE(says(step(), TANDEM_STATE, {many > 1000000 ? "rows" : "parts"})) << many;
    const tandem_status asked =
        tandem_v1_needs(it.rule(), TANDEM_FLOAT32, view.get(), view.size(), &needs, &count);
    EXPECT_EQ(asked, many > 1000000 ? TANDEM_STATE : TANDEM_OK) << tandem_v1_error();
  }
  EXPECT_TRUE(parts.same_weights(before));
  scalars[place] = rows;
  EXPECT_EQ(step(), TANDEM_OK) << tandem_v1_error();
}

TEST(HostileFull, forms_that_the_options_exclude) {
  const std::vector<std::size_t> sizes = {520};
  for (const std::string form : {"span", "dense"}) {
    const tandem_option option = {"form", form.c_str()};
    Client it(client_open("full-to", &option, 1, sizes.data(), 1, TANDEM_FLOAT32));
    Parts<float> parts(sizes);
    parts.differentiate(1);
    ASSERT_EQ(client_step(it.get(), parts.segments_in_c().data(), nullptr), TANDEM_OK);
    View view(it.get());
    auto* scalars = static_cast<std::uint64_t*>(view.data[view.scalars()][0]);
    scalars[3] = 1 - scalars[3];  // after step, epoch and skipped: dense
    const auto segments = parts.segments_in_c();
    EXPECT_TRUE(says(tandem_v1_step(it.rule(), TANDEM_FLOAT32, segments.data(), 1, view.get(),
                                    view.size(), nullptr),
                     TANDEM_STATE, {"form", form == "span" ? "dense" : "span"}));
  }
}

TEST(HostileBlock, blocks_whose_size_overflows) {
  const std::size_t size = std::size_t{1} << 33;
  const tandem_option option = {"block", "8589934592"};
  tandem_rule* rule = nullptr;
  EXPECT_TRUE(says(tandem_v1_create("block-to", &option, 1, &size, 1, &rule), TANDEM_INVALID,
                   {"block", "memory"}));
}

TEST(HostileDescribe, names_and_buffers) {
  std::size_t needed = 7;
  EXPECT_TRUE(
      says(tandem_v1_describe("adan", nullptr, 0, &needed), TANDEM_INVALID, {"adan", "adam"}));
  EXPECT_TRUE(says(tandem_v1_describe("adam", nullptr, 10, &needed), TANDEM_INVALID,
                   {"buffer", "null pointer"}));
  EXPECT_EQ(needed, 7u);
}

}  // namespace
}  // namespace tandem::testing
