// SPDX-License-Identifier: MIT
#include "data/libsvm.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "data/fail.h"
#include "data/fields.h"
#include "data/line_reader.h"

namespace tandem::data {
namespace {

/// Takes the next word off the front of `rest`; empty at the end.
std::string_view next_word(std::string_view& rest) {
  const std::string_view trimmed = trim(rest);
  const std::size_t end = std::min(trimmed.find_first_of(" \t"), trimmed.size());
  rest = trimmed.substr(end);
  return trimmed.substr(0, end);
}

class Reader {
 public:
  Reader(ByteSource& source, const LibsvmRows* like) : lines_(source), like_(like) {
    rows_.offsets.push_back(0);
    if (like_ != nullptr) {
      for (std::size_t i = 0; i < like_->classes.size(); ++i) ids_[like_->classes[i]] = i;
    }
  }

  LibsvmRows read() {
    for (std::string_view line; lines_.next(line);) {
      line = trim(line.substr(0, line.find('#')));
      if (!line.empty()) read_row(line);
    }
    if (rows_.rows() == 0)
      fail<DataError>(lines_.name(), "", "no rows", "lines of LABEL INDEX:VALUE ...");
    finish();
    return std::move(rows_);
  }

 private:
  void read_row(std::string_view rest) {
    read_label(next_word(rest));
    std::uint64_t last = 0;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      last = read_feature(word, last);
    }
    rows_.offsets.push_back(rows_.columns.size());
  }

  void read_label(std::string_view word) {
    const std::optional<double> label = parse_number(word);
    if (!label) stop(fmt::format("the label {}", shown(word)), "one number");
    const double value = *label + 0.0;  // -0 is 0
    auto found = ids_.find(value);
    if (found == ids_.end()) {
      if (like_ != nullptr) stop(fmt::format("the label {}", value), "one of the training rows'");
      if (ids_.size() == kMostClasses) {
        stop(fmt::format("more than {} different labels", kMostClasses), "classes");
      }
      found = ids_.emplace(value, ids_.size()).first;
    }
    rows_.labels.push_back(static_cast<std::uint32_t>(found->second));
  }

  std::uint64_t read_feature(std::string_view word, std::uint64_t last) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) stop(shown(word), "INDEX:VALUE");
    const std::optional<std::uint64_t> index = parse_count(word.substr(0, colon));
    if (!index) stop(fmt::format("the index {}", shown(word.substr(0, colon))), "a whole number");
    if (*index == 0) stop("the index 0", "indices from 1");
    if (*index > kLargestLibsvmIndex) {
      stop(fmt::format("the index {}", *index), fmt::format("at most {}", kLargestLibsvmIndex));
    }
    if (*index <= last) {
      stop(fmt::format("the index {} after {}", *index, last), "ascending indices");
    }
    const std::optional<double> value = parse_number(word.substr(colon + 1));
    if (!value) stop(fmt::format("the value {}", shown(word.substr(colon + 1))), "a finite number");
    if (like_ != nullptr && *index > like_->features) {
      ++rows_.dropped;
    } else {
      rows_.features = std::max<std::size_t>(rows_.features, *index);
      rows_.columns.push_back(static_cast<std::uint32_t>(*index - 1));
      rows_.values.push_back(static_cast<float>(*value));
    }
    return *index;
  }

  /// Classes in ascending order; so far they are numbered as they came.
  void finish() {
    if (like_ != nullptr) {
      rows_.classes = like_->classes;
      rows_.features = like_->features;
      return;
    }
    std::vector<std::uint32_t> rank(ids_.size());
    for (const auto& [value, id] : ids_) {
      rank[id] = static_cast<std::uint32_t>(rows_.classes.size());
      rows_.classes.push_back(value);
    }
    for (std::uint32_t& label : rows_.labels) label = rank[label];
  }

  [[noreturn]] void stop(std::string_view found, std::string_view expected) const {
    fail<DataError>(lines_.name(), at_line(lines_.number()), found, expected);
  }

  LineReader lines_;
  const LibsvmRows* like_;
  std::map<double, std::size_t> ids_;
  LibsvmRows rows_;
};

}  // namespace

LibsvmRows read_libsvm(ByteSource& source, const LibsvmRows* like) {
  return Reader(source, like).read();
}

}  // namespace tandem::data
