// SPDX-License-Identifier: MIT
// All that the program prints. Nothing here throws and nothing is lost in silence:
//
// - Messages, on standard error, are lost where they cannot be written; the work goes on.
// - Results, on standard output, are remembered as lost where they cannot be written; the work goes
//   on, and the program ends with a message and a non-zero exit code (finish_output).
//
// Names and texts come from files and stores of others, so control characters are shown as escapes,
// \x1b (base/printable.h): always in what people read, and in data for other programs where standard
// output is a terminal.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

namespace tandem::cli {

/// Text for people on standard output, control characters shown.
void write_result(std::string_view text);
/// Text that may move the cursor and set colours on standard output: our own drawings.
void write_drawing(std::string_view text);
/// Text for other programs on standard output, byte by byte; on a terminal as write_result.
void write_data(std::string_view text);
/// A line of JSON, at once. What is not UTF-8 is replaced: names of files are any bytes.
void write_json(const nlohmann::ordered_json& line);
/// Text for people on standard error, control characters shown, after the results so far.
void write_message(std::string_view text);
/// The same, after `before`, which may move the cursor.
void write_message(std::string_view before, std::string_view text);

template <typename... Arguments>
void print_result(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_result(fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <typename... Arguments>
void print_message(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_message(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Writes what was printed so far.
void flush_results();

/// Standard output as a stream for write_data.
class DataStream : public std::ostream {
 public:
  DataStream() : std::ostream(&buffer_) {}

 private:
  class Buffer : public std::streambuf {
   protected:
    int_type overflow(int_type character) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;
  };
  Buffer buffer_;
};

/// At the end of the program: the exit code, which is never that of success where results were lost.
int finish_output(int exit_code);

}  // namespace tandem::cli
