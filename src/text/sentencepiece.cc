// SPDX-License-Identifier: MIT
#include "text/sentencepiece.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/find_library.h"
#include "base/printable.h"
#include "text/fail.h"
#include "text/model_proto.h"
#include "text/sentencepiece/library.h"

namespace tandem::text {
namespace {

using sentencepiece::Library;
using sentencepiece::Model;

constexpr std::size_t kLongestMessage = 200;

const Library& open_library() {
  std::filesystem::path path;
  try {
    path = find_library(
        "tandem_sentencepiece.so",
        "this tandem was built or installed without its SentencePiece part, which is built where "
        "SentencePiece is found (Debian: libsentencepiece-dev)");
  } catch (const LibraryNotFound& error) {
    throw TokenizerError(error.what());
  }
  int flags = RTLD_NOW | RTLD_LOCAL;
  // Its protobuf must not be LibTorch's. The address sanitizer does not allow the flag.
#if !defined(__SANITIZE_ADDRESS__)
  flags |= RTLD_DEEPBIND;
#endif
  void* library = dlopen(path.c_str(), flags);
  if (library == nullptr) {
    throw TokenizerError(fmt::format("Cannot load {}: {}", path.string(), dlerror()));
  }
  const auto entry =
      reinterpret_cast<sentencepiece::Entry>(dlsym(library, sentencepiece::kEntryName));
  if (entry == nullptr) {
    throw TokenizerError(fmt::format("{} is of another build of tandem: it has no {}()",
                                     path.string(), sentencepiece::kEntryName));
  }
  return *entry();
}

/// Stays loaded.
const Library& library() {
  static const Library& loaded = open_library();
  return loaded;
}

/// What a call of the library gives back.
struct Reply {
  std::vector<std::int32_t> tokens;
  std::string text;
  std::string error;

  static void add_tokens(void* reply, const std::int32_t* tokens, std::size_t count) {
    static_cast<Reply*>(reply)->tokens.assign(tokens, tokens + count);
  }
  static void add_text(void* reply, const char* text, std::size_t size) {
    static_cast<Reply*>(reply)->text.assign(text, size);
  }
  static void add_error(void* reply, const char* text, std::size_t size) {
    static_cast<Reply*>(reply)->error.assign(text, size);
  }
};

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::span<const std::byte> bytes, std::string name)
      : name_(std::move(name)) {
    Reply reply;
    model_ = library().open(reinterpret_cast<const char*>(bytes.data()), bytes.size(),
                            Reply::add_error, &reply);
    if (model_ == nullptr) {
      fail<TokenizerError>(name_, "",
                           fmt::format("damage ({})", printable(reply.error, kLongestMessage)),
                           "a model of SentencePiece");
    }
  }
  SentencePieceTokenizer(const SentencePieceTokenizer&) = delete;
  SentencePieceTokenizer& operator=(const SentencePieceTokenizer&) = delete;
  ~SentencePieceTokenizer() override { library().close(model_); }

  std::size_t vocabulary() const override { return library().vocabulary(model_); }
  std::int32_t bos() const override { return library().bos(model_); }
  std::int32_t eos() const override { return library().eos(model_); }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    check_length(text);
    Reply reply;
    require(library().encode(model_, text.data(), text.size(), Reply::add_tokens, Reply::add_error,
                             &reply),
            reply);
    return std::move(reply.tokens);
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    for (const std::int32_t token : tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= vocabulary()) {
        fail_token(token, vocabulary());
      }
    }
    Reply reply;
    require(library().decode(model_, tokens.data(), tokens.size(), Reply::add_text,
                             Reply::add_error, &reply),
            reply);
    return std::move(reply.text);
  }

 private:
  void require(bool good, const Reply& reply) const {
    if (!good)
      throw TokenizerError(fmt::format("{}: SentencePiece fails: {}", name_,
                                       printable(reply.error, kLongestMessage)));
  }

  std::string name_;
  Model* model_;
};

}  // namespace

std::unique_ptr<Tokenizer> read_sentencepiece(std::span<const std::byte> bytes,
                                              std::size_t vocabulary, const std::string& name) {
  const std::size_t pieces = check_model_proto(bytes, name);
  if (pieces != vocabulary) fail_vocabulary(name, pieces, vocabulary);
  auto tokenizer = std::make_unique<SentencePieceTokenizer>(bytes, name);
  if (tokenizer->vocabulary() != vocabulary) {
    fail_vocabulary(name, tokenizer->vocabulary(), vocabulary);
  }
  if (tokenizer->bos() < 0 || tokenizer->eos() < 0) {
    fail<TokenizerError>(
        name, "", fmt::format("no token that {} a text", tokenizer->bos() < 0 ? "begins" : "ends"),
        "both");
  }
  return tokenizer;
}

}  // namespace tandem::text
