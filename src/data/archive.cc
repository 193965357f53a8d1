// SPDX-License-Identifier: MIT
#include "data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <new>
#include <string_view>

#include "data/compressed.h"
#include "data/fail.h"

namespace tandem::data {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;
constexpr std::uint64_t kMostFiles = 1'000'000;

}  // namespace

class ArchiveReader::Member : public ByteSource {
 public:
  Member(ArchiveReader& owner, const std::string& path)
      : ByteSource(fmt::format("{}({})", owner.source_->name(), path)), owner_(owner) {}

 protected:
  std::size_t read_some(std::span<std::uint8_t> out) override {
    const la_ssize_t count = archive_read_data(owner_.archive_, out.data(), out.size());
    // A warning is damage too: a wrong checksum of a zip member is only that.
    if (count < 0) owner_.fail_here(fmt::format("in '{}'", owner_.path_));
    owner_.expanded_ += static_cast<std::uint64_t>(count);
    check_expansion(name(), owner_.source_->offset(), owner_.expanded_);
    return static_cast<std::size_t>(count);
  }

 private:
  ArchiveReader& owner_;
};

bool stays_inside(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.find('\\') != std::string::npos) return false;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (rest.substr(0, end) == "..") return false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

ArchiveReader::ArchiveReader(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)),
      buffer_(std::make_unique<std::uint8_t[]>(kBlock)),
      archive_(archive_read_new()) {
  if (archive_ == nullptr) throw std::bad_alloc();
  archive_read_support_format_tar(archive_);
  archive_read_support_format_zip_streamable(archive_);
  const auto read = [](struct archive* a, void* self, const void** block) -> la_ssize_t {
    auto& reader = *static_cast<ArchiveReader*>(self);
    *block = reader.buffer_.get();
    try {
      return static_cast<la_ssize_t>(reader.source_->read({reader.buffer_.get(), kBlock}));
    } catch (const std::exception& error) {
      reader.error_ = error.what();
      archive_set_error(a, -1, "the stream below failed");
      return -1;
    }
  };
  if (archive_read_open(archive_, this, nullptr, read, nullptr) != ARCHIVE_OK) {
    try {
      fail_here("byte 0");
    } catch (...) {
      archive_read_free(archive_);
      throw;
    }
  }
}

ArchiveReader::~ArchiveReader() { archive_read_free(archive_); }

void ArchiveReader::fail_here(const std::string& place) {
  if (!error_.empty()) throw DataError(error_);
  const char* text = archive_error_string(archive_);
  fail<DataError>(source_->name(), place,
                  fmt::format("damage ({})", text != nullptr ? text : "no details"),
                  "an intact tar or zip archive");
}

bool ArchiveReader::next() {
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_, &entry);
    if (status == ARCHIVE_EOF) {
      if (files_ == 0) fail<DataError>(source_->name(), "", "no files", "an archive with files");
      return false;
    }
    if (status != ARCHIVE_OK) {
      fail_here(fmt::format("after file {} ('{}')", files_, path_));
    }
    const char* path = archive_entry_pathname(entry);
    const std::string found = path != nullptr ? path : "";
    const std::string place = fmt::format("file {}", files_ + 1);
    if (!stays_inside(found)) {
      fail<DataError>(source_->name(), place, fmt::format("the path {}", shown(found)),
                      "one that stays inside the archive");
    }
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR) continue;
    if (type != AE_IFREG || archive_entry_hardlink(entry) != nullptr) {
      fail<DataError>(source_->name(), place, fmt::format("a link or device, {}", shown(found)),
                      "files and folders");
    }
    if (++files_ > kMostFiles) {
      fail<DataError>(source_->name(), "", fmt::format("more than {} files", kMostFiles), "fewer");
    }
    path_ = found;
    member_ = std::make_unique<Member>(*this, path_);
    return true;
  }
}

ByteSource& ArchiveReader::content() { return *member_; }

}  // namespace tandem::data
