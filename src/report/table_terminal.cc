// SPDX-License-Identifier: MIT
// Tables for a terminal. One that is too wide is made narrower by breaking long texts over lines,
// or, where that is not enough, comes as several blocks that repeat the columns that name a row.
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "report/escape.h"
#include "report/table.h"
#include "report/terminal.h"

namespace tandem::report {
namespace {

using Widths = std::vector<std::size_t>;

constexpr std::size_t kBetween = 2;     // spaces between columns
constexpr std::size_t kNarrowest = 20;  // of a terminal: below that nothing can be shown
constexpr std::size_t kTextLeast = 24;  // of a column of text beside others
constexpr std::size_t kKeyLeast = 12;

std::size_t total(const Widths& widths) {
  if (widths.empty()) return 0;
  return std::accumulate(widths.begin(), widths.end(), (widths.size() - 1) * kBetween);
}

/// Takes characters from the widest column that is wider than its least, until all fit `room`;
/// false, with the widths as they were, if they cannot.
bool narrow(Widths& widths, std::size_t room, const Widths& least) {
  Widths result = widths;
  while (total(result) > room) {
    std::size_t widest = result.size();
    for (std::size_t c = 0; c < result.size(); ++c) {
      if (result[c] <= least[c]) continue;
      if (widest == result.size() || result[c] > result[widest]) widest = c;
    }
    if (widest == result.size()) return false;
    --result[widest];
  }
  widths = std::move(result);
  return true;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) longest = std::max(longest, characters(word));
  return longest;
}

std::string padded(const std::string& text, std::size_t width, Table::Align align) {
  const std::string spaces(width - std::min(width, characters(text)), ' ');
  return align == Table::Align::left ? text + spaces : spaces + text;
}

/// Columns that are shown side by side, and how wide.
struct Block {
  std::vector<std::size_t> columns;
  Widths widths;
};

/// A row, over as many lines as its longest cell takes.
std::string row_text(const Block& block, const std::vector<Table::Column>& columns,
                     const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> parts;
  std::size_t height = 0;
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    // Nothing that a terminal would obey.
    parts.push_back(wrapped(visible_line(cells[block.columns[i]]), block.widths[i]));
    height = std::max(height, parts.back().size());
  }
  std::string text;
  for (std::size_t l = 0; l < height; ++l) {
    std::string line;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string part = l < parts[i].size() ? parts[i][l] : "";
      line += padded(part, block.widths[i], columns[block.columns[i]].align) +
              std::string(kBetween, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// How many columns name a row: the texts before the first number, the first column at least.
std::size_t key_columns(const std::vector<Table::Column>& columns) {
  const auto number = std::find_if(columns.begin(), columns.end(), [](const Table::Column& column) {
    return column.align == Table::Align::right;
  });
  if (number == columns.end()) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(number - columns.begin()), 1, 2);
}

/// `words`: the longest word of each column.
std::vector<Block> blocks_of(const std::vector<Table::Column>& columns, const Widths& widths,
                             const Widths& words, std::size_t room) {
  Block all{std::vector<std::size_t>(columns.size()), widths};
  std::iota(all.columns.begin(), all.columns.end(), std::size_t{0});
  if (room == 0 || total(widths) <= room) return {all};
  room = std::max(room, kNarrowest);
  Widths least = widths;  // of numbers
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].align == Table::Align::left) least[c] = std::max(words[c], kTextLeast);
  }
  if (narrow(all.widths, room, least)) return {all};

  std::size_t keys = key_columns(columns);
  Widths key_widths(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(keys));
  if (!narrow(key_widths, room / 2, Widths(keys, kKeyLeast))) {
    keys = 1;
    key_widths = {std::min(widths[0], room / 2)};
  }
  const std::size_t beside = room - total(key_widths) - kBetween;
  std::vector<Block> blocks;
  for (std::size_t c = keys; c < columns.size(); ++c) {
    const std::size_t width = std::min(widths[c], beside);
    if (blocks.empty() || total(blocks.back().widths) + kBetween + width > room) {
      blocks.push_back(
          {{all.columns.begin(), all.columns.begin() + static_cast<std::ptrdiff_t>(keys)},
           key_widths});
    }
    blocks.back().columns.push_back(c);
    blocks.back().widths.push_back(width);
  }
  if (blocks.empty()) return {Block{{0}, {std::min(widths[0], room)}}};
  return blocks;
}

}  // namespace

std::string Table::terminal() const { return terminal(terminal_width(STDOUT_FILENO)); }

std::string Table::terminal(std::size_t width) const {
  Widths words;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    words.push_back(longest_word(visible_line(columns_[c].title)));
    for (const auto& row : rows_) {
      words.back() = std::max(words.back(), longest_word(visible_line(row[c])));
    }
  }
  std::string text;
  for (const Block& block : blocks_of(columns_, widths(), words, width)) {
    if (!text.empty()) text += "\n";
    text += row_text(block, columns_, titles());
    std::string rule;
    for (const std::size_t columns : block.widths) {
      rule += (rule.empty() ? "" : std::string(kBetween, ' ')) + std::string(columns, '-');
    }
    text += rule + "\n";
    for (const auto& row : rows_) text += row_text(block, columns_, row);
  }
  return text;
}

}  // namespace tandem::report
