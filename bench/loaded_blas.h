// SPDX-License-Identifier: MIT
// The BLAS that another library brought into this process.
#pragma once

#include <optional>
#include <string>

namespace tandem::bench {

class LoadedBlas {
 public:
  /// Nothing if there is none.
  static std::optional<LoadedBlas> find();

  /// Its file, and which kernels it chose where it is an OpenBLAS.
  const std::string& description() const { return description_; }
  /// OpenBLAS built on POSIX threads knows nothing of OpenMP's number. Does nothing for others.
  void set_threads(int threads) const;

 private:
  std::string description_;
  void* library_ = nullptr;
};

}  // namespace tandem::bench
