// SPDX-License-Identifier: MIT
// One event of TensorBoard: the values of a step, as a record of an event file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/message.h"

namespace tandem::exporting {

/// CRC-32C, as RFC 3720 has it.
std::uint32_t crc32c(std::string_view bytes);
/// How TFRecord keeps it, so that a checksum of checksums does not go wrong.
std::uint32_t masked(std::uint32_t crc);
/// TFRecord's framing: the length, its checksum, the data, their checksum.
std::string record(std::string_view data);

/// The first record of every file.
std::string version_record(double wall_time);

class Event {
 public:
  /// `wall_time` in seconds since 1970.
  Event(double wall_time, std::int64_t step);

  /// Nothing where the value is not finite as a float, which is what TensorBoard has.
  void scalar(std::string_view tag, double value);
  /// Markdown.
  void text(std::string_view tag, std::string_view markdown);
  /// A value that is all metadata: `content` is a message of that plug-in of TensorBoard.
  void metadata(std::string_view tag, std::string_view plugin, const Message& content);

  bool empty() const { return summary_.bytes().empty(); }
  /// With its framing.
  std::string record() const;

 private:
  double wall_time_;
  std::int64_t step_;
  Message summary_;
};

}  // namespace tandem::exporting
