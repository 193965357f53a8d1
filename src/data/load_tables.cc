// SPDX-License-Identifier: MIT
// The recipes of tables: numbers scaled by the training rows, words one-hot encoded.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "data/covtype.h"
#include "data/csv.h"
#include "data/fail.h"
#include "data/locate.h"
#include "data/nsl_kdd.h"
#include "data/recipe.h"
#include "data/split.h"
#include "data/table.h"

namespace tandem::data {
namespace {

struct Encoding {
  bool bias = false;
  Scaling scaling = Scaling::standard;
};

/// As the request says; asked for before files are looked for.
Encoding encoding_of(const Request& request) {
  const std::string& scale = request.choice("scale", {"standard", "unit", "none"});
  return {.bias = request.flag("bias"),
          .scaling = scale == "standard" ? Scaling::standard
                     : scale == "unit"   ? Scaling::unit
                                         : Scaling::none};
}

/// Encodes training rows, and either the rows of `test` or a random part of the same table.
Task encode(const Request& request, const Encoding& encoding, const Table& table,
            const Table* test) {
  const auto [bias, scaling] = encoding;
  Task task;
  const double fraction = test == nullptr ? request.load.validation : 0;
  const Split split = split_rows(table.rows(), fraction, request.load.seed);
  const TableEncoder encoder(table, split.train, scaling);
  task.train = encoder.encode(table, split.train, bias);

  const char* scaled = scaling == Scaling::standard ? ", standardised by the training rows"
                       : scaling == Scaling::unit   ? ", from 0 to 1 in the training rows"
                                                    : ", as they are";
  std::string note = fmt::format("inputs: {} numbers{}", encoder.numeric(), scaled);
  if (encoder.constant() > 0) note += fmt::format(" ({} never change)", encoder.constant());
  const std::vector<std::size_t> categories = encoder.categories();
  if (categories.size() > 5) {
    note += fmt::format(" + {} of {} words one-hot", encoder.inputs() - encoder.numeric(),
                        categories.size());
  } else if (!categories.empty()) {
    note += fmt::format(" + {} words one-hot", fmt::join(categories, " + "));
  }
  note += fmt::format("{} = {}", bias ? " + bias" : ", no bias", task.train.features);
  task.notes.push_back(note);

  const Table* held_out = test;
  std::vector<std::size_t> rows;
  if (test != nullptr) {
    rows = all_rows(test->rows());
    if (request.load.validation > 0) {
      task.notes.emplace_back("the validation fraction is not used: there is a test part");
    }
  } else if (!split.validation.empty()) {
    held_out = &table;
    rows = split.validation;
    task.notes.push_back(
        fmt::format("validation: {} random rows, seed {}", rows.size(), request.load.seed));
  }
  if (held_out != nullptr) {
    task.validation = encoder.encode(*held_out, rows, bias);
    const std::size_t unknown = encoder.unknown(*held_out, rows);
    if (unknown > 0) {
      task.notes.push_back(fmt::format(
          "{} words of the validation rows are not in the training rows: zeros", unknown));
    }
  }
  return task;
}

Table read_file(const std::filesystem::path& path, Table (*read)(ByteSource&)) {
  const auto source = open_source(path);
  return read(*source);
}

void join_classes(Table& table, std::uint32_t one) {
  Words classes;
  classes.add("rest");
  classes.add(table.classes.all()[one]);
  for (std::uint32_t& label : table.labels) label = label == one ? 1 : 0;
  table.classes = std::move(classes);
}

}  // namespace

Task load_covtype(const Request& request) {
  const bool two = request.choice("classes", {"7", "2"}) == "2";
  const Encoding encoding = encoding_of(request);
  const auto path = Locator(request.recipe, request.load.search).require("covtype.data.gz");
  Table table = read_file(path, read_covtype);
  if (two) join_classes(table, 1);
  Task task = encode(request, encoding, table, nullptr);
  task.notes.insert(task.notes.begin(),
                    fmt::format("{} rows from {}, {}", table.rows(), path.string(),
                                two ? "class 2 (lodgepole pine) against the rest" : "7 classes"));
  return task;
}

Task load_nsl_kdd(const Request& request) {
  const std::string& part = request.choice("split", {"test", "train20", "train"});
  const Encoding encoding = encoding_of(request);
  const Locator locator(request.recipe, request.load.search);
  std::filesystem::path path;
  if (part == "test") {
    path = locator.require("KDDTest+.txt");
  } else if (part == "train20") {
    path = locator.require("KDDTrain+_20Percent.txt");
  } else {
    const auto binary =
        locator.find("KDDTrain+.txt") ? std::nullopt : locator.find("KDDTrain+_binary.csv");
    path = binary ? *binary : locator.require("KDDTrain+.txt");
  }
  const Table table = read_file(path, read_nsl_kdd);
  std::optional<Table> test;
  std::optional<std::filesystem::path> test_path;
  if (part != "test" && (test_path = locator.find("KDDTest+.txt"))) {
    test = read_file(*test_path, read_nsl_kdd);
  }
  Task task = encode(request, encoding, table, test ? &*test : nullptr);
  task.notes.insert(task.notes.begin(), fmt::format("{} rows from {}, 2 classes: normal, attack",
                                                    table.rows(), path.string()));
  if (test) {
    task.notes.push_back(
        fmt::format("validation: {} rows from {}", test->rows(), test_path->string()));
  }
  return task;
}

Task load_csv(const Request& request) {
  CsvOptions options{.separator = ',', .label = request.text("label"), .categorical = {}};
  const std::string& separator = request.choice("separator", {"comma", "semicolon", "tab"});
  if (separator != "comma") options.separator = separator == "tab" ? '\t' : ';';
  std::string names = request.text("categorical");
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('+'), names.size());
    options.categorical.push_back(names.substr(0, end));
    names.erase(0, std::min(end + 1, names.size()));
  }

  const Encoding encoding = encoding_of(request);

  const auto open = [&](const std::string& name) {
    std::optional<std::filesystem::path> path = find_packed(name);
    if (!path) path = Locator(request.recipe, request.load.search).find(name);
    if (!path) fail<DataError>(name, "", "no such file", "a CSV file, plain, .gz or .xz");
    return open_source(*path);
  };
  const auto source = open(request.argument);
  const Table table = read_csv(*source, options);
  if (table.classes.size() < 2) {
    fail<DataError>(source->name(), "", "one class only", "at least two in the label column");
  }
  std::optional<Table> test;
  std::string test_name;
  if (request.text("test") != "none") {
    const auto test_source = open(request.text("test"));
    test_name = test_source->name();
    test = read_csv(*test_source, options, &table);
  }
  Task task = encode(request, encoding, table, test ? &*test : nullptr);
  task.notes.insert(task.notes.begin(), fmt::format("{} rows from {}, {} classes", table.rows(),
                                                    source->name(), table.classes.size()));
  if (test) {
    task.notes.push_back(fmt::format("validation: {} rows from {}", test->rows(), test_name));
  }
  return task;
}

}  // namespace tandem::data
