// SPDX-License-Identifier: MIT
// Models of SentencePiece: its library gives the tokens that ours gives, and damage is refused.
#include "text/sentencepiece.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/real_data.h"
#include "text/llama2c.h"
#include "text/model_proto.h"
#include "text/test_tokenizers.h"

namespace tandem::text {
namespace {

using Tokens = std::vector<std::int32_t>;

class SentencePiece : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(TANDEM_SENTENCEPIECE_DIR)
    setenv("TANDEM_PLUGIN_DIR", TANDEM_SENTENCEPIECE_DIR, 1);
#else
    GTEST_SKIP() << "built without SentencePiece (Debian: libsentencepiece-dev)";
#endif
  }

  static std::unique_ptr<Tokenizer> read(const std::string& file, std::size_t vocabulary) {
    return read_sentencepiece(bytes_of(file), vocabulary, "small.model");
  }
};

Pieces some_pieces() {
  return with_bytes({{" ", -9},
                     {"a", -9},
                     {"b", -9},
                     {"é", -9},
                     {"ab", -2},
                     {" a", -3},
                     {"  ", -4},
                     {" aé", -1},
                     {"ba", -2},
                     {" ab", -5}});
}

const std::vector<std::string> kTexts = {
    "ab",  "abab ab",         "a é",    " aé", "   a  b ", "研 \U0001F600\n",
    "xyz", "<s> </s> <0x41>", "ab\tba", "a",   " "};

TEST_F(SentencePiece, AgreesWithOurOwnEncoder) {
  const Pieces pieces = some_pieces();
  const auto theirs = read(sentencepiece_file(pieces), pieces.size());
  const std::string file = llama2c_file(pieces);
  const auto ours = read_llama2c(bytes_of(file), pieces.size(), "tok.bin");
  EXPECT_EQ(theirs->vocabulary(), pieces.size());
  EXPECT_EQ(theirs->bos(), 1);
  EXPECT_EQ(theirs->eos(), 2);
  for (const std::string& text : kTexts) {
    EXPECT_EQ(theirs->encode(text), ours->encode(text)) << text;
    EXPECT_EQ(theirs->decode(theirs->encode(text)), text);
  }
  EXPECT_TRUE(theirs->encode("").empty());
  EXPECT_EQ(theirs->decode(Tokens{}), "");
  EXPECT_EQ(theirs->decode(Tokens{1, 264, 2}), ours->decode(Tokens{1, 264, 2}));
  EXPECT_THROW(theirs->decode(Tokens{static_cast<std::int32_t>(pieces.size())}), std::out_of_range);
  EXPECT_THROW(theirs->decode(Tokens{-1}), std::out_of_range);
  EXPECT_EQ(theirs->decode(theirs->encode("a\xff")), "a\uFFFD");
}

TEST_F(SentencePiece, MustHaveTheModelsVocabulary) {
  const std::string file = sentencepiece_file(some_pieces());
  expect_refused([&] { read(file, 32000); },
                 {"small.model", "a tokenizer of 269 tokens", "one of 32000"});
}

TEST_F(SentencePiece, RefusesWhatTheLibraryRefuses) {
  Pieces twice = some_pieces();
  twice.push_back(twice.back());
  expect_refused([&] { read(sentencepiece_file(twice), twice.size()); }, {"small.model", "damage"});
  const std::string no_unknown =
      piece_field({"<s>"}, 3) + piece_field({"</s>"}, 3) + trainer_field();
  expect_refused([&] { read(no_unknown, 2); }, {"damage"});
  Pieces few(3);
  few[0].text = "<unk>";
  few[1].text = "<s>";
  few[2].text = "</s>";
  expect_refused([&] { read(sentencepiece_file(few), 3); }, {"byte"});  // bytes are missing
  Pieces other = some_pieces();
  other[1].text = "<begin>";
  expect_refused([&] { read(sentencepiece_file(other), other.size()); },
                 {"no token that begins a text"});
}

TEST_F(SentencePiece, CutFilesAreRefused) {
  const std::string file = sentencepiece_file(some_pieces());
  for (std::size_t size = 0; size < file.size() - trainer_field().size(); size += 7) {
    expect_refused([&] { read(file.substr(0, size), 269); }, {"small.model"});
  }
}

TEST(ModelProto, CountsPieces) {
  const std::string file = sentencepiece_file(some_pieces());
  EXPECT_EQ(check_model_proto(bytes_of(file), "x"), 269U);
}

TEST(ModelProto, RefusesDamage) {
  const auto refused = [](const std::string& file, std::vector<std::string> parts) {
    parts.emplace_back("small.model");
    expect_refused([&] { check_model_proto(bytes_of(file), "small.model"); }, parts);
  };
  const std::string piece = piece_field({"a", 1}, 1);
  refused("", {"a file of 0 bytes", "a model of SentencePiece"});
  refused(piece + normalizer_field("1234"), {"rules of normalisation of 4 bytes", "none"});
  refused(piece + bytes_field(5, bytes_field(2, "x")), {"rules of normalisation of 1 byte"});
  refused(piece + piece_field({"b", NAN}, 1), {"the score nan of piece 1", "finite"});
  refused(piece + "\x0a\x05" + "1234", {"byte " + std::to_string(piece.size()), "5 bytes where 4"});
  refused(piece + bytes_field(1, "\x0a\x05" + std::string("123")), {"5 bytes where 3"});
  refused(piece + "\x0a", {"the end of the file", "a whole number"});
  refused(std::string(11, '\xff'), {"byte 0", "more than 10 bytes"});
  refused("\x0a" + std::string(9, '\xff') + "\x01", {"18446744073709551615 bytes"});
  refused("\x08\x01", {"field 1 of kind 0", "a message"});
  refused("\x0b", {"a field of kind 3"});
  refused(std::string("\0", 1), {"a field of number 0"});
}

// Another process, because a library once loaded stays.
TEST(SentencePieceDeathTest, SaysWhichPackageIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open_without_library = [] {
    setenv("TANDEM_PLUGIN_DIR", "/nowhere", 1);
    try {
      const std::string file = sentencepiece_file(some_pieces());
      read_sentencepiece(bytes_of(file), 269, "small.model");
      std::exit(1);
    } catch (const TokenizerError& error) {
      std::fputs(error.what(), stderr);
      std::exit(7);
    }
  };
  EXPECT_EXIT(open_without_library(), ::testing::ExitedWithCode(7),
              "tandem_sentencepiece.so in /nowhere.*libsentencepiece-dev");
}

// ---- Real data ----------------------------------------------------------------------------------

/// Pieces of a model in the order of the file: text and score are their first two fields.
Pieces pieces_of(std::string_view model) {
  Pieces pieces;
  const auto take_varint = [&] {
    std::size_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(model.front());
      model.remove_prefix(1);
      value |= static_cast<std::size_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (model.starts_with('\x0a')) {
    model.remove_prefix(1);
    std::size_t size = take_varint();
    const std::string_view rest = model.substr(size);
    model.remove_prefix(1);
    size = take_varint();
    Piece piece{.text = std::string(model.substr(0, size)), .score = 0};
    std::uint32_t score = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      score |= static_cast<std::uint32_t>(static_cast<unsigned char>(model[size + 1 + i])) << 8 * i;
    }
    piece.score = std::bit_cast<float>(score);
    for (std::size_t at = 0; (at = piece.text.find("\u2581", at)) != std::string::npos;) {
      piece.text.replace(at, 3, " ");
    }
    pieces.push_back(std::move(piece));
    model = rest;
  }
  return pieces;
}

TEST_F(SentencePiece, Llama2) {
  const auto path = tests::real_data_folder() / "llama" / "tokenizer.model";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << tests::kNoRealData;
  const auto tokenizer = open_tokenizer(path, 32000);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_EQ(tokenizer->encode("Hello world"), (Tokens{15043, 3186}));
  EXPECT_EQ(tokenizer->decode(Tokens{1, 15043, 3186, 2}), "Hello world");
  expect_refused([&] { open_tokenizer(path, 512); }, {"tokenizer.model", "32000", "512"});

  // The same vocabulary in llama2.c's format gives the same tokens.
  std::ifstream stream(path, std::ios::binary);
  const std::string model{std::istreambuf_iterator<char>(stream), {}};
  const Pieces pieces = pieces_of(model);
  ASSERT_EQ(pieces.size(), 32000U);
  const std::string file = llama2c_file(pieces);
  const auto ours = read_llama2c(bytes_of(file), pieces.size(), "exported.bin");
  std::vector<std::string> texts = kTexts;
  texts.emplace_back(
      "Below is an instruction that describes a task. Write a response that appropriately "
      "completes the request.\n\n### Instruction:\nTranslate 'naïve café' into 日本語.\n\n### "
      "Response:");
  for (const std::string& text : texts) {
    EXPECT_EQ(ours->encode(text), tokenizer->encode(text)) << text;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST_F(SentencePiece, DamagedLlama2IsReadOrRefused) {
  const auto path = tests::real_data_folder() / "llama" / "tokenizer.model";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << tests::kNoRealData;
  std::ifstream stream(path, std::ios::binary);
  const std::string model{std::istreambuf_iterator<char>(stream), {}};
  for (std::size_t i = 0; i < 20; ++i) {
    // Every twentieth of the file, and its end, where the settings are.
    const std::size_t at = i < 10 ? i * model.size() / 10 : model.size() - 1 - 13 * (i - 10);
    expect_refused([&] { read(model.substr(0, at), 32000); }, {"small.model"});
    std::string changed = model;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    try {
      EXPECT_FALSE(read(changed, 32000)->encode("Hello world").empty());
    } catch (const TokenizerError&) {
    }
  }
}

}  // namespace
}  // namespace tandem::text
