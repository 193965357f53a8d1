// SPDX-License-Identifier: MIT
#include "data/byte_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "data/compressed.h"
#include "data/fail.h"

namespace tandem::data {
namespace {

class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path)
      : ByteSource(path.string()), file_(std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr)
      fail<DataError>(name(), "", std::strerror(errno), "a file that can be read");
    // fopen opens folders too.
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      fail<DataError>(name(), "", "a folder", "a file");
  }

 protected:
  std::size_t read_some(std::span<std::uint8_t> out) override {
    const std::size_t count = std::fread(out.data(), 1, out.size(), file_.get());
    if (count == 0 && std::ferror(file_.get()) != 0) {
      fail<DataError>(name(), at_byte(offset()), std::strerror(errno), "to read on");
    }
    return count;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// A stream of which the first bytes were read already, to see what it is.
class PeekedSource : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> rest)
      : ByteSource(rest->name()), start_(6), rest_(std::move(rest)) {
    start_.resize(rest_->read(start_));
  }
  const std::vector<std::uint8_t>& start() const { return start_; }

 protected:
  std::size_t read_some(std::span<std::uint8_t> out) override {
    if (used_ == start_.size()) return rest_->read(out);
    const std::size_t count = std::min(out.size(), start_.size() - used_);
    std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(used_), count, out.begin());
    used_ += count;
    return count;
  }

 private:
  std::vector<std::uint8_t> start_;
  std::size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

bool starts_with(const std::vector<std::uint8_t>& bytes, std::initializer_list<int> magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

std::string hexadecimal(const std::vector<std::uint8_t>& bytes) {
  return fmt::format("the bytes {:02x}", fmt::join(bytes, " "));
}

}  // namespace

std::size_t ByteSource::read(std::span<std::uint8_t> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const std::size_t count = read_some(out.subspan(filled));
    if (count == 0) break;
    filled += count;
    offset_ += count;
  }
  return filled;
}

std::size_t MemorySource::read_some(std::span<std::uint8_t> out) {
  const std::size_t count = std::min(out.size(), bytes_.size());
  std::copy_n(bytes_.begin(), count, out.begin());
  bytes_ = bytes_.subspan(count);
  return count;
}

std::unique_ptr<ByteSource> open_raw(const std::filesystem::path& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> packed) {
  auto peeked = std::make_unique<PeekedSource>(std::move(packed));
  const std::vector<std::uint8_t> start = peeked->start();
  const std::string name = peeked->name();
  if (start.empty()) fail<DataError>(name, "", "an empty file", "data");
  if (starts_with(start, {0x1f, 0x8b})) return open_gzip(std::move(peeked));
  if (starts_with(start, {0xfd, '7', 'z', 'X', 'Z', 0})) return open_xz(std::move(peeked));
  if (name.ends_with(".gz")) {
    fail<DataError>(name, at_byte(0), hexadecimal(start), "a gzip file, which begins with 1f 8b");
  }
  if (name.ends_with(".xz")) {
    fail<DataError>(name, at_byte(0), hexadecimal(start),
                    "an xz file, which begins with fd 37 7a 58 5a 00");
  }
  return peeked;
}

std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path) {
  return decompress(open_raw(path));
}

std::vector<std::uint8_t> read_bytes(ByteSource& source, std::uint64_t count,
                                     std::string_view what) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    // Grows as the bytes arrive: what the header promised may not be there.
    const std::uint64_t step = std::min(count - before, std::max<std::uint64_t>(kChunk, before));
    bytes.resize(before + step);
    const std::size_t got = source.read(std::span(bytes).subspan(before));
    if (got < step) {
      fail<DataError>(source.name(), at_byte(source.offset()),
                      fmt::format("the end of the file after {} bytes of {}", before + got, what),
                      fmt::format("{}", count));
    }
  }
  return bytes;
}

void expect_end(ByteSource& source, std::string_view after) {
  std::uint8_t extra = 0;
  const std::uint64_t end = source.offset();
  if (source.read({&extra, 1}) != 0) {
    fail<DataError>(source.name(), at_byte(end), fmt::format("more bytes after {}", after),
                    "the end of the file");
  }
}

}  // namespace tandem::data
