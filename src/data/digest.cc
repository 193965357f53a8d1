// SPDX-License-Identifier: MIT
#include "data/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace tandem::data {
namespace {

void require(int status) {
  if (status != 1) throw std::runtime_error("OpenSSL cannot compute this digest");
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Kind Digest::kind_of(const std::string& hexadecimal) {
  return hexadecimal.size() == 64 ? Kind::sha256 : Kind::md5;
}

Digest::Digest(Kind kind) : context_(EVP_MD_CTX_new()) {
  require(EVP_DigestInit_ex(context_.get(), kind == Kind::md5 ? EVP_md5() : EVP_sha256(), nullptr));
}

void Digest::add(std::span<const std::uint8_t> bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned length = 0;
  require(EVP_DigestFinal_ex(context_.get(), bytes.data(), &length));
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::size_t DigestSource::read_some(std::span<std::uint8_t> out) {
  const std::size_t count = source_->read(out);
  digest_.add(out.first(count));
  return count;
}

std::string digest_of(std::unique_ptr<ByteSource> source, Digest::Kind kind) {
  DigestSource digest(std::move(source), kind);
  std::vector<std::uint8_t> buffer(std::size_t{256} << 10);
  while (digest.read(buffer) > 0) {
  }
  return digest.finish();
}

}  // namespace tandem::data
