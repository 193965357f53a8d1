// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tandem::report {
namespace {

/// Characters, not bytes: what follows the first byte of a UTF-8 character takes no room of its
/// own.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

std::string padded(const std::string& text, std::size_t width, Table::Align align) {
  const std::string spaces(width - std::min(width, width_of(text)), ' ');
  return align == Table::Align::left ? text + spaces : spaces + text;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string escaped(std::string cell) {
  for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) {
    cell.insert(at, "\\");
  }
  return cell;
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
    std::size_t width = width_of(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[c]));
    widths.push_back(width);
  }
  return widths;
}

std::string Table::terminal() const {
  const std::vector<std::size_t> width = widths();
  std::string titles;
  std::string rule;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles += padded(columns_[c].title, width[c], columns_[c].align) + "  ";
    rule += std::string(width[c], '-') + "  ";
  }
  std::string text = without_trailing_spaces(titles) + "\n" + without_trailing_spaces(rule) + "\n";
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      line += padded(row[c], width[c], columns_[c].align) + "  ";
    }
    text += without_trailing_spaces(line) + "\n";
  }
  return text;
}

std::string Table::markdown() const {
  std::string text = "|";
  for (const Column& column : columns_) text += fmt::format(" {} |", escaped(column.title));
  text += "\n|";
  for (const Column& column : columns_) text += column.align == Align::left ? "---|" : "---:|";
  text += "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const std::string& cell : row) text += fmt::format(" {} |", escaped(cell));
    text += "\n";
  }
  return text;
}

}  // namespace tandem::report
