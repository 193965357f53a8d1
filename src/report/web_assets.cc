// SPDX-License-Identifier: MIT
#include "report/web_assets.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace tandem::report {

const std::string& web_script_digest() {
  static const std::string digest = [] {
    std::array<unsigned char, 32> hash{};
    unsigned size = 0;
    const std::string_view script = web_script();
    if (EVP_Digest(script.data(), script.size(), hash.data(), &size, EVP_sha256(), nullptr) != 1) {
      throw std::runtime_error("OpenSSL cannot take a SHA-256 digest");
    }
    std::array<unsigned char, 45> text{};  // 4 characters for each 3 bytes, and the end
    const int length = EVP_EncodeBlock(text.data(), hash.data(), static_cast<int>(size));
    return "sha256-" + std::string(text.begin(), text.begin() + length);
  }();
  return digest;
}

}  // namespace tandem::report
