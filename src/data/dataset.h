// SPDX-License-Identifier: MIT
// What a problem is trained on: rows of features with a class each, dense or sparse, and the
// function that makes one from the name of a data set. How the files become numbers is the business
// of the recipes (recipe.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/buffer.h"

namespace tandem::data {

/// Data are missing or damaged: the message names the file, the place in it, what was found and
/// what was expected. Exit code 3.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a language model is tuned on: it reads the prompt and learns to write the response.
struct Text {
  std::string prompt;
  std::string response;
};

struct Dataset {
  std::string name;
  std::size_t rows = 0;
  std::size_t features = 0;  // with the bias column, where one was appended: it is the last
  std::size_t classes = 0;

  bool sparse = false;
  Buffer<float> dense;  // rows x features, row-major; empty when sparse
  // Compressed sparse rows; empty when dense. Columns ascend within a row.
  std::vector<std::uint64_t> offsets;  // rows + 1
  std::vector<std::uint32_t> columns;
  std::vector<float> values;

  std::vector<std::uint32_t> labels;  // rows, each below classes
  std::vector<std::string> class_names;

  /// In place of all that: rows of text, without features, labels or classes.
  std::vector<Text> texts;

  /// XXH3 of shape, features, labels and texts: what a stored run says it was trained on. Names do
  /// not count.
  std::uint64_t fingerprint() const;
  /// Memory of the arrays.
  std::size_t bytes() const;
};

/// What a recipe makes of a data set's files.
struct Task {
  Dataset train;
  std::optional<Dataset> validation;
  std::vector<std::string> notes;  // what the recipe did, one line each
};

struct LoadOptions {
  /// Folders in which files are looked for, in this order. search_folders() makes the usual list.
  std::vector<std::filesystem::path> search;
  /// Random fraction of the rows held out, where the data set has no test part of its own.
  double validation = 0;
  std::uint64_t seed = 1;  // of that choice
  /// The recipe's own options (vocabulary, stopwords, downsample, split, ...); unknown ones are
  /// refused.
  std::map<std::string, std::string> options;
};

/// `data_dir` (unless empty), TANDEM_DATA (unless unset), and the system's folder of data sets.
std::vector<std::filesystem::path> search_folders(const std::filesystem::path& data_dir = {});

/// Makes the task of a data set: `mnist`, `libsvm:PATH`, `synthetic:rows=1000,features=20`, ...;
/// recipe.h has the table. Throws std::invalid_argument for an unknown name or option, DataError
/// for files that are missing or damaged.
Task load_task(const std::string& spec, const LoadOptions& options);

}  // namespace tandem::data
