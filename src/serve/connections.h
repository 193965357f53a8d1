// SPDX-License-Identifier: MIT
// The server's connections and how long each of them may take for what it does. Whoever sends a
// request byte by byte, or does not read its answer, cannot keep others out.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>

namespace tandem::serve {

/// What a connection does.
enum class Phase {
  reading,    // no whole request has come: the first, or another after an answer
  answering,  // the answer is being made
  sending,    // the client receives the answer
  streaming,  // the client receives an event
  watching,   // the client waits for the next event
};

/// Any thread may call any of it.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;

  /// Zero: no limit.
  struct Limit {
    std::chrono::milliseconds time = std::chrono::milliseconds::zero();
    std::size_t number = 0;
  };
  static constexpr std::size_t kPhases = 5;
  using Limits = std::array<Limit, kPhases>;

  struct Connection {
    int socket = -1;
    Phase phase = Phase::reading;
    Clock::time_point since = {};  // in this phase
    bool ended = false;            // the socket was shut down
    std::list<Connection>::iterator place = {};
  };

  explicit Connections(const Limits& limits) : limits_(limits) {}

  /// A new connection, which reads. Valid until close().
  Connection* open(int socket);
  /// It is in that phase from now on. Where too many are, the one that came first is ended.
  void move(Connection* connection, Phase phase);
  /// To be called before the socket is closed: its number may be another connection's soon.
  void close(Connection* connection);
  /// Ends those that have been in their phase for too long.
  void end_late(Clock::time_point now);
  /// How many there are that were not ended.
  std::size_t count(Phase phase) const;
  /// Whether there are none, not even ended ones.
  bool empty() const;

 private:
  std::list<Connection>& list(Phase phase) { return lists_[static_cast<std::size_t>(phase)]; }
  void put(Connection* connection, Phase phase);
  void end(Connection& connection);

  const Limits limits_;
  mutable std::mutex mutex_;  // of what follows
  // One for each phase, the one that came into it first in front.
  std::array<std::list<Connection>, kPhases> lists_;
  std::list<Connection> ended_;
};

}  // namespace tandem::serve
