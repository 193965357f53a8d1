// SPDX-License-Identifier: MIT
// Memory that runs out in a step over several tensors: each request of the adapter and the library
// fails in turn, and no tensor's weights or state change before all can.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>

#include "tests/faults/failing_memory.h"
#include "torch/test_models.h"

namespace tandem::optim::testing {
namespace {

using tandem::testing::fail_each_request;

std::string archived(const Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream stream;
  archive.save_to(stream);
  return stream.str();
}

void expect_undisturbed(const Record& record, torch::ScalarType type, bool strided) {
  SCOPED_TRACE(record.rule + (strided ? ", gradients with strides" : ""));
  Tensors weights = make_weights(type), other = make_weights(type);
  const auto optimizer = record.make({weights});
  const auto twin = record.make({other});
  for (int t = 1; t <= 4; ++t) {
    set_gradients(weights, t);
    set_gradients(other, t);
    if (strided) {
      for (torch::Tensor& weight : weights) {
        weight.mutable_grad() = torch::stack({weight.grad(), weight.grad()}, -1).select(-1, 1);
      }
    }
    const Tensors before = copies(weights);
    const std::string state = archived(*optimizer);
    std::size_t failures = fail_each_request(
        [&] { optimizer->step(); },
        [&](std::size_t n, bool threw) {
          ASSERT_TRUE(threw) << "step " << t << ", request " << n;
          ASSERT_TRUE(same_bits(weights, before)) << "step " << t << ", request " << n;
          ASSERT_TRUE(archived(*optimizer) == state) << "step " << t << ", request " << n;
        });
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
    EXPECT_GT(failures, 0U);
    twin->step();
    ASSERT_TRUE(same_bits(weights, other)) << t;
  }
}

TEST(Faults, change_no_tensor_before_all_can_be_changed) {
  for (const Record& record : records()) {
    expect_undisturbed(record, torch::kFloat, false);
    expect_undisturbed(record, torch::kBFloat16, false);
    expect_undisturbed(record, torch::kDouble, true);
  }
}

}  // namespace
}  // namespace tandem::optim::testing
