// SPDX-License-Identifier: MIT
// A store on a server, looked at while it changes and while the server is away.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "serve/catalogue.h"
#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/postgres_server.h"

namespace tandem::serve {
namespace {

using nlohmann::json;
using store::Store;
using tests::PostgresServer;

TEST(PostgresCatalogue, ShowsAStoreOnAServerAlsoAfterTheServerWasAway) {
  const std::string missing = PostgresServer::missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  PostgresServer& server = PostgresServer::shared();
  server.clear();
  const std::string url = server.url();
  Store store = Store::open(url, Store::Mode::write);
  const std::int64_t study = store::add_small_study(store, {});
  Catalogue catalogue({url});
  const auto overview = [&] {
    catalogue.refresh();
    return json::parse(*catalogue.overview().text);
  };
  EXPECT_EQ(overview()["stores"][0]["name"], url);
  EXPECT_EQ(overview()["studies"][0]["done"], 0);
  EXPECT_EQ(overview()["studies"][0]["state"], "stopped");
  store.tell(study, {.owner = store::this_owner(), .doing = "adam"});
  EXPECT_EQ(overview()["studies"][0]["workers"][0]["doing"], "adam");
  store::finish_unit(store, study, store.units(study)[0],
                     {{.optimizer = "adam", .method = "adam", .options = {{"lr", "1"}}}});
  EXPECT_EQ(overview()["studies"][0]["done"], 1);
  EXPECT_NE(catalogue.study(0, study), nullptr);
  server.stop();
  EXPECT_NE(overview()["stores"][0]["error"].get<std::string>().find("lost"), std::string::npos);
  EXPECT_NE(overview()["stores"][0]["error"].get<std::string>().find("connect"), std::string::npos);
  server.start();
  EXPECT_EQ(overview()["stores"][0]["error"], nullptr);
  EXPECT_EQ(overview()["studies"][0]["done"], 1);
}

}  // namespace
}  // namespace tandem::serve
