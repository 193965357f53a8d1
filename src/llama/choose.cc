// SPDX-License-Identifier: MIT
#include "llama/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/suggest.h"

namespace tandem::llama {
namespace {

/// The names that a pattern without its wildcards is nearest to, or whose parts it names.
std::vector<std::string> near_names(const std::string& pattern,
                                    const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> near;
  std::vector<std::string> left = names;
  while (near.size() < kMost) {
    const std::string name = nearest(pattern, left);
    if (name.empty()) break;
    near.push_back(name);
    std::erase(left, name);
  }
  // The last word may be right where the rest is far off: layers.99.*.wq.
  const std::string word = pattern.substr(pattern.find_last_of(".*?") + 1);
  for (auto name = names.rbegin(); name != names.rend() && near.size() < kMost; ++name) {
    const bool known = std::ranges::find(near, *name) != near.end();
    if (!word.empty() && name->ends_with(word) && !known) near.push_back(*name);
  }
  return near;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  // Where the last * is, and where in the name what follows it is being tried.
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  std::size_t p = 0;
  std::size_t n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::vector<std::string> choose_weights(const Checkpoint& checkpoint,
                                        const std::vector<std::string>& patterns) {
  if (patterns.empty()) throw std::invalid_argument("no pattern that says which weights to train");
  const auto& weights = checkpoint.weights();
  const auto& file_names = checkpoint.file_names();
  std::vector<bool> chosen(weights.size(), false);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (matches(pattern, weights[i].name) || matches(pattern, file_names[i])) {
        chosen[i] = true;
        any = true;
      }
    }
    if (any) continue;
    std::vector<std::string> names;
    for (const tensors::Tensor& weight : weights) names.push_back(weight.name);
    if (!checkpoint.is_llama2c()) names.insert(names.end(), file_names.begin(), file_names.end());
    const std::vector<std::string> near = near_names(pattern, names);
    throw std::invalid_argument(fmt::format(
        "no weight of {} fits the pattern {}; {}", checkpoint.where(), in_quotes(pattern),
        near.empty() ? fmt::format("there are {}, ..., {}", names.front(), names[1])
                     : fmt::format("near it are {}", fmt::join(near, ", "))));
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (chosen[i]) names.push_back(weights[i].name);
  }
  return names;
}

std::vector<std::string> default_patterns(const Config& config) {
  return {fmt::format("layers.{}.attention.w?", config.layers - 1)};
}

}  // namespace tandem::llama
