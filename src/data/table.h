// SPDX-License-Identifier: MIT
// Rows of numbers and words with a class each, as CSV files hold them, and the encoder that makes
// features of them: numbers are scaled by what the training rows have, words become one input for
// each that the training rows contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/dataset.h"

namespace tandem::data {

/// Texts with a number each, in the order in which they came.
class Words {
 public:
  /// The number of a word, which is new if it is not there yet.
  std::uint32_t add(std::string_view word);
  const std::vector<std::string>& all() const { return words_; }
  std::size_t size() const { return words_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

struct Column {
  std::string name;
  bool categorical = false;
  std::vector<double> numbers = {};     // a row each, unless categorical
  std::vector<std::uint32_t> ids = {};  // a row each, if categorical
  Words words = {};                     // by id
  bool every_word = false;  // inputs for all of `words`, whether or not training rows have them
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::uint32_t> labels;  // by number in classes
  Words classes;

  std::size_t rows() const { return labels.size(); }
};

/// What becomes of numbers. A column that never changes becomes zeros, unless it is left as it is.
enum class Scaling {
  standard,  // mean 0 and deviation 1
  unit,      // least 0 and greatest 1
  none,      // as they are
};

class TableEncoder {
 public:
  /// Learns from these rows of the table. Words are sorted.
  TableEncoder(const Table& table, std::span<const std::size_t> rows,
               Scaling scaling = Scaling::standard);

  /// Numeric columns first, then the categorical ones, each in the table's order, then a column of
  /// ones if `bias`. The table's columns must be of the same kinds. A word that was not learnt
  /// gives zeros, and is counted.
  Dataset encode(const Table& table, std::span<const std::size_t> rows, bool bias) const;

  std::size_t numeric() const { return numeric_.size(); }
  /// Inputs without the bias.
  std::size_t inputs() const { return inputs_; }
  /// Inputs of each categorical column.
  std::vector<std::size_t> categories() const;
  /// Numeric columns that never change; they become zeros.
  std::size_t constant() const { return constant_; }
  /// Values in `rows` of the table that have words which were not learnt.
  std::size_t unknown(const Table& table, std::span<const std::size_t> rows) const;

 private:
  struct Numeric {
    std::size_t column;
    double origin = 0;
    double scale = 1;
  };
  struct Categorical {
    std::size_t column;
    std::size_t first = 0;  // input of the first word
    std::map<std::string, std::size_t, std::less<>> position = {};
  };
  /// For each id of the table's column the input, or npos.
  std::vector<std::size_t> inputs_of(const Table& table, const Categorical& categorical) const;

  std::vector<Numeric> numeric_;
  std::vector<Categorical> categorical_;
  std::size_t inputs_ = 0;
  std::size_t constant_ = 0;
};

/// Renumbers the classes: by value where all are numbers, else by name.
void sort_classes(Table& table);

/// 0, 1, ..., count - 1.
std::vector<std::size_t> all_rows(std::size_t count);

}  // namespace tandem::data
