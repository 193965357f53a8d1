// SPDX-License-Identifier: MIT
// Whatever the vocabulary and the text: tokens are those of the plain quadratic algorithm, and give
// the text back.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "text/llama2c.h"
#include "text/test_tokenizers.h"

namespace tandem::text {
namespace {

std::string any_text(int most) {
  static const std::vector<std::string> kCharacters = {"a",  "b",  "c",    " ",    "é",
                                                       "研", "\n", "\xc3", "\x80", "\xff"};
  std::string text;
  for (int i = *rc::gen::inRange(0, most + 1); i > 0; --i) text += *rc::gen::elementOf(kCharacters);
  return text;
}

Pieces any_pieces() {
  // Few different scores, so that many are equal.
  Pieces texts;
  for (const char* text : {"a", "b", " ", "é"}) {
    if (*rc::gen::inRange(0, 4) > 0) texts.push_back({text, -100});
  }
  for (int i = *rc::gen::inRange(0, 40); i > 0; --i) {
    texts.push_back({any_text(5), static_cast<float>(*rc::gen::inRange(-5, 6))});
  }
  return texts;
}

/// As the rules say it, with strings: look at all pairs, join the best, begin again.
std::vector<std::int32_t> plain_encode(const Pieces& pieces, const std::string& text) {
  std::map<std::string, std::int32_t> ids;
  for (std::size_t i = 259; i < pieces.size(); ++i) {
    if (!pieces[i].text.empty()) ids.emplace(pieces[i].text, static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> tokens;
  if (text.empty()) return tokens;
  const std::string all = " " + text;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    // The space before the text is a character by itself, whatever follows it.
    while (i > 0 && end < all.size() && end - i < 4 && (all[end] & 0xC0) == 0x80) ++end;
    const std::string character = all.substr(i, end - i);
    if (ids.contains(character)) {
      tokens.push_back(ids[character]);
    } else {
      for (const char byte : character) tokens.push_back(3 + static_cast<unsigned char>(byte));
    }
    i = end;
  }
  while (true) {
    std::size_t best = tokens.size();
    std::int32_t joined = -1;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i] < 259 || tokens[i + 1] < 259) continue;
      const auto text_of = [&](std::int32_t t) { return pieces[static_cast<std::size_t>(t)].text; };
      const auto found = ids.find(text_of(tokens[i]) + text_of(tokens[i + 1]));
      if (found == ids.end()) continue;
      const auto score_of = [&](std::int32_t t) {
        return pieces[static_cast<std::size_t>(t)].score;
      };
      if (joined >= 0 && score_of(found->second) <= score_of(joined)) continue;
      best = i;
      joined = found->second;
    }
    if (joined < 0) return tokens;
    tokens[best] = joined;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

RC_GTEST_PROP(TokenizerProperty, EncodesAsThePlainAlgorithm, ()) {
  const Pieces pieces = with_bytes(any_pieces());
  const std::string file = llama2c_file(pieces);
  const auto tokenizer = read_llama2c(bytes_of(file), pieces.size(), "tok.bin");
  for (int i = 0; i < 5; ++i) {
    const std::string text = any_text(60);
    RC_ASSERT(tokenizer->encode(text) == plain_encode(pieces, text));
    RC_ASSERT(tokenizer->decode(tokenizer->encode(text)) == text);
  }
}

RC_GTEST_PROP(TokenizerProperty, ChangedFilesAreReadOrRefused, ()) {
  const Pieces pieces = with_bytes({{" "}, {"a"}, {"b"}, {"ab", 1}});
  std::string file = llama2c_file(pieces);
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    file[*rc::gen::inRange<std::size_t>(0, file.size())] = *rc::gen::arbitrary<char>();
  }
  try {
    const auto tokenizer = read_llama2c(bytes_of(file), pieces.size(), "tok.bin");
    RC_ASSERT(tokenizer->decode(tokenizer->encode("ab ba")) == "ab ba");
  } catch (const TokenizerError&) {
  }
}

}  // namespace
}  // namespace tandem::text
