// SPDX-License-Identifier: MIT
// A worker that is told a store and no study: it works on whatever study has units left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "store/store.h"
#include "study/runner.h"

namespace tandem::study {

class AnyStudy {
 public:
  /// Says which study cannot be worked on here, and why.
  using Say = std::function<void(const std::string&)>;

  /// With `stay` it waits for studies that are to come; otherwise it ends when every study is
  /// complete that it can work on. What `options` has of parts, waiting and the command is not used.
  AnyStudy(store::Store& store, RunOptions options, bool stay, Say say);

  /// False when `progress` returned false.
  bool run(const std::function<bool(const Status&)>& progress);
  /// Studies that it could not work on: other data are here, or another CPU target.
  std::size_t refused() const { return refused_.size(); }

 private:
  enum class Left { nothing, with_others, free };
  Left left_of(const store::Study& study);
  /// Null where this process cannot work on it.
  Runner* runner_for(const store::Study& study);

  store::Store& store_;
  RunOptions options_;
  bool stay_;
  Say say_;
  std::unique_ptr<Runner> runner_;  // of the last study: it may have units again soon
  std::string runner_of_;           // studies by their uids, here and below
  std::set<std::string> refused_;
  std::map<std::string, std::int64_t> complete_;  // the revision at which nothing was left
};

}  // namespace tandem::study
