// SPDX-License-Identifier: MIT
#include "export/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "export/event.h"

namespace tandem::exporting {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().filename().string().starts_with(kPrefix)) files.push_back(entry.path());
  }
  return files;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw std::runtime_error(
        fmt::format("Cannot make the folder {}: {}", folder.string(), error.message()));
  }
}

template <typename Unsigned>
Unsigned little_endian(std::string_view bytes) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
    value |= static_cast<Unsigned>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

/// Takes the next record off the front; none at the end and where it is cut off or damaged.
std::optional<std::string_view> next_record(std::string_view& bytes) {
  constexpr std::size_t kHead = 12;
  constexpr std::size_t kTail = 4;
  if (bytes.size() < kHead + kTail) return std::nullopt;
  const auto length = little_endian<std::uint64_t>(bytes);
  const bool good =
      little_endian<std::uint32_t>(bytes.substr(8)) == masked(crc32c(bytes.substr(0, 8)));
  if (!good || length > bytes.size() - kHead - kTail) return std::nullopt;
  const std::string_view data = bytes.substr(kHead, length);
  bytes.remove_prefix(kHead + length);
  if (little_endian<std::uint32_t>(bytes) != masked(crc32c(data))) return std::nullopt;
  bytes.remove_prefix(kTail);
  return data;
}

std::optional<std::uint64_t> next_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// The step of an event that has a summary. Events of others may lie in the folder: any message.
std::optional<std::int64_t> step_of(std::string_view event) {
  std::int64_t step = 0;
  bool summary = false;
  while (!event.empty()) {
    const auto key = next_varint(event);
    if (!key) return std::nullopt;
    std::size_t skip = 0;
    switch (*key & 7U) {
      case 0: {
        const auto value = next_varint(event);
        if (!value) return std::nullopt;
        if (*key >> 3U == 2) step = static_cast<std::int64_t>(*value);
        break;
      }
      case 1:
        skip = 8;
        break;
      case 2: {
        const auto length = next_varint(event);
        if (!length || *length > event.size()) return std::nullopt;
        summary = summary || *key >> 3U == 5;
        skip = *length;
        break;
      }
      case 5:
        skip = 4;
        break;
      default:
        return std::nullopt;
    }
    if (skip > event.size()) return std::nullopt;
    event.remove_prefix(skip);
  }
  return summary ? std::optional(step) : std::nullopt;
}

}  // namespace

std::string event_file_name(std::int64_t seconds, std::string_view host, std::string_view suffix) {
  std::string clean(host);
  std::replace_if(
      clean.begin(), clean.end(),
      [](char c) { return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z'); },
      '-');
  return fmt::format("{}{:010}.{}.{}", kPrefix, seconds, clean, suffix);
}

fs::path next_event_file(const fs::path& folder, std::int64_t now) {
  std::int64_t seconds = now;
  for (const fs::path& path : event_files(folder)) {
    const std::string name = path.filename().string();
    std::int64_t other = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), other);
    seconds = std::max(seconds, other + 1);
  }
  return folder / event_file_name(seconds, host_name(), std::to_string(getpid()));
}

bool has_event_files(const fs::path& folder) { return !event_files(folder).empty(); }

std::optional<std::int64_t> last_step(const fs::path& folder) {
  std::optional<std::int64_t> last;
  for (const fs::path& path : event_files(folder)) {
    std::ifstream stream(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    std::string_view rest = bytes;
    while (const auto event = next_record(rest)) {
      if (const auto step = step_of(*event)) last = std::max(last.value_or(*step), *step);
    }
  }
  return last;
}

void write_event_file(const fs::path& path, std::string_view records) {
  make_folder(path.parent_path());
  // Its temporary name is none that TensorBoard takes for an event file.
  write_atomically(path, [&](std::ostream& stream) { stream << records; });
}

void append_records(const fs::path& path, std::string_view records) {
  make_folder(path.parent_path());
  std::ofstream stream(path, std::ios::binary | std::ios::app);
  stream.write(records.data(), static_cast<std::streamsize>(records.size()));
  stream.close();
  if (!stream) {
    throw std::runtime_error(fmt::format(
        "Cannot write {}: is the folder writable, and is there room on the disk?", path.string()));
  }
}

}  // namespace tandem::exporting
