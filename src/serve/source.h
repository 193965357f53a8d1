// SPDX-License-Identifier: MIT
// One store that is looked at while others write to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "serve/catalogue.h"
#include "store/store.h"

namespace tandem::serve {

struct Catalogue::Source {
  explicit Source(std::filesystem::path path) : file(std::move(path)) {}

  /// The store as it is now: opened again where the file is another one by now. Throws
  /// store::StoreError. With the lock.
  const store::Store& now();
  /// The studies and how far they are, in the form of the overview; `error` says why there are
  /// none.
  nlohmann::ordered_json studies(std::size_t number_of_store);

  std::optional<store::Study> find(std::int64_t study);
  /// Differs whenever something else is to be seen of the study.
  std::string revision(const store::Study& study);

  std::filesystem::path file;
  std::mutex lock;
  std::string error;

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t number = 0;
    // Only where a copy is read, which does not see what others write.
    std::int64_t size = 0, changed = 0, log_size = 0, log_changed = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp(bool of_copy) const;

  std::optional<store::Store> store_;
  Stamp stamp_;
};

}  // namespace tandem::serve
