// SPDX-License-Identifier: MIT
#include "data/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "base/suggest.h"
#include "data/fail.h"
#include "data/fields.h"
#include "data/libsvm.h"
#include "data/line_reader.h"

namespace tandem::data {
namespace {

using Fields = std::vector<std::string_view>;

class Reader {
 public:
  Reader(ByteSource& source, const CsvOptions& options, const Table* like)
      : lines_(source), splitter_(options.separator), options_(options), like_(like) {}

  Table read() {
    read_header();
    for (const Fields* fields = next(); fields != nullptr; fields = next()) {
      if (fields->size() != names_.size()) {
        stop("", fmt::format("{} fields", fields->size()),
             fmt::format("{}, as in the header", names_.size()));
      }
      if (table_.rows() == 0) choose_kinds(*fields);
      read_row(*fields);
    }
    if (table_.rows() == 0) fail<DataError>(lines_.name(), "", "no rows", "a header and rows");
    if (like_ == nullptr) sort_classes(table_);
    return std::move(table_);
  }

 private:
  /// The fields of the next line that is not empty.
  const Fields* next() {
    for (std::string_view line; lines_.next(line);) {
      if (lines_.number() == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
      if (trim(line).empty()) continue;
      const Fields* fields = splitter_.split(line);
      if (fields == nullptr) {
        stop("", "a quote without its end, or text behind it",
             "quoted fields that end on their line");
      }
      return fields;
    }
    return nullptr;
  }

  void read_header() {
    const Fields* fields = next();
    if (fields == nullptr) fail<DataError>(lines_.name(), "", "no lines", "a header and rows");
    names_.assign(fields->begin(), fields->end());
    if (names_.size() < 2) {
      stop("", fmt::format("{} column", names_.size()), "a label and at least one feature");
    }
    if (std::all_of(fields->begin(), fields->end(),
                    [](std::string_view field) { return parse_number(field).has_value(); })) {
      stop("", "numbers only", "a header with the names of the columns");
    }
    label_ = position(options_.label.empty() ? names_.back() : options_.label);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (i != label_) table_.columns.push_back({.name = names_[i]});
    }
    if (like_ != nullptr) table_.classes = like_->classes;
  }

  std::size_t position(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
      throw std::invalid_argument(
          fmt::format("{}: no column '{}'{}", lines_.name(), name, suggestion(name, names_)));
    }
    return static_cast<std::size_t>(found - names_.begin());
  }

  void choose_kinds(const Fields& first) {
    if (like_ != nullptr) {
      if (like_->columns.size() != table_.columns.size()) {
        fail<DataError>(lines_.name(), at_line(1), fmt::format("{} columns", names_.size()),
                        fmt::format("{}, as in the training file", like_->columns.size() + 1));
      }
      for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if (table_.columns[i].name != like_->columns[i].name) {
          fail<DataError>(
              lines_.name(), at_line(1),
              fmt::format("the column {}", shown(table_.columns[i].name)),
              fmt::format("{}, as in the training file", shown(like_->columns[i].name)));
        }
        table_.columns[i].categorical = like_->columns[i].categorical;
      }
      return;
    }
    for (const std::string& name : options_.categorical) {
      if (position(name) == label_) continue;
      for (Column& column : table_.columns) column.categorical |= column.name == name;
    }
    std::size_t field = 0;
    for (Column& column : table_.columns) {
      if (field == label_) ++field;
      const std::string_view text = first[field++];
      // "nan" and "inf" are numbers that cannot be used, not words.
      const bool number = parse_number(text) || looks_like_no_number(text);
      column.categorical |= !number;
    }
  }

  static bool looks_like_no_number(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    });
    if (lower.starts_with('-') || lower.starts_with('+')) lower.erase(0, 1);
    return lower.empty() || lower == "nan" || lower == "inf" || lower == "infinity" ||
           lower == "na";
  }

  void read_row(const Fields& fields) {
    const std::string_view label = fields[label_];
    if (label.empty()) stop(names_[label_], "nothing", "a class");
    const std::size_t classes = table_.classes.size();
    table_.labels.push_back(table_.classes.add(label));
    if (table_.classes.size() > classes && like_ != nullptr) {
      stop(names_[label_], fmt::format("the class {}", shown(label)), "one of the training file's");
    }
    if (table_.classes.size() > kMostClasses) {
      stop(names_[label_], fmt::format("more than {} different values", kMostClasses), "classes");
    }
    std::size_t field = 0;
    for (Column& column : table_.columns) {
      if (field == label_) ++field;
      read_value(column, fields[field++]);
    }
  }

  void read_value(Column& column, std::string_view text) {
    if (column.categorical) {
      if (text.empty()) stop(column.name, "nothing", "a word");
      column.ids.push_back(column.words.add(text));
      if (column.words.size() > kMostWords) {
        stop(column.name, fmt::format("more than {} different words", kMostWords),
             "numbers or categories");
      }
      return;
    }
    const std::optional<double> number = parse_number(text);
    if (!number) stop(column.name, text.empty() ? "nothing" : shown(text), "a finite number");
    column.numbers.push_back(*number);
  }

  [[noreturn]] void stop(std::string_view column, std::string_view found,
                         std::string_view expected) const {
    const std::uint64_t line = lines_.number();
    fail<DataError>(lines_.name(), column.empty() ? at_line(line) : at_line(line, shown(column)),
                    found, expected);
  }

  LineReader lines_;
  FieldSplitter splitter_;
  const CsvOptions& options_;
  const Table* like_;
  std::vector<std::string> names_;
  std::size_t label_ = 0;
  Table table_;
};

}  // namespace

Table read_csv(ByteSource& source, const CsvOptions& options, const Table* like) {
  return Reader(source, options, like).read();
}

}  // namespace tandem::data
