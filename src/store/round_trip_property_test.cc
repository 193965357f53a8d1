// SPDX-License-Identifier: MIT
// Whatever members a unit has, they come back as they went in.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "store/test_store.h"

namespace tandem::store {
namespace {

/// Any bits: numbers of all sizes, infinities, NaN.
double any_double() { return std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>()); }

/// Text in UTF-8, quotes and control characters among it.
std::string any_text() {
  std::string text;
  for (const int piece : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 140))) {
    static const std::vector<std::string> kWide = {"é", "研", "\U0001F600", "'", "\""};
    if (piece > 0 && piece < 128) {
      text += static_cast<char>(piece);
    } else {
      text += kWide[static_cast<std::size_t>(piece) % kWide.size()];
    }
  }
  return text;
}

MemberRow any_member() {
  const auto count = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
  MemberRow member{.optimizer = any_text(),
                   .method = any_text(),
                   .baseline = *rc::gen::arbitrary<bool>(),
                   .options = {},
                   .seed = count(),
                   .phase = *rc::gen::arbitrary<bool>() ? Phase::tune : Phase::measure,
                   .diverged = *rc::gen::arbitrary<bool>(),
                   .diverged_at = count(),
                   .pruned = *rc::gen::arbitrary<bool>(),
                   .state_bytes = count(),
                   .points = {}};
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) member.options[any_text()] = any_text();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    member.points.push_back({.epoch = count(),
                             .step = count(),
                             .gradient_evaluations = count(),
                             .seconds = any_double(),
                             .train_loss = any_double(),
                             .validation_loss = any_double(),
                             .validation_accuracy = any_double(),
                             .residual = any_double(),
                             .delta = any_double(),
                             .estimator_error = any_double(),
                             .batch_error = any_double(),
                             .distance = any_double()});
  }
  return member;
}

class StoreProperty : public AnyStore {};

TEST_P(StoreProperty, MembersRoundTrip) {
  Store store = write();
  int number = 0;
  EXPECT_TRUE(rc::check([&] {
    const std::int64_t study = plan(store, 1, "study " + std::to_string(++number));
    std::vector<MemberRow> members;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) members.push_back(any_member());
    RC_ASSERT(store.finish(*store.lease(study, "me", 60), members));
    const auto found = store.members(store.tasks(study)[0].id, Curves::all);
    RC_ASSERT(found.size() == members.size());
    for (std::size_t i = 0; i < members.size(); ++i) expect_same(found[i], members[i]);
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

INSTANTIATE_TEST_SUITE_P(Databases, StoreProperty,
                         ::testing::Values(Database::sqlite, Database::postgres), name_of);

}  // namespace
}  // namespace tandem::store
