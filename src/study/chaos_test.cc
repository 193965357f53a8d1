// SPDX-License-Identifier: MIT
// Processes that share a study while they are killed, stopped for longer than their leases, robbed of
// the study, which is merged back, and cut off from a server that crashes: in the end the rows are
// those of a run that was left alone, in a file.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "study/load.h"
#include "study/runner.h"
#include "study/test_rows.h"
#include "tests/postgres_server.h"
#include "tests/temp_folder.h"

namespace tandem::study {
namespace {

using store::Store;
using namespace std::chrono_literals;

constexpr const char* kStudy = R"(
name = "s"
epochs = 2
seeds = [1, 2]
[[task]]
data = "synthetic:rows=192,features=5,classes=3,noise=0.1,seed=3"
lambda = [0.1, 0.01, 0.001, 0.0001]
batch = 64
[[optimizer]]
name = "adam"
baseline = true
lr = [0.01, 0.1]
[[optimizer]]
name = "storm+diag-to"
lr = [0.02, 0.2]
[[optimizer]]
name = "ro-to"
lr = 0.1
)";

constexpr int kLeaseSeconds = 1;
constexpr auto kStopped = 2500ms;

void run_study(const std::string& location) {
  Store store = Store::open(location, Store::Mode::write);
  // Threads do not survive a fork.
  Runner runner(parse_study(kStudy, "s.toml"), {.memory = std::size_t{1} << 30,
                                                .executor = serial_executor(),
                                                .lease_seconds = kLeaseSeconds});
  runner.run(store, [](const Status&) {
    std::this_thread::sleep_for(5ms);  // so that there is something to disturb
    return true;
  });
}

/// A process at work: starts again when somebody removes its study.
class Worker {
 public:
  explicit Worker(const std::string& location) : pid_(fork()) {
    if (pid_ != 0) return;
    while (true) {
      try {
        run_study(location);
        _exit(0);
      } catch (const store::StudyRemoved&) {
        std::this_thread::sleep_for(20ms);
      } catch (const store::StoreError& error) {
        // Who starts while the server is down is told so at once.
        if (std::string_view(error.what()).find("connect") == std::string_view::npos) {
          std::fprintf(stderr, "worker: %s\n", error.what());
          _exit(1);
        }
        std::this_thread::sleep_for(100ms);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "worker: %s\n", error.what());
        _exit(1);
      }
    }
  }
  void kill_it() const {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  /// For longer than a lease. Another process wakes it: this one may have to wait for a transaction
  /// in which it was stopped.
  void stop() {
    kill(pid_, SIGSTOP);
    resumes_ = std::chrono::steady_clock::now() + kStopped;
    if (fork() != 0) return;
    std::this_thread::sleep_for(kStopped);
    kill(pid_, SIGCONT);
    _exit(0);
  }
  bool stopped() const { return std::chrono::steady_clock::now() < resumes_; }
  bool running() { return waitpid(pid_, &status_, WNOHANG) == 0; }
  /// Waits for its end.
  void expect_good_end() {
    if (status_ == -1) waitpid(pid_, &status_, 0);
    EXPECT_TRUE(WIFEXITED(status_));
    EXPECT_EQ(WEXITSTATUS(status_), 0);
  }

 private:
  pid_t pid_;
  int status_ = -1;
  std::chrono::steady_clock::time_point resumes_ = {};
};

/// Takes the study away from those who work on it, and gives back what was done of it.
void rob(const std::string& location, const std::filesystem::path& copy, bool give_back) {
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(copy.string() + end);
  if (give_back) Store::open(copy, Store::Mode::write).merge(location);
  Store store = Store::open(location, Store::Mode::write);
  if (const auto study = store.find_study("s")) store.remove_study(study->id, true);
  if (give_back) store.merge(copy);
}

/// What the store is kept by, and how it is interfered with.
class Place {
 public:
  virtual ~Place() = default;
  /// For the worker of this number.
  virtual std::string location(std::size_t worker) const = 0;
  /// Cuts connections, if there are any.
  virtual bool cut(bool /*all*/) { return false; }
};

class File : public Place {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}
  std::string location(std::size_t /*worker*/) const override { return path_; }

 private:
  std::string path_;
};

/// Every other worker comes through a pooler.
class Server : public Place {
 public:
  Server() { server_.clear(); }
  std::string location(std::size_t worker) const override {
    return worker % 2 == 0 ? server_.url() : pooler_.url();
  }
  bool cut(bool all) override {
    if (all) {
      server_.crash();
    } else {
      pooler_.stop();
    }
    std::this_thread::sleep_for(100ms);
    if (all) {
      server_.start();
    } else {
      pooler_.start();
    }
    return true;
  }

 private:
  tests::PostgresServer& server_ = tests::PostgresServer::shared();
  tests::Pgbouncer pooler_{server_};
};

void disturb(Place& place, std::size_t number, int disturbances) {
  const tests::TempFolder folder;
  run_study(folder / "alone.db");
  const auto expected = all_rows(folder / "alone.db", "s");

  const std::string location = place.location(0);
  { Store::open(location, Store::Mode::write); }
  std::mt19937_64 random(7);
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < number; ++i) workers.emplace_back(place.location(i));
  int done = 0;
  int kills = 0;
  int stops = 0;
  int thefts = 0;
  int cuts = 0;
  while (done < disturbances) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 200));
    for (std::size_t i = 0; i < number; ++i) {
      if (workers[i].running()) continue;
      // All was done: begin once more.
      workers[i].expect_good_end();
      rob(location, folder / "copy.db", false);
      workers[i] = Worker(place.location(i));
    }
    const std::size_t i = random() % number;
    switch (random() % 5) {
      case 0:
        workers[i].kill_it();
        workers[i] = Worker(place.location(i));
        ++kills;
        break;
      case 1:
      case 2:
        if (workers[i].stopped()) continue;
        workers[i].stop();
        ++stops;
        break;
      case 3:
        if (!place.cut(random() % 2 == 0)) continue;
        ++cuts;
        break;
      default:
        rob(location, folder / "copy.db", random() % 3 != 0);
        ++thefts;
    }
    ++done;
  }
  for (Worker& worker : workers) worker.expect_good_end();
  EXPECT_EQ(all_rows(location, "s"), expected);
  EXPECT_TRUE(load_study(Store::open(location, Store::Mode::read), "s").complete);
  std::printf("%d kills, %d stops, %d thefts, %d cuts\n", kills, stops, thefts, cuts);
}

void disturb_file(int disturbances) {
  const tests::TempFolder folder;
  File file(folder / "runs.db");
  disturb(file, 3, disturbances);
}

TEST(Chaos, EndsWithTheRowsOfARunThatWasLeftAlone) { disturb_file(20); }

TEST(Chaos, SlowEndsWithTheRowsOfARunThatWasLeftAlone) { disturb_file(200); }

TEST(Chaos, PostgresEndsWithTheSameRows) {
  const std::string missing = tests::Pgbouncer::missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  Server server;
  disturb(server, 4, 12);
}

TEST(Chaos, SlowPostgresEndsWithTheSameRows) {
  const std::string missing = tests::Pgbouncer::missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
  for (const std::size_t workers : {2U, 4U, 8U}) {
    Server server;
    disturb(server, workers, 80);
  }
}

}  // namespace
}  // namespace tandem::study
