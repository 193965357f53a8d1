// SPDX-License-Identifier: MIT
// What tests of the C interface share: the rules it describes, and models in all types.
#pragma once

#include <gtest/gtest.h>
#include <tandem/c.h>
#include <tandem/tandem.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kernels/narrow.h"
#include "tests/c_interface/client.h"

namespace tandem::testing {

/// Everything that tandem_v1_describe says.
inline nlohmann::json described(const char* name = nullptr) {
  std::size_t needed = 0;
  EXPECT_EQ(tandem_v1_describe(name, nullptr, 0, &needed), TANDEM_OK) << tandem_v1_error();
  std::string text(needed, ' ');
  EXPECT_EQ(tandem_v1_describe(name, text.data(), text.size(), nullptr), TANDEM_OK);
  return nlohmann::json::parse(text.c_str());
}

inline std::vector<std::string> rules_in_c() {
  std::vector<std::string> names;
  for (const auto& rule : described()) names.push_back(rule["name"]);
  return names;
}

/// Whether a step must see all weights, and costs their square.
inline bool is_whole(const std::string& rule) { return rule == "full-to" || rule == "block-to"; }

template <class T>
constexpr std::int32_t type_in_c() {
  if constexpr (std::is_same_v<T, float>) return TANDEM_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return TANDEM_FLOAT64;
  return TANDEM_BFLOAT16;
}

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const auto wide = static_cast<float>(value);
    BFloat16 narrow;
    kernels::narrow(&wide, 1, &narrow);
    return narrow;
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    float wide = 0;
    kernels::widen(&value, 1, &wide);
    return wide;
  } else {
    return value;
  }
}

/// Weights in segments of memory of their own, with a noisy gradient that depends on them.
template <class T>
class Parts {
 public:
  explicit Parts(const std::vector<std::size_t>& sizes) {
    Random random(11, 0);
    for (const std::size_t size : sizes) {
      gradients.emplace_back(size);
      weights.emplace_back(size);
      for (T& weight : weights.back()) weight = from_double<T>(0.2 * random.uniform() - 0.1);
    }
  }
  void differentiate(std::uint64_t step) {
    Random random(12, step);
    for (std::size_t s = 0; s < weights.size(); ++s) {
      for (std::size_t i = 0; i < weights[s].size(); ++i) {
        const double noise = random.uniform() - 0.5;
        gradients[s][i] =
            from_double<T>((1 + i % 7) * (to_double(weights[s][i]) - 0.05) + 0.1 * noise);
      }
    }
  }
  std::vector<Segment<T>> segments() {
    std::vector<Segment<T>> list;
    for (std::size_t s = 0; s < weights.size(); ++s) list.push_back({weights[s], gradients[s]});
    return list;
  }
  std::vector<tandem_segment> segments_in_c() {
    std::vector<tandem_segment> list;
    for (std::size_t s = 0; s < weights.size(); ++s) {
      list.push_back({weights[s].data(), gradients[s].data(), weights[s].size()});
    }
    return list;
  }
  bool same_weights(const Parts& other) const {
    for (std::size_t s = 0; s < weights.size(); ++s) {
      const std::size_t bytes = weights[s].size() * sizeof(T);
      if (bytes > 0 && std::memcmp(weights[s].data(), other.weights[s].data(), bytes) != 0) {
        return false;
      }
    }
    return true;
  }

  std::vector<std::vector<T>> weights, gradients;
};

/// Options, for both sides.
using Options = std::vector<std::pair<std::string, std::string>>;

inline std::vector<tandem_option> in_c(const Options& options) {
  std::vector<tandem_option> list;
  for (const auto& [name, value] : options) list.push_back({name.c_str(), value.c_str()});
  return list;
}

inline std::vector<SegmentSpec> specs_of(const std::vector<std::size_t>& sizes) {
  std::vector<SegmentSpec> specs;
  for (const std::size_t size : sizes) specs.push_back({size});
  return specs;
}

/// The test's own client, closed at the end.
class Client {
 public:
  explicit Client(client* it) : it_(it) {
    if (it == nullptr) ADD_FAILURE() << tandem_v1_error();
  }
  Client(Client&& other) noexcept : it_(std::exchange(other.it_, nullptr)) {}
  Client& operator=(Client&& other) noexcept {
    std::swap(it_, other.it_);
    return *this;
  }
  ~Client() { client_close(it_); }
  client* get() const { return it_; }
  tandem_rule* rule() const { return client_rule(it_); }

 private:
  client* it_;
};

}  // namespace tandem::testing
