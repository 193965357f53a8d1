// SPDX-License-Identifier: MIT
// The recipe of instructions with responses, which language models are tuned on.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "data/alpaca.h"
#include "data/fail.h"
#include "data/locate.h"
#include "data/recipe.h"
#include "data/split.h"

namespace tandem::data {
namespace {

std::filesystem::path find_items(const Request& request) {
  const Locator locator(request.recipe, request.load.search);
  const std::string& given = request.text("file");
  if (given.empty()) return locator.require("alpaca_data.json");
  std::optional<std::filesystem::path> path = find_packed(given);
  if (!path) path = locator.find(given);
  if (!path)
    fail<DataError>(given, "", "no such file", "a file in Alpaca's format, plain, .gz or .xz");
  return *path;
}

}  // namespace

Task load_alpaca(const Request& request) {
  constexpr std::size_t kMost = 1'000'000'000;
  const std::size_t most = request.count("items", 0, kMost);
  const bool plain = request.choice("template", {"alpaca", "plain"}) == "plain";
  const auto source = open_source(find_items(request));
  const Instructions found = read_alpaca(*source, most);
  Task task;
  for (const Instruction& item : found.items) {
    task.train.texts.push_back(
        make_text(item, plain ? PromptTemplate::plain : PromptTemplate::alpaca));
  }
  task.train.rows = task.train.texts.size();
  task.notes.push_back(fmt::format(
      "{}{} items from {}; the prompt is {}", most == 0 ? "" : "the first ", task.train.rows,
      source->name(), plain ? "the instruction and the input, a line each" : "Alpaca's template"));
  if (found.empty > 0) {
    task.notes.push_back(
        fmt::format("{} items of the file have an empty output: left out", found.empty));
  }
  if (request.load.validation > 0) {
    const Split split = split_rows(task.train.rows, request.load.validation, request.load.seed);
    task.validation = take_rows(task.train, split.validation);
    task.train = take_rows(task.train, split.train);
    task.notes.push_back(fmt::format("validation: {} random items, seed {}", task.validation->rows,
                                     request.load.seed));
  }
  return task;
}

}  // namespace tandem::data
