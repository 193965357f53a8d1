// SPDX-License-Identifier: MIT
#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/printable.h"
#include "cli/command.h"

namespace tandem::cli {
namespace {

std::mutex writing;
int lost = 0;  // what errno said when results could not be written for the first time

/// With `writing` held.
void note(bool written) {
  if (!written && lost == 0) lost = errno != 0 ? errno : EIO;
}

void put(std::string_view text) {
  const std::lock_guard lock(writing);
  // After a gap nothing more: half a table would be taken for a whole one.
  if (lost != 0) return;
  errno = 0;
  note(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

}  // namespace

void flush_results() {
  const std::lock_guard lock(writing);
  if (lost != 0) return;
  errno = 0;
  note(std::fflush(stdout) == 0 && std::ferror(stdout) == 0);
}

void write_result(std::string_view text) { put(visible(text)); }

void write_drawing(std::string_view text) { put(text); }

void write_data(std::string_view text) {
  static const bool terminal = isatty(STDOUT_FILENO) == 1;
  if (terminal) {
    put(visible(text));
  } else {
    put(text);
  }
}

void write_json(const nlohmann::ordered_json& line) {
  using Json = nlohmann::ordered_json;
  write_data(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  flush_results();
}

void write_message(std::string_view text) { write_message("", text); }

void write_message(std::string_view before, std::string_view text) {
  flush_results();  // in this order in a file too
  const std::string all = std::string(before) + visible(text);
  // Whether that succeeds does not matter: there is nowhere to say so.
  std::fwrite(all.data(), 1, all.size(), stderr);
  std::fflush(stderr);
}

DataStream::Buffer::int_type DataStream::Buffer::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) {
    return traits_type::not_eof(character);
  }
  const char text = traits_type::to_char_type(character);
  return xsputn(&text, 1) == 1 ? character : traits_type::eof();
}

std::streamsize DataStream::Buffer::xsputn(const char* text, std::streamsize count) {
  write_data({text, static_cast<std::size_t>(count)});
  const std::lock_guard lock(writing);
  return lost == 0 ? count : 0;
}

int finish_output(int exit_code) {
  flush_results();
  if (lost == 0) return exit_code;
  print_message("tandem: cannot write the output: {}\n", std::system_category().message(lost));
  return exit_code == kDone ? kFailed : exit_code;
}

}  // namespace tandem::cli
