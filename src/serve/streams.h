// SPDX-License-Identifier: MIT
// Streams of events: what is told goes to everybody who watches. A viewer costs no thread, and one
// who reads slowly misses events but gets the newest.
#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "serve/connections.h"
#include "serve/message.h"
#include "serve/suspended.h"

namespace tandem::serve {

class Streams {
 public:
  Streams(std::size_t limit, Connections& connections, Suspended& suspended)
      : limit_(limit), connections_(connections), suspended_(suspended) {}

  /// A response that begins with the event. Null where there are too many streams.
  MHD_Response* open(MHD_Connection* connection, Connections::Connection* entry,
                     const Event& first);
  /// Tells all streams that have not seen it.
  void publish(const Event& event);
  /// Tells the streams that wait, so that those whose viewer left are noticed.
  void heartbeat();
  /// Ends those whose viewer closed the connection.
  void end_left();
  std::size_t count() const;

 private:
  struct Stream {
    Streams* all = nullptr;
    std::list<Stream>::iterator place = {};
    MHD_Connection* connection = nullptr;
    Connections::Connection* entry = nullptr;
    std::uint64_t seen = 0;  // number of the last event in what follows
    std::shared_ptr<const std::string> now = nullptr;
    std::size_t sent = 0;  // of `now`
    std::shared_ptr<const std::string> next = nullptr;
    bool waits = false;  // everything was sent
    bool left = false;   // the viewer
  };

  static ssize_t read(void* self, std::uint64_t position, char* buffer, std::size_t size) noexcept;
  static void close(void* self) noexcept;
  ssize_t read(Stream& stream, char* buffer, std::size_t size);
  void send(Stream& stream, std::shared_ptr<const std::string> text);

  const std::size_t limit_;
  Connections& connections_;
  Suspended& suspended_;
  mutable std::mutex mutex_;  // of what follows
  std::list<Stream> streams_;
  Event last_;
};

}  // namespace tandem::serve
