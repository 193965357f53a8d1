// SPDX-License-Identifier: MIT
// A table of text: built row by row, printed for a terminal, as Markdown, LaTeX, CSV or HTML.
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
  std::size_t rows() const { return rows_.size(); }

  /// Aligned with spaces, a line under the titles; as wide as standard output allows.
  std::string terminal() const;
  /// No line longer than so many characters, 20 at least; 0 is no limit.
  std::string terminal(std::size_t width) const;
  /// A table of GitHub's Markdown.
  std::string markdown() const;
  /// A tabular in the rules of the package booktabs.
  std::string latex() const;
  /// RFC 4180: a line of titles, lines end with CR LF.
  std::string csv() const;
  /// A <table>; a caption that is empty is left out.
  std::string html(const std::string& caption = {}) const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::string> titles() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tandem::report
