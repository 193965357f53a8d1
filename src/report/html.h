// SPDX-License-Identifier: MIT
// A report as one HTML file that needs nothing else: no scripts, no network.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "report/figure.h"
#include "report/table.h"

namespace tandem::report {

struct CaptionedTable {
  Table table;
  std::string caption = {};
};

/// Its text may have paragraphs: an empty line is between them. No text is HTML.
struct Section {
  std::string title;
  std::string text = {};
  std::vector<CaptionedTable> tables = {};
  std::vector<Figure> figures = {};
};

struct Document {
  std::string title;
  std::string summary = {};
  std::vector<Section> sections = {};
  std::vector<std::string> commands = {};  // that reproduce it
  std::vector<std::pair<std::string, std::string>> facts =
      {};  // machine, versions, date: name, value
};

/// The page. Where there is no gnuplot, figures are replaced by a line that says so.
std::string html_page(const Document& document);

/// What stands in its body.
std::string html_body(const Document& document);

/// The page, in a file that is there whole or not at all.
void write_html(const std::filesystem::path& path, const Document& document);

}  // namespace tandem::report
