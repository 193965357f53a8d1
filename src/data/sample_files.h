// SPDX-License-Identifier: MIT
// Small files of every kind, made on the spot for tests and as seeds of the fuzzers.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <lzma.h>

#include <cstdint>
#include <string>
#include <vector>

#include "data/compressed.h"

namespace tandem::data {

inline std::string xz(const std::string& bytes) {
  std::string packed(lzma_stream_buffer_bound(bytes.size()), '\0');
  std::size_t size = 0;
  lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, nullptr,
                          reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                          reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size());
  packed.resize(size);
  return packed;
}

struct ArchiveFile {
  std::string path;
  std::string content;
  int type = AE_IFREG;
};

/// A tar or zip archive.
inline std::string pack(const std::vector<ArchiveFile>& files, bool zip = false) {
  std::string bytes;
  archive* writer = archive_write_new();
  if (zip) {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_set_format_ustar(writer);
  }
  archive_write_set_bytes_in_last_block(writer, 1);
  archive_write_open(
      writer, &bytes, nullptr,
      [](archive*, void* out, const void* data, std::size_t size) -> la_ssize_t {
        static_cast<std::string*>(out)->append(static_cast<const char*>(data), size);
        return static_cast<la_ssize_t>(size);
      },
      nullptr);
  for (const ArchiveFile& file : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, file.path.c_str());
    archive_entry_set_filetype(entry, static_cast<unsigned>(file.type));
    archive_entry_set_perm(entry, 0644);
    if (file.type == AE_IFLNK) {
      archive_entry_set_symlink(entry, file.content.c_str());
    } else {
      archive_entry_set_size(entry, static_cast<la_int64_t>(file.content.size()));
    }
    archive_write_header(writer, entry);
    if (file.type == AE_IFREG) archive_write_data(writer, file.content.data(), file.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  return bytes;
}

inline std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

inline std::string little_endian(std::uint32_t value) {
  return {static_cast<char>(value), static_cast<char>(value >> 8), static_cast<char>(value >> 16),
          static_cast<char>(value >> 24)};
}

/// An idx file of unsigned bytes.
inline std::string idx_file(const std::vector<std::uint32_t>& sizes, const std::string& bytes) {
  std::string file{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) file += big_endian(size);
  return file + bytes;
}

}  // namespace tandem::data
