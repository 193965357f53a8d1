// SPDX-License-Identifier: MIT
// What viewers get when a store changes between two looks.
#include "serve/catalogue.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/temp_folder.h"

namespace tandem::serve {
namespace {

using nlohmann::json;
using store::Store;

class CatalogueTest : public ::testing::Test {
 protected:
  /// A study of one tuned run, in the place of one of that name.
  std::int64_t replace(const std::string& optimizer) {
    Store store = Store::open(path_, Store::Mode::write);
    if (const auto old = store.find_study("kdd")) store.remove_study(old->id, false);
    const std::int64_t study = store::add_small_study(store, {.optimizer = optimizer});
    store::finish_unit(store, study, store.units(study)[0],
                       {{.optimizer = optimizer,
                         .method = "adam",
                         .options = {{"lr", "1"}},
                         .points = {{.train_loss = 2}, {.epoch = 1, .train_loss = 1}}}});
    return study;
  }
  static std::string revision(Catalogue& catalogue) {
    catalogue.refresh();
    return json::parse(*catalogue.overview().text)["studies"][0]["revision"];
  }

  tests::TempFolder folder_;
  std::filesystem::path path_ = folder_ / "runs.db";
};

TEST_F(CatalogueTest, AStudyInTheRemovedOnesPlaceIsShownAsItIs) {
  const std::int64_t first = replace("first");
  Catalogue catalogue({path_});
  EXPECT_NE(catalogue.study(0, first)->find("\"first\""), std::string::npos);
  const std::string before = revision(catalogue);
  const std::int64_t second = replace("second");
  EXPECT_NE(revision(catalogue), before);
  EXPECT_EQ(catalogue.study(0, first), nullptr);  // it is gone, and its number with it
  EXPECT_NE(catalogue.study(0, second)->find("\"second\""), std::string::npos);
  EXPECT_EQ(catalogue.runs(0, first, {}), nullptr);
  EXPECT_NE(catalogue.runs(0, second, {})->find("\"second\""), std::string::npos);
}

TEST_F(CatalogueTest, AnotherStoreInTheFilesPlaceIsShownAsItIs) {
  const std::int64_t first = replace("first");
  Catalogue catalogue({path_});
  const std::string before = revision(catalogue);
  EXPECT_NE(catalogue.study(0, first), nullptr);
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_.string() + end);
  // The same numbers and counts, and other contents.
  ASSERT_EQ(replace("second"), first);
  EXPECT_NE(revision(catalogue), before);
  EXPECT_NE(catalogue.study(0, first)->find("\"second\""), std::string::npos);
}

TEST_F(CatalogueTest, WhatDidNotChangeIsWrittenOutOnce) {
  const std::int64_t study = replace("adam");
  Catalogue catalogue({path_});
  const Catalogue::Text text = catalogue.study(0, study);
  EXPECT_EQ(catalogue.study(0, study), text);
  {
    Store store = Store::open(path_, Store::Mode::write);
    store.tell(study, {.owner = store::this_owner(), .doing = "adam"});
    ASSERT_TRUE(store.lease(study, store::this_owner(), 60));
  }
  EXPECT_EQ(catalogue.study(0, study), text);
}

}  // namespace
}  // namespace tandem::serve
