// SPDX-License-Identifier: MIT
// MD5 and SHA-256 of files and streams: what publishers of data sets print beside their downloads.
// They guard against damage, not against an enemy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "data/byte_source.h"

struct evp_md_ctx_st;

namespace tandem::data {

class Digest {
 public:
  enum class Kind { md5, sha256 };
  /// The kind that a text of hexadecimal digits is of: 32 or 64.
  static Kind kind_of(const std::string& hexadecimal);

  explicit Digest(Kind kind);
  void add(std::span<const std::uint8_t> bytes);
  /// In lower-case hexadecimal digits. Once.
  std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// Hands on another stream and takes its digest on the way.
class DigestSource : public ByteSource {
 public:
  DigestSource(std::unique_ptr<ByteSource> source, Digest::Kind kind)
      : ByteSource(source->name()), source_(std::move(source)), digest_(kind) {}
  /// After the last byte was read.
  std::string finish() { return digest_.finish(); }

 protected:
  std::size_t read_some(std::span<std::uint8_t> out) override;

 private:
  std::unique_ptr<ByteSource> source_;
  Digest digest_;
};

/// Of everything that is left in the stream.
std::string digest_of(std::unique_ptr<ByteSource> source, Digest::Kind kind);

}  // namespace tandem::data
