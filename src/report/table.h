// SPDX-License-Identifier: MIT
// A table of text: built row by row, printed for a terminal or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::report {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns);
  /// As many cells as there are columns.
  void add(std::vector<std::string> cells);

  /// Aligned with spaces, a line under the titles.
  std::string terminal() const;
  std::string markdown() const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tandem::report
