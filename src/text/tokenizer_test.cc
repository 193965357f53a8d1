// SPDX-License-Identifier: MIT
// The tokenizers of llama2.c: what they make of texts, and which files they refuse.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/real_data.h"
#include "tests/temp_folder.h"
#include "text/llama2c.h"
#include "text/test_tokenizers.h"

namespace tandem::text {
namespace {

using Tokens = std::vector<std::int32_t>;

std::unique_ptr<Tokenizer> read(const std::string& file, std::size_t vocabulary) {
  return read_llama2c(bytes_of(file), vocabulary, "tok.bin");
}

std::unique_ptr<Tokenizer> make(const Pieces& texts) {
  const Pieces pieces = with_bytes(texts);
  return read(llama2c_file(pieces), pieces.size());
}

TEST(Llama2cTokenizer, JoinsTheBestPairFirst) {
  const auto tokenizer = make({{" ", -9}, {"a", -9}, {"b", -9}, {"c", -9}, {"ab", -2}, {"bc", -1}});
  EXPECT_EQ(tokenizer->vocabulary(), 265U);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_EQ(tokenizer->encode("abc"), (Tokens{259, 260, 264}));
  EXPECT_EQ(tokenizer->encode("abb"), (Tokens{259, 263, 261}));
  EXPECT_TRUE(tokenizer->encode("").empty());
  EXPECT_EQ(tokenizer->decode(Tokens{1, 259, 260, 264, 2}), "abc");
}

TEST(Llama2cTokenizer, TakesTheFirstOfEquals) {
  const auto tokenizer = make({{" "}, {"a"}, {"aa", 1}, {"aa", 5}, {"", 9}});
  EXPECT_EQ(tokenizer->encode("aaa"), (Tokens{259, 261, 260}));
  EXPECT_EQ(tokenizer->decode(Tokens{262, 263, 260}), "aaa");  // all tokens have their text
}

TEST(Llama2cTokenizer, WritesBytesWhereItKnowsNoCharacter) {
  const auto tokenizer = make({{" "}, {"a"}, {"é"}, {"aé", 1}});
  EXPECT_EQ(tokenizer->encode("aé"), (Tokens{259, 262}));
  EXPECT_EQ(tokenizer->encode("\xc3"), (Tokens{259, 3 + 0xc3}));
  EXPECT_EQ(tokenizer->encode("a研"), (Tokens{259, 260, 3 + 0xe7, 3 + 0xa0, 3 + 0x94}));
  EXPECT_EQ(tokenizer->encode(std::string("\0", 1)), (Tokens{259, 3}));
}

TEST(Llama2cTokenizer, DoesNotReadSpecialTokensInTexts) {
  const auto tokenizer = make({{"<"},
                               {"s"},
                               {">"},
                               {"<s", 1},
                               {"0"},
                               {"x"},
                               {"<0", 1},
                               {"<0x", 1},
                               {"<0x0", 1},
                               {"<0x00", 1},
                               {"<unk"},
                               {" "}});
  for (const std::string text : {"<s>", "<0x00>", "<unk>"}) {
    for (const std::int32_t token : tokenizer->encode(text)) {
      EXPECT_TRUE(token >= 259 || token == 3 + 'u' || token == 3 + 'n' || token == 3 + 'k') << text;
    }
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(Llama2cTokenizer, DecodesAtTheBeginningWithoutTheSpace) {
  const auto tokenizer = make({{" "}, {" a"}, {"a"}});
  EXPECT_EQ(tokenizer->decode(Tokens{1, 260, 260}), "a a");
  EXPECT_EQ(tokenizer->decode(Tokens{260, 260}), "a a");
  EXPECT_EQ(tokenizer->decode(Tokens{1, 259, 260}), " a");
  EXPECT_EQ(tokenizer->decode(Tokens{}), "");
  EXPECT_THROW(tokenizer->decode(Tokens{262}), std::out_of_range);
  EXPECT_THROW(tokenizer->decode(Tokens{-1}), std::out_of_range);
}

TEST(Llama2cTokenizer, GivesAnyBytesBack) {
  for (const Pieces& texts : {Pieces{}, Pieces{{" "}, {"a"}, {"é"}, {" a", 1}, {"  ", 2}}}) {
    const auto tokenizer = make(texts);
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    for (const std::string& text : {all, std::string(" a"), std::string("   "), std::string(" "),
                                    std::string("a é\n\t aé"), all + all}) {
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    }
  }
}

TEST(Llama2cTokenizer, IsQuickOnLongTexts) {
  // Joins of one run, again and again: quadratic work would take minutes.
  Pieces texts = {{" "}, {"a"}};
  for (std::size_t length = 2; length <= 512; length *= 2) {
    texts.push_back({std::string(length, 'a'), static_cast<float>(length)});
  }
  const auto tokenizer = make(texts);
  const std::string text(1 << 20, 'a');
  const auto start = std::chrono::steady_clock::now();
  const Tokens tokens = tokenizer->encode(text);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(tokens.size(), 1 + text.size() / 512);
}

// ---- Files --------------------------------------------------------------------------------------

void expect_file_refused(const std::string& file, std::size_t vocabulary,
                         std::vector<std::string> parts) {
  parts.emplace_back("tok.bin");
  expect_refused([&] { read(file, vocabulary); }, parts);
}

TEST(Llama2cFile, MustHaveTheModelsVocabulary) {
  const Pieces pieces = with_bytes({{" "}, {"a"}, {"b"}});
  const std::string file = llama2c_file(pieces);
  EXPECT_EQ(read(file, 262)->vocabulary(), 262U);
  expect_file_refused(file, 261, {"a tokenizer of 262 tokens", "261, the model's vocabulary"});
  expect_file_refused(file, 32000, {"a tokenizer of 262 tokens", "32000"});
  expect_file_refused(file, std::numeric_limits<std::size_t>::max(), {"of 262 tokens"});
  expect_file_refused(file, 0, {"a tokenizer of 262 tokens", "one of 0"});
  expect_file_refused(file + "abc", 262,
                      {"byte " + std::to_string(file.size()), "3 bytes more", "262 tokens"});
}

TEST(Llama2cFile, IsRefusedWhereverItIsCut) {
  const std::string file = llama2c_file(with_bytes({{" "}, {"a"}}));
  for (std::size_t size = 0; size < file.size(); ++size) {
    expect_file_refused(file.substr(0, size), 261, {"found", "expected"});
  }
}

TEST(Llama2cFile, IsRefusedWhenDamaged) {
  const std::string start = word(6) + llama2c_token({"<unk>"});  // 17 bytes
  const float infinity = std::numeric_limits<float>::infinity();
  expect_file_refused("", 5, {"byte 0", "0 bytes", "4 bytes"});
  expect_file_refused("abc", 5, {"byte 0", "3 bytes"});
  expect_file_refused(word(0), 5, {"byte 0", "found 0 as the length of the longest", "1 to 512"});
  expect_file_refused(word(513), 5, {"513"});
  expect_file_refused(word(0x80000000U), 5, {"-2147483648"});
  expect_file_refused(start + "1234567", 5, {"byte 17", "7 bytes", "8 bytes: a token's score"});
  expect_file_refused(start + llama2c_token({"x", NAN}), 5, {"byte 17", "the score nan", "finite"});
  expect_file_refused(start + llama2c_token({"x", -infinity}), 5, {"the score -inf"});
  expect_file_refused(start + llama2c_token({"1234567"}), 5, {"byte 21", "of 7 bytes", "0 to 6"});
  expect_file_refused(start + word(0) + word(~0U), 5, {"byte 21", "a token of -1 bytes"});
  expect_file_refused(start + word(0) + word(5) + "1234", 5, {"byte 21", "of 5 bytes", "after 4"});
  expect_file_refused(start, 1, {"1 tokens", "at least 259"});
  Pieces pieces = with_bytes({});
  pieces[3 + 0x41].text = "A";
  expect_file_refused(llama2c_file(pieces), 259, {"token 68", "'A'", "'<0x41>'"});
  expect_file_refused(std::string((8 << 20) + 1, 'x'), 5, {"a file of 8388609 bytes", "8388608"});
}

class TokenizerFile : public ::testing::Test {
 protected:
  tests::TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
};

TEST_F(TokenizerFile, IsReadByItsName) {
  const std::string file = llama2c_file(with_bytes({{" "}}));
  std::ofstream(folder_ / "small.bin", std::ios::binary) << file;
  std::ofstream(folder_ / "small.model", std::ios::binary) << file;
  EXPECT_EQ(open_tokenizer(folder_ / "small.bin", 260)->encode("a"), (Tokens{259, 3 + 'a'}));
  expect_refused([&] { open_tokenizer(folder_ / "small.model", 260); },
                 {"small.model", "a model of SentencePiece"});
  expect_refused([&] { open_tokenizer(folder_ / "none.bin", 260); },
                 {"none.bin", "No such file", "a file that can be read"});
  expect_refused([&] { open_tokenizer(folder_, 260); }, {"a folder"});
}

// ---- Real data ----------------------------------------------------------------------------------

TEST(RealTokenizer, Tok512) {
  const auto path = tests::real_data_folder() / "llama" / "tok512.bin";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << tests::kNoRealData;
  const auto tokenizer = open_tokenizer(path, 512);
  expect_refused([&] { open_tokenizer(path, 32000); }, {"tok512.bin", "512", "32000"});
  // As a program in another language gives them, written after llama2.c's rules.
  EXPECT_EQ(tokenizer->encode("Once upon a time, there was a little girl named Lily."),
            (Tokens{403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426}));
  EXPECT_EQ(tokenizer->encode("Hello, world!\n"),
            (Tokens{346, 306, 414, 432, 263, 304, 341, 443, 13}));
  for (const std::string text :
       {"Hello, world!", " two  spaces ", "é研\U0001F600\n\t", "<s> <0x41>"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

}  // namespace
}  // namespace tandem::text
