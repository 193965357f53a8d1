// SPDX-License-Identifier: MIT
// Commands over a store in a PostgreSQL database, as a user meets them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/test_process.h"
#include "cli/test_program.h"
#include "study/test_rows.h"
#include "tests/postgres_server.h"
#include "tests/temp_folder.h"

namespace tandem::cli {
namespace {

using tests::PostgresServer;

constexpr const char* kStudy = R"(
name = "s"
epochs = 2
seeds = [1, 2]
[[task]]
data = "synthetic:rows=192,features=5,classes=3,noise=0.1,seed=3"
lambda = [0.1, 0.01]
batch = 64
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]
[[optimizer]]
name = "ro-to"
lr = 0.1
)";

class PostgresCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = PostgresServer::missing();
    if (!missing.empty()) GTEST_SKIP() << missing;
    server().clear();
    study_ = folder_.write("s.toml", kStudy);
    url_ = server().url();
  }
  static PostgresServer& server() { return PostgresServer::shared(); }
  Result run(const std::string& command, const std::string& store, bool errors = false) const {
    return program(command + " --store " + shell_word(store), errors);
  }
  std::string study_command() const { return "study " + shell_word(study_); }

  tests::TempFolder folder_;
  std::string study_;
  std::string url_;
};

TEST_F(PostgresCommand, EveryCommandTakesIt) {
  const std::string file = folder_ / "alone.db";
  ASSERT_EQ(run(study_command(), file).exit_code, 0);
  const auto expected = study::all_rows(file, "s");
  ASSERT_EQ(run(study_command(), url_).exit_code, 0);
  EXPECT_EQ(study::all_rows(url_, "s"), expected);

  const auto shown = json_lines(run("runs show s --json", url_).out);
  EXPECT_EQ(shown.at(0)["complete"], true);
  EXPECT_EQ(shown.at(0)["command"], "tandem study s.toml --store " + url_);
  expect_end(run("runs list", url_), 0, {"s"});
  EXPECT_FALSE(run("report --json", url_).out.empty());
  const std::string page = folder_ / "page.html";
  EXPECT_EQ(run("report --html " + page, url_).exit_code, 0);
  EXPECT_NE(contents(page).find("--store " + url_), std::string::npos);
  EXPECT_EQ(run("export csv --out " + std::string(folder_ / "a.csv"), url_).exit_code, 0);
  EXPECT_EQ(run("export csv --out " + std::string(folder_ / "b.csv"), file).exit_code, 0);
  EXPECT_FALSE(contents(folder_ / "a.csv").empty());

  // In both directions.
  const std::string copy = folder_ / "copy.db";
  EXPECT_EQ(run("runs merge " + url_, copy).exit_code, 0);
  EXPECT_EQ(study::all_rows(copy, "s"), expected);
  EXPECT_EQ(run("runs rm s", url_).exit_code, 0);
  EXPECT_EQ(run("runs merge " + copy, url_).exit_code, 0);
  EXPECT_EQ(study::all_rows(url_, "s"), expected);
}

TEST_F(PostgresCommand, ARoleThatMayOnlyReadMayReport) {
  ASSERT_EQ(run(study_command(), url_).exit_code, 0);
  server().sql(
      "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA tandem TO "
      "reader; "
      "GRANT SELECT ON ALL TABLES IN SCHEMA tandem TO reader");
  const std::string reader = server().url("reader");
  EXPECT_EQ(run("report", reader).exit_code, 0);
  EXPECT_EQ(run("runs show s", reader).exit_code, 0);
  expect_end(run(study_command(), reader, true), kData, {"may read the store but not write"});
  expect_end(run("runs rm s", reader, true), kData, {"may read the store but not write"});
  server().clear();
  server().sql("DROP ROLE reader");
}

TEST_F(PostgresCommand, APasswordInTheUrlIsRefused) {
  const std::string url = "postgresql://me:s3cret@127.0.0.1/runs";
  for (const std::string& command :
       {study_command(), std::string("runs list"), std::string("report"),
        std::string("export csv --out x"), std::string("serve")}) {
    const Result result = run(command, url, true);
    expect_end(result, kData, {"password", ".pgpass"});
    EXPECT_EQ(result.out.find("s3cret"), std::string::npos) << result.out;
  }
}

TEST_F(PostgresCommand, AServerThatIsNotThereIsSaidAtOnce) {
  const std::string url = "postgresql://127.0.0.1:1/runs";
  expect_end(run(study_command(), url, true), kData, {url, "cannot connect"});
  expect_end(run("runs list", url, true), kData, {url, "cannot connect"});
  expect_end(run("runs list", url_, true), kData, {url_, "has no store"});
}

/// Leases are by the server's clock: a machine whose own is an hour off neither loses its units nor
/// takes those of others.
TEST_F(PostgresCommand, AClockThatIsAnHourOffDoesNoHarm) {
  if (access("/usr/bin/faketime", X_OK) != 0) GTEST_SKIP() << "faketime was not found";
  const std::string file = folder_ / "alone.db";
  ASSERT_EQ(run(study_command(), file).exit_code, 0);
  const std::string command = "$T " + study_command() + " --store " + url_;
  const Result result = shell("faketime -f +1h " + command + " & faketime -f -1h " + command +
                              " & " + command + "; wait");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(study::all_rows(url_, "s"), study::all_rows(file, "s"));
  EXPECT_EQ(server().sql("SELECT count(*) FROM tandem.unit WHERE "
                         "abs(finished - extract(epoch FROM now())) > 600"),
            "0\n");
}

/// Stopped by Ctrl-C while it waits for a server that is gone.
TEST_F(PostgresCommand, CtrlCEndsTheWaitForAServer) {
  folder_.write("long.toml", std::string(kStudy) + "\n[[optimizer]]\nname = \"sgd\"\nlr = 0.1\n");
  std::string text = contents(folder_ / "long.toml");
  text.replace(text.find("epochs = 2"), 10, "epochs = 20000");
  folder_.write("long.toml", text);
  Process process({"study", folder_ / "long.toml", "--store", url_});
  while (server().sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tandem'") !=
         "1\n") {
    ASSERT_FALSE(process.ends_within(std::chrono::milliseconds(50)));
  }
  ASSERT_FALSE(process.ends_within(std::chrono::milliseconds(500)));
  server().stop();
  ASSERT_FALSE(process.ends_within(std::chrono::milliseconds(2500)));
  process.send(SIGINT);
  EXPECT_TRUE(process.ends_within(std::chrono::seconds(20)));
  server().start();
  EXPECT_EQ(process.wait(), kInterrupted);
}

TEST_F(PostgresCommand, TheBenchmarkCleansUp) {
  const auto rows = json_lines(run("bench store --quick --json", url_).out);
  EXPECT_GT(rows.size(), 5U);
  EXPECT_EQ(server().sql("SELECT count(*) FROM tandem.study"), "0\n");
}

}  // namespace
}  // namespace tandem::cli
