// SPDX-License-Identifier: MIT
// The runs of a study as lines, without their points, so that a page of any order is found without
// a look at the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::store {
class Store;
}

namespace tandem::serve {

/// What a viewer asked to see: all words of `words` somewhere in a line, phase and outcome where
/// they are named; then so many of what was found, in this order.
struct RunQuery {
  std::string words = {};
  std::string phase = "all";    // "tune", "measure"
  std::string outcome = "all";  // "finished", "diverged", "pruned"
  std::string order = "loss";   // a column: see run_columns()
  bool descending = false;
  std::size_t offset = 0;
  std::size_t count = 50;
};

inline constexpr std::size_t kMostRuns = 1000;  // of one page

/// From the query of an address. Throws std::invalid_argument, naming what cannot be.
RunQuery parse_run_query(std::string_view query);

class RunTable {
 public:
  RunTable(const store::Store& store, std::int64_t study);

  /// {"tasks": [...], "total": ..., "found": ..., "runs": [...]}; lines without a loss come last
  /// where they are in order of it, and lines that are equal in the order of the store.
  nlohmann::ordered_json page(const RunQuery& query) const;

 private:
  struct Line {
    std::int64_t id;
    std::size_t task;
    std::string optimizer;
    std::string_view phase;
    std::uint64_t seed;
    double loss;  // NaN: none
    bool diverged;
    bool pruned;
    std::string options;  // JSON
    std::string setting;  // the same in words

    std::string_view outcome() const;
  };

  bool matches(const Line& line, const std::vector<std::string>& words) const;
  int compare(const Line& a, const Line& b, const std::string& column) const;

  std::vector<std::string> tasks_;
  std::vector<Line> lines_;
};

}  // namespace tandem::serve
