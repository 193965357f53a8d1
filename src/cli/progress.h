// SPDX-License-Identifier: MIT
// A line that says how far something is, written over and over: only on a terminal, on standard
// error.
#pragma once

#include <chrono>
#include <string>

namespace tandem::cli {

class Progress {
 public:
  /// `wanted` is what the user asked for; without a terminal nothing is shown in any case.
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether show() would draw now: for callers that ask often and whose text costs something.
  bool due() const;
  /// A bar, the part that is done, the time that is left, and the text; at most ten times a second.
  void show(double part, const std::string& text);
  /// Before anything else is written to the terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point last_ = {};
  double began_at_ = -1;  // what was done when it was first shown
};

/// The line itself, `width` columns at most.
std::string progress_line(double part, double seconds_left, const std::string& text, int width);
/// Says that a run was interrupted, and where what it did up to the last `unit` is, unless the path
/// is empty; gives the exit code.
int say_interrupted(const std::string& checkpoint, const std::string& unit);
/// What empties the terminal's line and goes to its start; without escape codes where NO_COLOR is
/// set.
std::string emptied_line();
/// Sentences on standard error, broken at the width of its terminal.
void print_note(const std::string& text);
/// "45 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);

}  // namespace tandem::cli
