// SPDX-License-Identifier: MIT
// The recipes of sparse data: LIBSVM's files and 20 Newsgroups; and the one of data that are made
// up.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "data/fail.h"
#include "data/fields.h"
#include "data/libsvm.h"
#include "data/locate.h"
#include "data/newsgroups.h"
#include "data/recipe.h"
#include "data/split.h"
#include "data/synthetic.h"
#include "data/tfidf.h"

namespace tandem::data {
namespace {

/// Moves random rows of a task into its validation part, if the user asked for that.
void hold_out(const Request& request, Task& task) {
  if (request.load.validation == 0) return;
  const Split split = split_rows(task.train.rows, request.load.validation, request.load.seed);
  task.validation = take_rows(task.train, split.validation);
  task.train = take_rows(task.train, split.train);
  task.notes.push_back(fmt::format("validation: {} random rows, seed {}", split.validation.size(),
                                   request.load.seed));
}

Dataset libsvm_dataset(const LibsvmRows& rows, bool sparse, bool bias) {
  Dataset data;
  data.rows = rows.rows();
  data.features = rows.features + (bias ? 1 : 0);
  data.classes = rows.classes.size();
  for (const double label : rows.classes) data.class_names.push_back(fmt::format("{}", label));
  data.labels = rows.labels;
  data.sparse = sparse;
  if (sparse) {
    data.offsets.push_back(0);
  } else {
    data.dense = Buffer<float>(data.rows * data.features);
  }
  const auto put = [&](std::size_t row, std::uint32_t column, float value) {
    if (sparse) {
      data.columns.push_back(column);
      data.values.push_back(value);
    } else {
      data.dense[row * data.features + column] = value;
    }
  };
  for (std::size_t row = 0; row < data.rows; ++row) {
    for (std::uint64_t i = rows.offsets[row]; i < rows.offsets[row + 1]; ++i) {
      put(row, rows.columns[i], rows.values[i]);
    }
    if (bias) put(row, static_cast<std::uint32_t>(rows.features), 1);
    if (sparse) data.offsets.push_back(data.columns.size());
  }
  return data;
}

bool keep_sparse(const std::string& form, const LibsvmRows& rows) {
  if (form != "auto") return form == "sparse";
  // Where the dense products of a population are faster than looking up columns.
  const double density = static_cast<double>(rows.values.size()) /
                         (static_cast<double>(rows.rows()) * static_cast<double>(rows.features));
  return rows.features > 4096 || density < 0.05;
}

std::optional<std::filesystem::path> find_test(const Request& request,
                                               const std::filesystem::path& train) {
  const std::string& name = request.text("test");
  if (name == "none") return std::nullopt;
  if (name == "auto") return find_packed(plain_name(train.string()) + ".t");
  if (auto found = find_packed(name)) return found;
  if (auto found = Locator(request.recipe, request.load.search).find(name)) return found;
  fail<DataError>(name, "", "no such file", "a file in LIBSVM's format, plain, .gz or .xz");
}

Corpus read_news20(const Request& request, Headers headers, std::string& origin) {
  const Locator locator(request.recipe, request.load.search);
  const auto train = locator.find_folder("20news-bydate-train");
  const auto test = locator.find_folder("20news-bydate-test");
  if (train && test) {
    origin = fmt::format("{} and {}", train->string(), test->string());
    return read_newsgroups_folders({*train, *test}, headers);
  }
  const auto archive = locator.find("20news-bydate.tar.gz");
  if (!archive) {
    locator.fail_missing(
        "20news-bydate.tar (plain, .gz or .xz), nor the folders 20news-bydate-train and "
        "20news-bydate-test");
  }
  origin = archive->string();
  return read_newsgroups_archive(open_source(*archive), headers);
}

double real_option(const Request& request, const std::string& option) {
  const auto value = parse_number(request.text(option));
  if (!value) {
    throw std::invalid_argument(
        fmt::format("Invalid option {} = '{}' of data set '{}', expected "
                    "a number",
                    option, request.text(option), request.recipe.name));
  }
  return *value;
}

}  // namespace

Task load_libsvm(const Request& request) {
  const bool bias = request.flag("bias");
  const std::string& form = request.choice("form", {"auto", "dense", "sparse"});
  std::optional<std::filesystem::path> path = find_packed(request.argument);
  if (!path) path = Locator(request.recipe, request.load.search).find(request.argument);
  if (!path) {
    fail<DataError>(request.argument, "", "no such file",
                    "a file in LIBSVM's format, plain, .gz or .xz");
  }
  const auto source = open_source(*path);
  const LibsvmRows rows = read_libsvm(*source);
  if (rows.classes.size() < 2) {
    fail<DataError>(source->name(), "", fmt::format("the label {} only", rows.classes[0]),
                    "at least two different labels");
  }
  if (rows.features == 0)
    fail<DataError>(source->name(), "", "no features", "INDEX:VALUE in some line");
  const bool sparse = keep_sparse(form, rows);
  Task task;
  task.train = libsvm_dataset(rows, sparse, bias);
  task.notes.push_back(
      fmt::format("{} rows from {}, {} classes in numerical order, {} features as they are{} = {}, "
                  "{} values kept {}",
                  rows.rows(), path->string(), rows.classes.size(), rows.features,
                  bias ? " + bias" : ", no bias", task.train.features, rows.values.size(),
                  sparse ? "sparse" : "dense"));
  const auto test_path = find_test(request, *path);
  if (!test_path) {
    hold_out(request, task);
    return task;
  }
  const auto test_source = open_source(*test_path);
  const LibsvmRows test = read_libsvm(*test_source, &rows);
  task.validation = libsvm_dataset(test, sparse, bias);
  task.notes.push_back(
      fmt::format("validation: {} rows from {}", test.rows(), test_path->string()));
  if (test.dropped > 0) {
    task.notes.push_back(fmt::format(
        "{} values of the validation rows are of features that no training row has: left out",
        test.dropped));
  }
  return task;
}

Task load_news20(const Request& request) {
  constexpr std::size_t kMost = 100'000'000;
  const TfidfOptions options{
      .vocabulary = request.count("vocabulary", 0, kMost),
      .min_documents = request.count("min_documents", 1, kMost),
      .stopwords = request.choice("stopwords", {"english", "none"}) == "english",
      .bias = request.flag("bias")};
  const bool strip = request.choice("headers", {"keep", "strip"}) == "strip";
  std::string origin;
  const Corpus corpus = read_news20(request, strip ? Headers::strip : Headers::keep, origin);

  std::set<std::string> names;
  std::vector<std::size_t> train;
  std::vector<std::size_t> validation;
  for (std::size_t d = 0; d < corpus.documents.size(); ++d) {
    names.insert(corpus.documents[d].group);
    (corpus.documents[d].test ? validation : train).push_back(d);
  }
  if (train.empty() || names.size() < 2) {
    fail<DataError>(origin, "",
                    fmt::format("{} training documents in {} groups", train.size(), names.size()),
                    "some, in at least two groups");
  }
  std::string chosen = "by date";
  if (validation.empty() && request.load.validation > 0) {
    const Split split = split_rows(train.size(), request.load.validation, request.load.seed);
    for (const std::size_t i : split.validation) validation.push_back(train[i]);
    std::vector<std::size_t> kept;
    for (const std::size_t i : split.train) kept.push_back(train[i]);
    train = std::move(kept);
    chosen = fmt::format("at random, seed {}", request.load.seed);
  } else if (request.load.validation > 0) {
    chosen += "; the validation fraction is not used";
  }
  const std::vector<std::string> groups(names.begin(), names.end());
  const Tfidf tfidf(corpus, train, options);
  if (tfidf.vocabulary().empty()) fail<DataError>(origin, "", "no terms", "documents with words");
  Task task;
  task.train = tfidf.encode(corpus, train, groups);
  if (!validation.empty()) task.validation = tfidf.encode(corpus, validation, groups);
  task.notes.push_back(
      fmt::format("{} training and {} validation documents ({}) in {} groups from {}", train.size(),
                  validation.size(), chosen, groups.size(), origin));
  task.notes.push_back(
      fmt::format("terms: {} of those in at least {} training documents, the commonest first{}{}",
                  tfidf.vocabulary().size(), options.min_documents,
                  options.stopwords ? ", without English stop words" : "",
                  strip ? ", without headers" : ", headers kept"));
  task.notes.push_back(
      fmt::format("tf * (ln((1 + n) / (1 + df)) + 1), rows of length 1{} = {} "
                  "inputs, sparse",
                  options.bias ? ", + bias" : ", no bias", task.train.features));
  return task;
}

Task load_synthetic(const Request& request) {
  constexpr std::size_t kMost = (std::size_t{1} << 31) - 1;
  const SyntheticSpec spec{.rows = request.count("rows", 1, kMost),
                           .features = request.count("features", 1, kMost),
                           .classes = request.count("classes", 2, 4096),
                           .condition = real_option(request, "condition"),
                           .noise = real_option(request, "noise"),
                           .sparse = real_option(request, "sparse"),
                           .rotate = request.flag("rotate"),
                           .bias = request.flag("bias"),
                           .seed = request.count("seed", 0, ~std::size_t{0})};
  Task task;
  task.train = make_synthetic(spec);
  task.notes.push_back(fmt::format(
      "{} rows of {} {} inputs{}, {} classes, condition number {}, {} of the labels wrong, seed {}",
      spec.rows, spec.features, spec.sparse > 0 ? "sparse" : "dense", spec.bias ? " + bias" : "",
      spec.classes, spec.condition, spec.noise, spec.seed));
  hold_out(request, task);
  return task;
}

}  // namespace tandem::data
