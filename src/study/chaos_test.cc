// SPDX-License-Identifier: MIT
// Processes that share a study while they are killed, stopped for longer than their leases, and
// robbed of the study, which is merged back: in the end the rows are those of a run that was left
// alone.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "study/load.h"
#include "study/runner.h"
#include "study/test_rows.h"
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

void run_study(const std::filesystem::path& path) {
  Store store = Store::open(path, Store::Mode::write);
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
  explicit Worker(const std::filesystem::path& path) : pid_(fork()) {
    if (pid_ != 0) return;
    while (true) {
      try {
        run_study(path);
        _exit(0);
      } catch (const store::StudyRemoved&) {
        std::this_thread::sleep_for(20ms);
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
void rob(const std::filesystem::path& path, const std::filesystem::path& copy, bool give_back) {
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(copy.string() + end);
  if (give_back) Store::open(copy, Store::Mode::write).merge(path);
  Store store = Store::open(path, Store::Mode::write);
  if (const auto study = store.find_study("s")) store.remove_study(study->id, true);
  if (give_back) store.merge(copy);
}

void disturb(int disturbances) {
  const tests::TempFolder folder;
  run_study(folder / "alone.db");
  const auto expected = all_rows(folder / "alone.db", "s");

  const std::filesystem::path path = folder / "runs.db";
  { Store::open(path, Store::Mode::write); }
  std::mt19937_64 random(7);
  std::vector<Worker> workers;
  for (int i = 0; i < 3; ++i) workers.emplace_back(path);
  int done = 0;
  int kills = 0;
  int stops = 0;
  int thefts = 0;
  while (done < disturbances) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 200));
    for (Worker& worker : workers) {
      if (worker.running()) continue;
      // All was done: begin once more.
      worker.expect_good_end();
      rob(path, folder / "copy.db", false);
      worker = Worker(path);
    }
    Worker& victim = workers[random() % workers.size()];
    switch (random() % 4) {
      case 0:
        victim.kill_it();
        victim = Worker(path);
        ++kills;
        break;
      case 1:
      case 2:
        if (victim.stopped()) continue;
        victim.stop();
        ++stops;
        break;
      default:
        rob(path, folder / "copy.db", random() % 3 != 0);
        ++thefts;
    }
    ++done;
  }
  for (Worker& worker : workers) worker.expect_good_end();
  while (wait(nullptr) > 0) {
  }
  EXPECT_EQ(all_rows(path, "s"), expected);
  EXPECT_TRUE(load_study(Store::open(path, Store::Mode::read), "s").complete);
  std::printf("%d kills, %d stops, %d thefts\n", kills, stops, thefts);
}

TEST(Chaos, EndsWithTheRowsOfARunThatWasLeftAlone) { disturb(20); }

TEST(Chaos, SlowEndsWithTheRowsOfARunThatWasLeftAlone) { disturb(200); }

}  // namespace
}  // namespace tandem::study
