// SPDX-License-Identifier: MIT
// The files inside a tar or zip archive, in order, without writing anything to disk.
#pragma once

#include <memory>
#include <string>

#include "data/byte_source.h"

struct archive;

namespace tandem::data {

class ArchiveReader {
 public:
  /// `source` gives the archive itself; open_source() has taken off .gz or .xz.
  explicit ArchiveReader(std::unique_ptr<ByteSource> source);
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;
  ~ArchiveReader();

  /// Moves to the next regular file; false after the last. Throws DataError for paths that lead out
  /// of the archive, for links and devices, and for archives that are damaged.
  bool next();
  /// Where the file lies in the archive: "20news-bydate-train/sci.space/59848".
  const std::string& path() const { return path_; }
  /// The content of the current file, as a stream that is valid until next().
  ByteSource& content();

 private:
  class Member;

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::string error_;  // of the source, which must not throw through libarchive
  struct archive* archive_ = nullptr;
  std::uint64_t files_ = 0;
  std::uint64_t expanded_ = 0;
  std::string path_;
  std::unique_ptr<Member> member_;

  [[noreturn]] void fail_here(const std::string& place);
};

/// Whether a path stays inside the folder it is relative to: not absolute, no "..", not empty.
bool stays_inside(const std::string& path);

}  // namespace tandem::data
