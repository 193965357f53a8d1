// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/terminal.h"

namespace tandem::cli {
namespace {

constexpr int kBar = 24;

int terminal_width() {
  const std::size_t width = report::terminal_width(STDERR_FILENO);
  return width > 0 ? static_cast<int>(std::min<std::size_t>(width, 1000)) : 80;
}

}  // namespace

std::string emptied_line() {
  if (std::getenv("NO_COLOR") == nullptr) return "\r\x1b[K";
  return fmt::format("\r{:{}}\r", "", terminal_width() - 1);
}

void print_note(const std::string& text) {
  print_message("{}\n", report::wrapped_text(visible(text), report::terminal_width(STDERR_FILENO)));
}

int say_interrupted(const std::string& checkpoint, const std::string& unit) {
  print_message("tandem: interrupted{}\n",
                checkpoint.empty()
                    ? ""
                    : fmt::format("; what was done up to the last {} is in {}", unit, checkpoint));
  return kInterrupted;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string progress_line(double part, double seconds_left, const std::string& text, int width) {
  part = std::clamp(part, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(part * kBar);
  std::string line = fmt::format("[{}{}] {:3.0f} %", std::string(full, '#'),
                                 std::string(kBar - full, '.'), 100 * part);
  if (std::isfinite(seconds_left)) line += fmt::format(", {} left", duration_text(seconds_left));
  line += "  " + visible_line(text);
  const auto room = static_cast<std::size_t>(std::max(1, width - 1));
  return std::string(report::first_characters(line, room));
}

Progress::Progress(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}

bool Progress::due() const {
  return shown_ && (!drawn_ || Clock::now() - last_ >= std::chrono::milliseconds(100));
}

void Progress::show(double part, const std::string& text) {
  if (!due()) return;
  const auto now = Clock::now();
  if (began_at_ < 0) {
    began_at_ = part;
    began_ = now;
  }
  const double spent = std::chrono::duration<double>(now - began_).count();
  const double gained = part - began_at_;
  const double left = gained > 0 && spent > 1 ? spent / gained * (1 - part)
                                              : std::numeric_limits<double>::infinity();
  write_message(emptied_line(), progress_line(part, left, text, terminal_width()));
  last_ = now;
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  write_message(emptied_line(), "");
  drawn_ = false;
}

}  // namespace tandem::cli
