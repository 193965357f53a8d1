// SPDX-License-Identifier: MIT
#include "text/tokenizer.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <span>
#include <string>
#include <system_error>

#include "text/fail.h"
#include "text/llama2c.h"
#include "text/sentencepiece.h"

namespace tandem::text {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = std::size_t{256} << 20;  // of any tokenizer

std::string read_file(const fs::path& path) {
  const auto refuse = [&](const std::string& found) {
    fail<TokenizerError>(path.string(), "", found, "a file that can be read");
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) refuse(error.message());
  if (fs::is_directory(status)) refuse("a folder");
  if (!fs::is_regular_file(status)) refuse("a device or a pipe");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse(std::generic_category().message(errno));
  const auto size = fs::file_size(path, error);
  if (error) refuse(error.message());
  if (size > kLargestFile) {
    fail<TokenizerError>(path.string(), "", fmt::format("a file of {} bytes", size),
                         fmt::format("a tokenizer of at most {}", kLargestFile));
  }
  std::string bytes(size, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& path, std::size_t vocabulary) {
  const std::string bytes = read_file(path);
  const auto read = path.extension() == ".bin" ? read_llama2c : read_sentencepiece;
  return read(std::as_bytes(std::span(bytes)), vocabulary, path.string());
}

}  // namespace tandem::text
