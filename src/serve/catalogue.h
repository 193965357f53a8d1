// SPDX-License-Identifier: MIT
// What the stores hold, as JSON for viewers; web/src/model.ts says what is in it. Nothing here
// writes to a store.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "serve/run_table.h"

namespace tandem::serve {

/// Any thread may call any of it. However many look on, each state of a store is read and written
/// out once.
class Catalogue {
 public:
  using Text = std::shared_ptr<const std::string>;

  explicit Catalogue(const std::vector<std::filesystem::path>& stores);
  ~Catalogue();

  /// All studies and how far they are, as it was found last.
  struct Overview {
    Text text;
    std::uint64_t number = 0;  // differs where the text does
  };
  Overview overview() const;
  /// Looks at the stores, and wakes those who wait if there is something new.
  void refresh();
  /// The first overview that is newer than number `seen`, or the same after some time or close().
  Overview wait(std::uint64_t seen, std::chrono::milliseconds time) const;
  /// Nobody waits from now on.
  void close();
  bool closed() const;
  /// Returns after that time, or when it is closed.
  void wait_closed(std::chrono::milliseconds time) const;

  /// Null where there is no such thing; store::StoreError where a store cannot be read.
  Text study(std::size_t store, std::int64_t study);
  Text runs(std::size_t store, std::int64_t study, const RunQuery& query);
  Text run(std::size_t store, std::int64_t study, std::int64_t run);

 private:
  struct Source;
  /// What was made of studies, by store and study, until their revision is another.
  template <class T>
  struct Kept {
    std::string revision;
    std::shared_ptr<const T> value;
  };
  template <class T>
  using Shelf = std::map<std::pair<std::size_t, std::int64_t>, Kept<T>>;
  template <class T, class Make>
  std::shared_ptr<const T> kept(Shelf<T>& shelf, std::size_t store, std::int64_t study,
                                const Make& make);

  std::vector<std::unique_ptr<Source>> sources_;
  std::mutex refreshing_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable changed_;
  Overview overview_;
  bool closed_ = false;
  Shelf<std::string> studies_;
  Shelf<RunTable> tables_;
};

}  // namespace tandem::serve
