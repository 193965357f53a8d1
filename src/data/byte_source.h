// SPDX-License-Identifier: MIT
// Where readers take their bytes from: a file (plain, .gz or .xz), a member of an archive, or
// memory. Bytes come as a stream, and nothing is allocated for bytes that a header promises before
// they have really arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::data {

class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// For messages: the path, or "archive.tar(member)".
  const std::string& name() const { return name_; }
  /// Bytes delivered so far.
  std::uint64_t offset() const { return offset_; }

  /// Fills `out`; less than all of it only at the end of the stream.
  std::size_t read(std::span<std::uint8_t> out);

 protected:
  /// At least one byte, or 0 at the end. Throws DataError.
  virtual std::size_t read_some(std::span<std::uint8_t> out) = 0;

 private:
  std::string name_;
  std::uint64_t offset_ = 0;
};

/// Bytes that somebody else owns: for tests and fuzzers.
class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::uint8_t> bytes)
      : ByteSource(std::move(name)), bytes_(bytes) {}
  MemorySource(std::string name, std::string_view text)
      : MemorySource(std::move(name),
                     {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}) {}

 protected:
  std::size_t read_some(std::span<std::uint8_t> out) override;

 private:
  std::span<const std::uint8_t> bytes_;
};

/// The bytes of a file as they are.
std::unique_ptr<ByteSource> open_raw(const std::filesystem::path& path);
/// The content of a file: decompressed where it begins as a gzip or xz file does. A name that ends
/// in .gz or .xz must keep its word. Throws DataError, also for an empty file.
std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path);
/// The content of a stream of bytes, in the same way.
std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> packed);

/// Exactly `count` bytes, which `what` names in the message when the stream ends before.
std::vector<std::uint8_t> read_bytes(ByteSource& source, std::uint64_t count,
                                     std::string_view what);
/// Throws unless the stream ends here; `after` names what was read last: "the last record".
void expect_end(ByteSource& source, std::string_view after);

}  // namespace tandem::data
