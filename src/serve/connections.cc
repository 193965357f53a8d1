// SPDX-License-Identifier: MIT
#include "serve/connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>

namespace tandem::serve {

Connections::Connection* Connections::open(int socket) {
  const std::lock_guard guard(mutex_);
  std::list<Connection>& reading = list(Phase::reading);
  Connection& connection = reading.emplace_back();
  connection.socket = socket;
  connection.place = std::prev(reading.end());
  put(&connection, Phase::reading);
  return &connection;
}

void Connections::move(Connection* connection, Phase phase) {
  const std::lock_guard guard(mutex_);
  if (!connection->ended) put(connection, phase);
}

void Connections::put(Connection* connection, Phase phase) {
  std::list<Connection>& to = list(phase);
  to.splice(to.end(), list(connection->phase), connection->place);
  connection->phase = phase;
  connection->since = Clock::now();
  const std::size_t limit = limits_[static_cast<std::size_t>(phase)].number;
  if (limit > 0 && to.size() > limit) end(to.front());
}

void Connections::end(Connection& connection) {
  ::shutdown(connection.socket, SHUT_RDWR);
  connection.ended = true;
  ended_.splice(ended_.end(), list(connection.phase), connection.place);
}

void Connections::close(Connection* connection) {
  const std::lock_guard guard(mutex_);
  (connection->ended ? ended_ : list(connection->phase)).erase(connection->place);
}

void Connections::end_late(Clock::time_point now) {
  const std::lock_guard guard(mutex_);
  for (std::size_t i = 0; i < kPhases; ++i) {
    if (limits_[i].time == std::chrono::milliseconds::zero()) continue;
    while (!lists_[i].empty() && now - lists_[i].front().since >= limits_[i].time) {
      end(lists_[i].front());
    }
  }
}

std::size_t Connections::count(Phase phase) const {
  const std::lock_guard guard(mutex_);
  return lists_[static_cast<std::size_t>(phase)].size();
}

bool Connections::empty() const {
  const std::lock_guard guard(mutex_);
  return ended_.empty() &&
         std::all_of(lists_.begin(), lists_.end(), [](const auto& found) { return found.empty(); });
}

}  // namespace tandem::serve
