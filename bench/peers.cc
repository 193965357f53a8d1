// SPDX-License-Identifier: MIT
#include "bench/peers.h"

#include <dlfcn.h>

#include <cmath>
#include <cstring>

#include "plugin/blas_core.h"

namespace tandem::bench {
namespace {

constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;

using Gemv = void (*)(int, int, int, int, float, const float*, int, const float*, int, float,
                      float*, int);
using Ger = void (*)(int, int, int, float, const float*, int, const float*, int, float*, int);

}  // namespace

std::optional<Blas> Blas::load(int threads) {
  plugin::choose_blas_core();
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Blas blas;
  blas.gemv_ = dlsym(library, "cblas_sgemv");
  blas.ger_ = dlsym(library, "cblas_sger");
  if (blas.gemv_ == nullptr || blas.ger_ == nullptr) return std::nullopt;
  if (void* set = dlsym(library, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(set)(threads);
  }
  blas.description_ = "OpenBLAS";
  if (void* config = dlsym(library, "openblas_get_config")) {
    blas.description_ = reinterpret_cast<char* (*)()>(config)();
  }
  return blas;
}

void Blas::textbook_full_step(float* matrix, float* b, float* w, const float* g, float* p, float* r,
                              std::size_t d, float lr, float alpha, float beta) const {
  const auto gemv = reinterpret_cast<Gemv>(gemv_);
  const auto ger = reinterpret_cast<Ger>(ger_);
  const int n = static_cast<int>(d);
  std::memcpy(p, b, d * sizeof(float));
  gemv(kRowMajor, kNoTranspose, n, n, 1, matrix, n, w, 1, 1, p, 1);
  for (std::size_t i = 0; i < d; ++i) {
    r[i] = g[i] - p[i];
    b[i] += beta * r[i];
  }
  ger(kRowMajor, n, n, alpha, r, 1, w, 1, matrix, n);
  std::memcpy(p, b, d * sizeof(float));
  gemv(kRowMajor, kNoTranspose, n, n, 1, matrix, n, w, 1, 1, p, 1);
  for (std::size_t i = 0; i < d; ++i) w[i] -= lr * p[i];
}

void plain_diag_to(float* w, const float* g, float* a, float* b, std::size_t d, float lr,
                   float alpha, float beta) {
  for (std::size_t i = 0; i < d; ++i) {
    const float r = g[i] - a[i] * w[i] - b[i];
    a[i] += alpha * r * w[i];
    b[i] += beta * r;
    w[i] -= lr * (a[i] * w[i] + b[i]);
  }
}

void plain_adam(float* w, const float* g, float* m, float* v, std::size_t d, float lr, float beta1,
                float beta2, float eps, int t) {
  const float correct1 = 1 - std::pow(beta1, static_cast<float>(t));
  const float correct2 = 1 - std::pow(beta2, static_cast<float>(t));
  for (std::size_t i = 0; i < d; ++i) {
    m[i] = beta1 * m[i] + (1 - beta1) * g[i];
    v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    w[i] -= lr * (m[i] / correct1) / (std::sqrt(v[i] / correct2) + eps);
  }
}

}  // namespace tandem::bench
