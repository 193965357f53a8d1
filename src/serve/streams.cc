// SPDX-License-Identifier: MIT
#include "serve/streams.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace tandem::serve {

MHD_Response* Streams::open(MHD_Connection* connection, Connections::Connection* entry,
                            const Event& first) {
  constexpr std::size_t kBlock = 16384;  // of clients that do not know chunks
  const std::lock_guard guard(mutex_);
  if (streams_.size() >= limit_) return nullptr;
  // A newer one may have been told since the request was read.
  const Event& event = last_.number > first.number ? last_ : first;
  Stream& stream = streams_.emplace_back();
  stream.all = this;
  stream.place = std::prev(streams_.end());
  stream.connection = connection;
  stream.entry = entry;
  stream.seen = event.number;
  stream.now = event.text;
  MHD_Response* response = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, kBlock, &Streams::read, &stream, &Streams::close);
  if (response == nullptr) streams_.erase(stream.place);
  return response;
}

ssize_t Streams::read(void* self, std::uint64_t /*position*/, char* buffer,
                      std::size_t size) noexcept {
  Stream& stream = *static_cast<Stream*>(self);
  try {
    return stream.all->read(stream, buffer, size);
  } catch (...) {
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
}

ssize_t Streams::read(Stream& stream, char* buffer, std::size_t size) {
  const std::lock_guard guard(mutex_);
  if (stream.left) return MHD_CONTENT_READER_END_OF_STREAM;
  if (stream.now == nullptr && stream.next != nullptr) {
    stream.now = std::exchange(stream.next, nullptr);
    stream.sent = 0;
    connections_.move(stream.entry, Phase::streaming);  // it has its time anew
  }
  if (stream.now == nullptr) {
    if (!suspended_.suspend(stream.connection)) return MHD_CONTENT_READER_END_OF_STREAM;
    stream.waits = true;
    connections_.move(stream.entry, Phase::watching);
    return 0;
  }
  const std::size_t part = std::min(size, stream.now->size() - stream.sent);
  stream.sent += stream.now->copy(buffer, part, stream.sent);
  if (stream.sent == stream.now->size()) stream.now = nullptr;
  return static_cast<ssize_t>(part);
}

void Streams::close(void* self) noexcept {
  Stream& stream = *static_cast<Stream*>(self);
  Streams& all = *stream.all;
  const std::lock_guard guard(all.mutex_);
  all.streams_.erase(stream.place);
}

void Streams::send(Stream& stream, std::shared_ptr<const std::string> text) {
  stream.next = std::move(text);
  if (!std::exchange(stream.waits, false)) return;
  connections_.move(stream.entry, Phase::streaming);
  suspended_.resume(stream.connection);
}

void Streams::publish(const Event& event) {
  const std::lock_guard guard(mutex_);
  last_ = event;
  for (Stream& stream : streams_) {
    if (stream.seen >= event.number) continue;
    stream.seen = event.number;
    send(stream, event.text);
  }
}

void Streams::heartbeat() {
  const auto text = std::make_shared<const std::string>(": still here\n\n");
  const std::lock_guard guard(mutex_);
  for (Stream& stream : streams_) {
    if (stream.waits) send(stream, text);
  }
}

void Streams::end_left() {
  const std::lock_guard guard(mutex_);
  std::vector<Stream*> waiting;
  std::vector<pollfd> sockets;
  for (Stream& stream : streams_) {
    if (!stream.waits) continue;
    waiting.push_back(&stream);
    sockets.push_back({.fd = stream.entry->socket, .events = POLLRDHUP, .revents = 0});
  }
  if (sockets.empty() || poll(sockets.data(), sockets.size(), 0) <= 0) return;
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if ((sockets[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) continue;
    waiting[i]->left = true;
    send(*waiting[i], nullptr);
  }
}

std::size_t Streams::count() const {
  const std::lock_guard guard(mutex_);
  return streams_.size();
}

}  // namespace tandem::serve
