// SPDX-License-Identifier: MIT
// Event files of TensorBoard: their names, writing them whole or going on with them, and how far
// those of a folder go.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::exporting {

/// events.out.tfevents.SECONDS.HOST.SUFFIX: TensorBoard knows event files by such names, and reads
/// those of a folder in the order of their names. What a host cannot have in its name becomes '-'.
std::string event_file_name(std::int64_t seconds, std::string_view host, std::string_view suffix);

/// A name for a new file of this process that comes after all that are in the folder, which need
/// not exist.
std::filesystem::path next_event_file(const std::filesystem::path& folder, std::int64_t now);

/// Whether a folder has event files; false where there is no folder.
bool has_event_files(const std::filesystem::path& folder);

/// The largest step in the folder's event files; none where no record has a summary. A record that
/// is cut off or damaged ends its file.
std::optional<std::int64_t> last_step(const std::filesystem::path& folder);

/// Writes a file whole or not at all, and makes its folder. Throws std::runtime_error naming the
/// file.
void write_event_file(const std::filesystem::path& path, std::string_view records);

/// Adds records to the end of a file, in one piece, and makes file and folder where they are not
/// there. Throws std::runtime_error naming the file.
void append_records(const std::filesystem::path& path, std::string_view records);

}  // namespace tandem::exporting
