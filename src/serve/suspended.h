// SPDX-License-Identifier: MIT
// Connections that libmicrohttpd leaves alone until there is something to tell them. They cost no
// thread. All of them must be resumed before it stops.
#pragma once

#include <microhttpd.h>

#include <mutex>
#include <unordered_set>

namespace tandem::serve {

/// Any thread may call any of it but suspend(), which is for libmicrohttpd's callbacks.
class Suspended {
 public:
  /// False, and nothing happens, after close().
  bool suspend(MHD_Connection* connection) {
    const std::lock_guard guard(mutex_);
    if (closed_) return false;
    connections_.insert(connection);
    MHD_suspend_connection(connection);
    return true;
  }
  /// Nothing happens where it is not suspended.
  void resume(MHD_Connection* connection) {
    const std::lock_guard guard(mutex_);
    if (connections_.erase(connection) > 0) MHD_resume_connection(connection);
  }
  /// Resumes all, and suspends none from now on.
  void close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    for (MHD_Connection* connection : connections_) MHD_resume_connection(connection);
    connections_.clear();
  }

 private:
  std::mutex mutex_;  // of what follows
  bool closed_ = false;
  std::unordered_set<MHD_Connection*> connections_;
};

}  // namespace tandem::serve
