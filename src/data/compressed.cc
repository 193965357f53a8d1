// SPDX-License-Identifier: MIT
#include "data/compressed.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "data/fail.h"

namespace tandem::data {
namespace {

constexpr std::size_t kInput = std::size_t{64} << 10;
/// liblzma may use this much for the dictionary; `xz -9` needs 65 MiB.
constexpr std::uint64_t kXzMemory = std::uint64_t{256} << 20;

/// What both formats share: a window of packed bytes.
class Decompressor : public ByteSource {
 public:
  explicit Decompressor(std::unique_ptr<ByteSource> packed)
      : ByteSource(packed->name()), packed_(std::move(packed)), input_(kInput) {}

 protected:
  /// More packed bytes; empty at the end of the file.
  std::span<std::uint8_t> more() { return std::span(input_).first(packed_->read(input_)); }

  [[noreturn]] void fail_packed(std::size_t unread, std::string_view found,
                                std::string_view expected) const {
    fail<DataError>(name(),
                    fmt::format("byte {} of the compressed file", packed_->offset() - unread),
                    found, expected);
  }
  void check(std::size_t just_expanded) const {
    check_expansion(name(), packed_->offset(), offset() + just_expanded);
  }

 private:
  std::unique_ptr<ByteSource> packed_;
  std::vector<std::uint8_t> input_;
};

class GzipSource : public Decompressor {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> packed) : Decompressor(std::move(packed)) {
    // 16: a gzip header and trailer, whose CRC and length zlib then checks.
    if (inflateInit2(&stream_, MAX_WBITS + 16) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 protected:
  std::size_t read_some(std::span<std::uint8_t> out) override {
    if (out.empty()) return 0;
    const std::size_t wanted = std::min(out.size(), std::size_t{1} << 30);
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(wanted);
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0) refill();
      if (between_) {
        if (stream_.avail_in == 0) return 0;
        // A gzip file may be several, one after another.
        if (inflateReset(&stream_) != Z_OK) throw std::bad_alloc();
        between_ = false;
      }
      if (stream_.avail_in == 0) {
        fail_packed(0, "the end of the file inside the compressed data", "the rest of it");
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        between_ = true;
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail_packed(stream_.avail_in,
                    fmt::format("damage ({})", stream_.msg != nullptr ? stream_.msg : "no details"),
                    "intact gzip data");
      }
    }
    check(wanted - stream_.avail_out);
    return wanted - stream_.avail_out;
  }

 private:
  void refill() {
    const std::span<std::uint8_t> input = more();
    stream_.next_in = input.data();
    stream_.avail_in = static_cast<uInt>(input.size());
  }

  z_stream stream_{};
  bool between_ = false;  // two members, or at the end
};

const char* xz_damage(lzma_ret status) {
  switch (status) {
    case LZMA_FORMAT_ERROR:
      return "something else than xz data";
    case LZMA_OPTIONS_ERROR:
      return "xz options of a newer version";
    case LZMA_MEMLIMIT_ERROR:
      return "a dictionary of more than 256 MiB";
    case LZMA_BUF_ERROR:
      return "the end of the file inside the compressed data";
    default:
      return "damage (a checksum or the data are wrong)";
  }
}

class XzSource : public Decompressor {
 public:
  explicit XzSource(std::unique_ptr<ByteSource> packed) : Decompressor(std::move(packed)) {
    if (lzma_stream_decoder(&stream_, kXzMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  ~XzSource() override { lzma_end(&stream_); }

 protected:
  std::size_t read_some(std::span<std::uint8_t> out) override {
    if (done_ || out.empty()) return 0;
    stream_.next_out = out.data();
    stream_.avail_out = out.size();
    while (stream_.avail_out == out.size() && !done_) {
      if (stream_.avail_in == 0) {
        const std::span<std::uint8_t> input = more();
        stream_.next_in = input.data();
        stream_.avail_in = input.size();
      }
      const lzma_ret status = lzma_code(&stream_, stream_.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
      if (status == LZMA_STREAM_END) {
        done_ = true;
      } else if (status == LZMA_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != LZMA_OK) {
        fail_packed(stream_.avail_in, xz_damage(status), "intact xz data");
      }
    }
    check(out.size() - stream_.avail_out);
    return out.size() - stream_.avail_out;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool done_ = false;
};

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, deflateEnd);
  std::string packed;
  std::vector<char> window(kInput);
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    // zlib counts what is there in 32 bits; it reads only, whatever the pointer's type says.
    const std::size_t piece = std::min(bytes.size(), std::size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(piece);
    stream.next_out = reinterpret_cast<Bytef*>(window.data());
    stream.avail_out = static_cast<uInt>(window.size());
    state = deflate(&stream, piece == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes.remove_prefix(piece - stream.avail_in);
    packed.append(window.data(), window.size() - stream.avail_out);
  }
  return packed;
}

std::unique_ptr<ByteSource> open_gzip(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<GzipSource>(std::move(packed));
}

std::unique_ptr<ByteSource> open_xz(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<XzSource>(std::move(packed));
}

void check_expansion(std::string_view name, std::uint64_t packed, std::uint64_t expanded) {
  constexpr std::uint64_t kFree = std::uint64_t{64} << 20;
  constexpr std::uint64_t kRatio = 300;
  if (expanded > kFree && expanded / kRatio > packed) {
    fail<DataError>(
        name, "", fmt::format("{} compressed bytes that expand to more than {}", packed, expanded),
        fmt::format("at most {} times as many", kRatio));
  }
}

}  // namespace tandem::data
