// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "base/printable.h"
#include "report/escape.h"

namespace tandem::report {
namespace {

/// The cells of a row, each written by `escape`, with `between` in between.
template <typename Escape>
std::string joined(const std::vector<std::string>& cells, std::string_view between,
                   Escape&& escape) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) line += between;
    line += escape(cells[c]);
  }
  return line;
}

/// `\\`, \toprule and \midrule take what follows for an option of theirs, also on the next line.
std::string latex_row(const std::vector<std::string>& cells) {
  const std::string line = joined(cells, " & ", latex_escaped);
  const bool option = line.find_first_of("[*(") == 0;
  return (option ? "{}" : "") + line + " \\\\\n";
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw std::invalid_argument(fmt::format("Invalid row of a table: {} cells, expected {}",
                                            cells.size(), columns_.size()));
  }
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = characters(visible_line(columns_[c].title));
    for (const auto& row : rows_) width = std::max(width, characters(visible_line(row[c])));
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::string> Table::titles() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  return titles;
}

std::string Table::markdown() const {
  const auto line = [](const std::vector<std::string>& cells) {
    return "| " + joined(cells, " | ", markdown_escaped) + " |\n";
  };
  std::string text = line(titles()) + "|";
  for (const Column& column : columns_) text += column.align == Align::left ? "---|" : "---:|";
  text += "\n";
  for (const auto& row : rows_) text += line(row);
  return text;
}

std::string Table::latex() const {
  std::string text = "\\begin{tabular}{";
  for (const Column& column : columns_) text += column.align == Align::left ? 'l' : 'r';
  text += "}\n\\toprule\n" + latex_row(titles()) + "\\midrule\n";
  for (const auto& row : rows_) text += latex_row(row);
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string Table::csv() const {
  std::string text = joined(titles(), ",", csv_field) + "\r\n";
  for (const auto& row : rows_) text += joined(row, ",", csv_field) + "\r\n";
  return text;
}

std::string Table::html(const std::string& caption) const {
  const auto side = [this](std::size_t c) {
    return columns_[c].align == Align::right ? " class=\"right\"" : "";
  };
  std::string text = "<table>\n";
  if (!caption.empty()) text += "<caption>" + html_escaped(caption) + "</caption>\n";
  text += "<thead><tr>";
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    text += fmt::format("<th scope=\"col\"{}>{}</th>", side(c), html_escaped(columns_[c].title));
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    text += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      // The first column names the row.
      text += c == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", side(c), html_escaped(row[c]))
                     : fmt::format("<td{}>{}</td>", side(c), html_escaped(row[c]));
    }
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n";
}

}  // namespace tandem::report
