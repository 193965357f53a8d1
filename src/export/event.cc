// SPDX-License-Identifier: MIT
// The numbers of fields are those of TensorBoard's event.proto, summary.proto, tensor.proto and
// tensor_shape.proto.
#include "export/event.h"

#include <boost/crc.hpp>
#include <cmath>

namespace tandem::exporting {
namespace {

enum TensorType { kFloat = 1, kString = 7 };
constexpr std::int64_t kTensorClass = 2;  // DATA_CLASS_TENSOR

Message metadata_of(std::string_view plugin, const std::string& content) {
  Message data;
  data.text(1, plugin);
  if (!content.empty()) data.text(2, content);
  Message metadata;
  metadata.message(1, data).integer(4, kTensorClass);
  return metadata;
}

/// Of one dimension.
Message tensor_of(TensorType type, std::int64_t size) {
  Message tensor;
  tensor.integer(1, type).message(2, Message().message(2, Message().integer(1, size)));
  return tensor;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U; }

std::string record(std::string_view data) {
  std::string bytes;
  bytes.reserve(data.size() + 16);
  append_little_endian(bytes, static_cast<std::uint64_t>(data.size()));
  append_little_endian(bytes, masked(crc32c(bytes)));
  bytes += data;
  append_little_endian(bytes, masked(crc32c(data)));
  return bytes;
}

std::string version_record(double wall_time) {
  return record(Message().real(1, wall_time).text(3, "brain.Event:2").bytes());
}

Event::Event(double wall_time, std::int64_t step) : wall_time_(wall_time), step_(step) {}

void Event::scalar(std::string_view tag, double value) {
  const auto narrow = static_cast<float>(value);
  if (!std::isfinite(narrow)) return;
  // The simple form: TensorBoard's reader of event files takes tensors of floats only as well.
  summary_.message(1, Message().text(1, tag).real32(2, narrow));
}

void Event::text(std::string_view tag, std::string_view markdown) {
  Message value;
  value.text(1, tag)
      .message(8, tensor_of(kString, 1).text(8, markdown))
      .message(9, metadata_of("text", {}));
  summary_.message(1, value);
}

void Event::metadata(std::string_view tag, std::string_view plugin, const Message& content) {
  Message value;
  // The tensor is empty, but some readers pass by what has no value.
  value.text(1, tag)
      .message(8, tensor_of(kFloat, 0))
      .message(9, metadata_of(plugin, content.bytes()));
  summary_.message(1, value);
}

std::string Event::record() const {
  return exporting::record(
      Message().real(1, wall_time_).integer(2, step_).message(5, summary_).bytes());
}

}  // namespace tandem::exporting
