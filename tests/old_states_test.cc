// SPDX-License-Identifier: MIT
// State files of earlier versions load, and training goes on from them as it did.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tandem::testing {
namespace {

struct OldState {
  std::string file;
  std::string rule;
  std::size_t dimension;
  OptionMap options = {};
};

const std::vector<OldState> old_states = {
    {"adagrad", "adagrad", 7},
    {"adam", "adam", 7},
    {"adam-to", "adam-to", 7},
    {"adamw", "adamw", 7},
    {"block-to", "block-to", 7},
    {"diag-to", "diag-to", 7},
    {"full-to", "full-to", 7},
    {"full-to-dense", "full-to", 24, {{"form", "dense"}, {"alpha", "1e-3"}}},
    {"full-to-factors", "full-to", 520, {{"form", "dense"}, {"alpha", "1e-4"}}},
    {"full-to-span", "full-to", 520, {{"form", "span"}, {"alpha", "1e-4"}}},
    {"lion", "lion", 7},
    {"momentum", "momentum", 7},
    {"nesterov", "nesterov", 7},
    {"rmsprop", "rmsprop", 7},
    {"ro-to", "ro-to", 7},
    {"sgd", "sgd", 7}};

TEST(OldStates, load_and_go_on) {
  const std::filesystem::path folder = std::filesystem::path(TANDEM_SOURCE_DIR) / "tests/states";
  for (const OldState& old : old_states) {
    SCOPED_TRACE(old.file);
    const auto optimizer = make_optimizer(old.rule, old.dimension, old.options);
    std::ifstream state(folder / (old.file + ".state"), std::ios::binary);
    ASSERT_TRUE(state);
    optimizer->load(state);
    EXPECT_EQ(optimizer->clock(), (Clock{.step = 6, .epoch = 1}));
    std::vector<float> w(old.dimension), later(old.dimension), g(old.dimension);
    std::ifstream weights(folder / (old.file + ".weights"), std::ios::binary);
    for (std::vector<float>* values : {&w, &later}) {
      weights.read(reinterpret_cast<char*>(values->data()),
                   static_cast<std::streamsize>(values->size() * sizeof(float)));
      ASSERT_TRUE(weights);
    }
    for (int t = 6; t <= 10; ++t) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        const auto place = static_cast<float>(i);
        g[i] = (0.5F + 0.1F * static_cast<float>(i % 5)) * w[i] +
               0.2F * std::sin(static_cast<float>(t) + 3.0F * place);
      }
      optimizer->step(w, g);
    }
    // The bits are of the CPU target that wrote them.
    for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], later[i], 2e-6) << i;
  }
}

}  // namespace
}  // namespace tandem::testing
