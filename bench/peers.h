// SPDX-License-Identifier: MIT
// What others would use in our place: a BLAS for Full-TO, plain loops for small problems.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tandem::bench {

/// OpenBLAS, loaded at run time with the kernels of this CPU.
class Blas {
 public:
  /// Nothing if the machine has none.
  static std::optional<Blas> load(int threads);

  std::string description() const { return description_; }
  /// Full-TO as a textbook does it: p = A w + b; A += alpha r w^T; G = A w + b; w -= lr G.
  void textbook_full_step(float* matrix, float* b, float* w, const float* g, float* p, float* r,
                          std::size_t d, float lr, float alpha, float beta) const;

 private:
  Blas() = default;

  void* gemv_ = nullptr;
  void* ger_ = nullptr;
  std::string description_;
};

/// Diag-TO and Adam as anybody would write them, compiled with -O3.
void plain_diag_to(float* w, const float* g, float* a, float* b, std::size_t d, float lr,
                   float alpha, float beta);
void plain_adam(float* w, const float* g, float* m, float* v, std::size_t d, float lr, float beta1,
                float beta2, float eps, int t);

}  // namespace tandem::bench
