// SPDX-License-Identifier: MIT
#include "serve/connections.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace tandem::serve {
namespace {

using namespace std::chrono_literals;

/// Both ends of a connection.
class Pair {
 public:
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~Pair() {
    for (const int end : ends_) close(end);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  int ours() const { return ends_[0]; }
  bool is_shut() const {
    pollfd theirs = {.fd = ends_[1], .events = POLLIN, .revents = 0};
    return poll(&theirs, 1, 0) == 1 && (theirs.revents & POLLHUP) != 0;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

constexpr Connections::Limits kLimits = {{
    {.time = 10s, .number = 3},  // reading
    {},                          // answering
    {.time = 60s, .number = 2},  // sending
    {.time = 60s},               // streaming
    {},                          // watching
}};

TEST(Connections, EndsWhoeverIsLate) {
  Connections all(kLimits);
  const Pair slow, quick, watching;
  Connections::Connection* first = all.open(slow.ours());
  Connections::Connection* second = all.open(quick.ours());
  Connections::Connection* third = all.open(watching.ours());
  const auto begin = Connections::Clock::now();
  all.move(second, Phase::answering);
  all.move(third, Phase::watching);
  all.end_late(begin + 9s);
  EXPECT_FALSE(slow.is_shut());
  all.end_late(begin + 11s);
  EXPECT_TRUE(slow.is_shut());
  all.end_late(begin + 9999s);
  EXPECT_FALSE(quick.is_shut());  // this takes as long as it takes
  EXPECT_FALSE(watching.is_shut());
  all.move(second, Phase::sending);
  all.move(first, Phase::sending);  // stays ended
  EXPECT_EQ(all.count(Phase::sending), 1U);
  all.end_late(begin + 9999s);
  EXPECT_TRUE(quick.is_shut());
  EXPECT_FALSE(all.empty());
  for (Connections::Connection* connection : {first, second, third}) all.close(connection);
  EXPECT_TRUE(all.empty());
}

TEST(Connections, TheFirstToComeLeavesForANewOne) {
  Connections all(kLimits);
  std::array<Pair, 5> pairs;
  std::vector<Connections::Connection*> found;
  for (const Pair& pair : pairs) found.push_back(all.open(pair.ours()));
  EXPECT_TRUE(pairs[0].is_shut());
  EXPECT_TRUE(pairs[1].is_shut());
  for (const std::size_t i : {2, 3, 4}) EXPECT_FALSE(pairs[i].is_shut()) << i;
  EXPECT_EQ(all.count(Phase::reading), 3U);
  // The order is that of coming into the phase.
  for (const std::size_t i : {4, 2, 3}) all.move(found[i], Phase::sending);
  EXPECT_TRUE(pairs[4].is_shut());
  EXPECT_FALSE(pairs[2].is_shut());
  EXPECT_FALSE(pairs[3].is_shut());
  for (Connections::Connection* connection : found) all.close(connection);
}

}  // namespace
}  // namespace tandem::serve
