// SPDX-License-Identifier: MIT
// Pages of runs: what is found, and in which order.
#include "serve/run_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/temp_folder.h"

namespace tandem::serve {
namespace {

using Json = nlohmann::ordered_json;
using store::MemberRow;
using store::Phase;
using store::Store;

class RunTableTest : public ::testing::Test {
 protected:
  RunTableTest() {
    Store store = Store::open(folder_ / "runs.db", Store::Mode::write);
    study_ = store::add_small_study(store, {.task = "kdd logistic"});
    const auto units = store.units(study_);
    MemberRow wild = run("Diag-TO", "9", 0.1);
    wild.diverged = true;
    MemberRow left = run("diag-to", "0.10", 0.3);
    left.pruned = true;
    store::finish_unit(store, study_, units[0],
                       {run("adam", "0.10", 0.5), run("adam", "0.9", 0.5), wild, left});
    MemberRow measured = run("adam", "0.9", 0.4);
    measured.phase = Phase::measure;
    measured.seed = 15;
    MemberRow broken = run("adam", "1e-3", std::numeric_limits<double>::infinity());
    store::finish_unit(store, study_, units[1], {measured, broken});
  }

  static MemberRow run(const std::string& optimizer, const std::string& lr, double loss) {
    return {.optimizer = optimizer,
            .method = "adam",
            .options = {{"lr", lr}},
            .seed = 7,
            .points = {{.epoch = 0, .train_loss = 2}, {.epoch = 1, .train_loss = loss}}};
  }
  Json page(const RunQuery& query) const {
    return RunTable(Store::open(folder_ / "runs.db", Store::Mode::read), study_).page(query);
  }
  /// Places in the store, from 0.
  std::vector<int> ids(const RunQuery& query) const {
    std::vector<int> ids;
    const Json found = page(query);
    for (const Json& run : found["runs"]) ids.push_back(run["id"].get<int>() - 1);
    return ids;
  }

  tests::TempFolder folder_;
  std::int64_t study_ = 0;
};

using Ids = std::vector<int>;

TEST_F(RunTableTest, FindsByWordsPhaseAndOutcome) {
  EXPECT_EQ(ids({.order = "id"}), (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ids({.words = " KDD diag ", .order = "id"}), (Ids{2, 3}));
  EXPECT_EQ(ids({.words = "lr 0.9", .order = "id"}), (Ids{1, 4}));
  EXPECT_EQ(ids({.words = "seed 15"}), (Ids{4}));
  EXPECT_EQ(ids({.phase = "measure"}), (Ids{4}));
  EXPECT_EQ(ids({.outcome = "diverged"}), (Ids{2}));
  EXPECT_EQ(ids({.outcome = "pruned"}), (Ids{3}));
  EXPECT_EQ(ids({.words = "adam", .phase = "tune", .outcome = "finished"}), (Ids{0, 1, 5}));
  EXPECT_EQ(ids({.words = "nothing of the kind"}), Ids{});
}

TEST_F(RunTableTest, OrdersByEveryColumn) {
  EXPECT_EQ(ids({}), (Ids{3, 4, 0, 1, 2, 5}));  // those without a loss last
  EXPECT_EQ(ids({.descending = true}), (Ids{0, 1, 4, 3, 2, 5}));
  EXPECT_EQ(ids({.order = "optimizer"}), (Ids{0, 1, 4, 5, 2, 3}));  // in either case
  EXPECT_EQ(ids({.order = "options"}), (Ids{1, 4, 0, 3, 5, 2}));    // 0.9, 0.10, 1e-3, 9
  EXPECT_EQ(ids({.order = "seed", .descending = true}), (Ids{4, 0, 1, 2, 3, 5}));
  EXPECT_EQ(ids({.order = "phase"}), (Ids{4, 0, 1, 2, 3, 5}));
  EXPECT_EQ(ids({.order = "outcome"}), (Ids{2, 0, 1, 4, 5, 3}));
  EXPECT_EQ(ids({.order = "task"}), (Ids{0, 1, 2, 3, 4, 5}));
}

TEST_F(RunTableTest, PagesPutTogetherAreTheWhole) {
  for (const char* order :
       {"id", "task", "optimizer", "phase", "seed", "loss", "outcome", "options"}) {
    for (const bool descending : {false, true}) {
      const Ids whole = ids({.order = order, .descending = descending});
      for (const std::size_t count : {std::size_t{1}, std::size_t{4}}) {
        Ids together;
        for (std::size_t offset = 0; offset < whole.size(); offset += count) {
          const Ids part =
              ids({.order = order, .descending = descending, .offset = offset, .count = count});
          together.insert(together.end(), part.begin(), part.end());
        }
        EXPECT_EQ(together, whole) << order << ' ' << descending << ' ' << count;
      }
    }
  }
}

TEST_F(RunTableTest, APageSaysHowManyThereAre) {
  const Json some = page({.words = "adam", .offset = 3, .count = 2});
  EXPECT_EQ(some["tasks"], Json({"kdd logistic"}));
  EXPECT_EQ(some["total"], 6);
  EXPECT_EQ(some["found"], 4);
  ASSERT_EQ(some["runs"].size(), 1U);
  EXPECT_EQ(some["runs"][0]["loss"], nullptr);
  EXPECT_EQ(some["runs"][0]["options"], Json({{"lr", "1e-3"}}));
  EXPECT_TRUE(page({.offset = 1'000'000})["runs"].empty());
  EXPECT_TRUE(page({.count = 0})["runs"].empty());
}

TEST_F(RunTableTest, QueriesAreRead) {
  const RunQuery query = parse_run_query(
      "words=a%20b&phase=tune&outcome=pruned&order=seed&direction=descending&"
      "offset=7&count=1000");
  EXPECT_EQ(query.words, "a b");
  EXPECT_EQ(query.phase, "tune");
  EXPECT_EQ(query.outcome, "pruned");
  EXPECT_EQ(query.order, "seed");
  EXPECT_TRUE(query.descending);
  EXPECT_EQ(query.offset, 7U);
  EXPECT_EQ(query.count, kMostRuns);
  for (const char* wrong :
       {"phase=both", "outcome=", "order=losses", "direction=up", "offset=", "offset=x",
        "offset=1 ", "offset=99999999999999999999", "count=1001", "count=-1"}) {
    EXPECT_THROW(parse_run_query(wrong), std::invalid_argument) << wrong;
  }
}

}  // namespace
}  // namespace tandem::serve
