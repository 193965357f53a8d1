// SPDX-License-Identifier: MIT
#include "text/llama2c.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/fail.h"

namespace tandem::text {
namespace {

// Far above those of any tokenizer: they bound the work and the memory that a file can ask for.
constexpr std::size_t kLargestFile = std::size_t{8} << 20;
constexpr std::int32_t kLongestToken = 512;

constexpr std::int32_t kBos = 1;
constexpr std::int32_t kEos = 2;
constexpr std::int32_t kFirstByte = 3;
constexpr std::int32_t kFirstText = kFirstByte + 256;

struct Vocabulary {
  std::string all;  // the tokens' texts, one behind the other
  std::vector<std::uint32_t> starts = {0};
  std::vector<float> scores;

  std::size_t size() const { return scores.size(); }
  std::string_view text(std::int32_t token) const {
    const auto i = static_cast<std::size_t>(token);
    return std::string_view(all).substr(starts[i], starts[i + 1] - starts[i]);
  }
  void add(float score, std::string_view text) {
    all += text;
    starts.push_back(static_cast<std::uint32_t>(all.size()));
    scores.push_back(score);
  }
};

// ---- Reading ------------------------------------------------------------------------------------

class FileReader {
 public:
  FileReader(std::span<const std::byte> bytes, const std::string& name)
      : bytes_(bytes), name_(name) {}

  Vocabulary read(std::size_t vocabulary) {
    if (bytes_.size() > kLargestFile) {
      fail<TokenizerError>(name_, "", fmt::format("a file of {} bytes", bytes_.size()),
                           fmt::format("a tokenizer of at most {}", kLargestFile));
    }
    if (bytes_.size() < 4) {
      fail<TokenizerError>(name_, at_byte(0), count_of_bytes(bytes_.size()),
                           "4 bytes: the length of the longest token");
    }
    longest_ = take_int();
    if (longest_ < 1 || longest_ > kLongestToken) {
      fail<TokenizerError>(name_, at_byte(0),
                           fmt::format("{} as the length of the longest token", longest_),
                           fmt::format("1 to {}", kLongestToken));
    }
    Vocabulary tokens;
    while (at_ < bytes_.size() && tokens.size() < vocabulary) {
      const auto [score, text] = take_token();
      tokens.add(score, text);
    }
    check_end(tokens.size(), vocabulary);
    check_bytes(tokens);
    return tokens;
  }

 private:
  std::size_t left() const { return bytes_.size() - at_; }

  std::uint32_t take_word() {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) {
      word |= std::to_integer<std::uint32_t>(bytes_[at_++]) << (8 * i);
    }
    return word;
  }
  std::int32_t take_int() { return std::bit_cast<std::int32_t>(take_word()); }

  std::pair<float, std::string_view> take_token() {
    const std::size_t start = at_;
    if (left() < 8) {
      fail<TokenizerError>(name_, at_byte(start), count_of_bytes(left()),
                           "8 bytes: a token's score and length");
    }
    const auto score = std::bit_cast<float>(take_word());
    if (!std::isfinite(score)) {
      fail<TokenizerError>(name_, at_byte(start), fmt::format("the score {}", score),
                           "a finite number");
    }
    const std::int32_t length = take_int();
    if (length < 0 || length > longest_) {
      fail<TokenizerError>(name_, at_byte(start + 4), fmt::format("a token of {} bytes", length),
                           fmt::format("0 to {}, the longest as the file begins with", longest_));
    }
    const auto size = static_cast<std::size_t>(length);
    if (size > left()) {
      fail<TokenizerError>(name_, at_byte(start + 4),
                           fmt::format("a token of {} and then the end of the file after {}",
                                       count_of_bytes(size), left()),
                           "the whole token");
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return {score, text};
  }

  /// The file has as many tokens as the model, and ends with them.
  void check_end(std::size_t found, std::size_t vocabulary) {
    if (at_ == bytes_.size() && found == vocabulary) return;
    const std::size_t end = at_;
    try {
      for (; at_ < bytes_.size(); ++found) take_token();
    } catch (const TokenizerError&) {
      fail<TokenizerError>(
          name_, at_byte(end), count_of_bytes(bytes_.size() - end) + " more",
          fmt::format("the end of the file after {} tokens, the model's vocabulary", vocabulary));
    }
    fail_vocabulary(name_, found, vocabulary);
  }

  void check_bytes(const Vocabulary& tokens) const {
    if (tokens.size() < kFirstText) {
      fail<TokenizerError>(
          name_, "", fmt::format("{} tokens", tokens.size()),
          fmt::format("at least {}: three special ones and the bytes", kFirstText));
    }
    for (std::int32_t token = kFirstByte; token < kFirstText; ++token) {
      const std::string expected = fmt::format("<0x{:02X}>", token - kFirstByte);
      if (tokens.text(token) != expected) {
        fail<TokenizerError>(name_, fmt::format("token {}", token), shown(tokens.text(token)),
                             shown(expected));
      }
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::int32_t longest_ = 0;
};

// ---- Encoding -----------------------------------------------------------------------------------

/// Which token two neighbours make together: a hash table with open addressing.
class PairTable {
 public:
  static constexpr std::int32_t kNone = -1;

  void reserve(std::size_t pairs) {
    const std::size_t slots = std::bit_ceil(2 * pairs + 1);
    slots_.assign(slots, {});
    shift_ = 64 - std::countr_zero(slots);
  }

  void add(std::int32_t left, std::int32_t right, std::int32_t token) {
    const std::uint64_t key = key_of(left, right);
    std::size_t i = place_of(key);
    while (slots_[i].token != kNone && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {key, token};
  }

  std::int32_t find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key = key_of(left, right);
    std::size_t i = place_of(key);
    while (slots_[i].token != kNone && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return slots_[i].token;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t token = kNone;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::size_t place_of(std::uint64_t key) const {
    key ^= key >> 32;
    return shift_ == 64 ? 0 : static_cast<std::size_t>(key * 0x9E3779B97F4A7C15U >> shift_);
  }

  std::vector<Slot> slots_;
  int shift_ = 64;
};

/// A part of the text that is one token for now, in a list of neighbours.
struct Part {
  std::int32_t token;
  std::uint32_t previous;
  std::uint32_t next;
};
constexpr std::uint32_t kNoPart = ~std::uint32_t{0};

/// Two neighbours that could be joined, as they were when that was found.
struct Join {
  float score;
  std::uint32_t left;
  std::uint32_t right;
  std::int32_t left_token;
  std::int32_t right_token;
  std::int32_t token;
};

/// For a heap with the best on top.
bool is_worse(const Join& a, const Join& b) {
  return a.score != b.score ? a.score < b.score : a.left > b.left;
}

/// Bytes of the character at the start of `text`: what follows a byte and continues it, up to four.
std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < 4 && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
    ++length;
  }
  return length;
}

class Llama2cTokenizer : public Tokenizer {
 public:
  explicit Llama2cTokenizer(Vocabulary tokens) : tokens_(std::move(tokens)) {
    const auto count = static_cast<std::int32_t>(tokens_.size());
    for (std::int32_t token = kFirstText; token < count; ++token) {
      if (!tokens_.text(token).empty()) by_text_.emplace(tokens_.text(token), token);
    }
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const char text = static_cast<char>(byte);
      const auto found = by_text_.find({&text, 1});
      of_byte_[byte] = found != by_text_.end() ? found->second : byte_token(text);
    }
    std::size_t pairs = 0;
    for_each_pair([&](auto...) { ++pairs; });
    pairs_.reserve(pairs);
    for_each_pair([&](std::int32_t left, std::int32_t right, std::int32_t token) {
      pairs_.add(left, right, token);
    });
  }
  Llama2cTokenizer(const Llama2cTokenizer&) = delete;  // by_text_ looks into tokens_
  Llama2cTokenizer& operator=(const Llama2cTokenizer&) = delete;

  std::size_t vocabulary() const override { return tokens_.size(); }
  std::int32_t bos() const override { return kBos; }
  std::int32_t eos() const override { return kEos; }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    check_length(text);
    if (text.empty()) return {};
    std::vector<Part> parts = split(text);
    join(parts);
    std::vector<std::int32_t> tokens;
    for (std::uint32_t i = 0; i != kNoPart; i = parts[i].next) tokens.push_back(parts[i].token);
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    bool at_start = true;
    for (const std::int32_t token : tokens) {
      if (token < 0 || static_cast<std::size_t>(token) >= tokens_.size()) {
        fail_token(token, tokens_.size());
      }
      if (token == kBos) at_start = true;
      if (token == kBos || token == kEos) continue;
      const bool is_byte = token >= kFirstByte && token < kFirstText;
      const char byte = static_cast<char>(token - kFirstByte);
      std::string_view piece = is_byte ? std::string_view(&byte, 1) : tokens_.text(token);
      if (piece.empty()) continue;
      if (at_start && piece.front() == ' ') piece.remove_prefix(1);
      at_start = false;
      text += piece;
    }
    return text;
  }

 private:
  static std::int32_t byte_token(char byte) {
    return kFirstByte + static_cast<unsigned char>(byte);
  }

  /// Every way to make a token of two others.
  template <class Use>
  void for_each_pair(Use use) const {
    for (const auto& [text, token] : by_text_) {
      for (std::size_t cut = 1; cut < text.size(); ++cut) {
        const auto left = by_text_.find(text.substr(0, cut));
        if (left == by_text_.end()) continue;
        const auto right = by_text_.find(text.substr(cut));
        if (right != by_text_.end()) use(left->second, right->second, token);
      }
    }
  }

  /// A part for each character of the text, or for each of its bytes.
  std::vector<Part> split(std::string_view text) const {
    std::vector<Part> parts;
    parts.reserve(text.size() + 1);
    const auto add = [&](std::int32_t token) {
      const auto here = static_cast<std::uint32_t>(parts.size());
      parts.push_back({token, here == 0 ? kNoPart : here - 1, here + 1});
    };
    add(of_byte_[' ']);
    while (!text.empty()) {
      const std::string_view character = text.substr(0, character_length(text));
      text.remove_prefix(character.size());
      if (character.size() == 1) {
        add(of_byte_[static_cast<unsigned char>(character.front())]);
        continue;
      }
      const auto found = by_text_.find(character);
      if (found != by_text_.end()) {
        add(found->second);
      } else {
        for (const char byte : character) add(byte_token(byte));
      }
    }
    parts.back().next = kNoPart;
    return parts;
  }

  void join(std::vector<Part>& parts) const {
    std::vector<Join> heap;
    const auto find = [&](std::uint32_t left, std::uint32_t right) {
      if (left == kNoPart || right == kNoPart) return false;
      const std::int32_t token = pairs_.find(parts[left].token, parts[right].token);
      if (token == PairTable::kNone) return false;
      heap.push_back({tokens_.scores[static_cast<std::size_t>(token)], left, right,
                      parts[left].token, parts[right].token, token});
      return true;
    };
    const auto push = [&](std::uint32_t left, std::uint32_t right) {
      if (find(left, right)) std::push_heap(heap.begin(), heap.end(), is_worse);
    };
    for (std::uint32_t i = 0; parts[i].next != kNoPart; ++i) find(i, i + 1);
    std::make_heap(heap.begin(), heap.end(), is_worse);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), is_worse);
      const Join best = heap.back();
      heap.pop_back();
      Part& left = parts[best.left];
      Part& right = parts[best.right];
      // A part that was joined since has another token: a longer one, or none.
      if (left.token != best.left_token || right.token != best.right_token) continue;
      left.token = best.token;
      left.next = right.next;
      right.token = PairTable::kNone;
      if (left.next != kNoPart) parts[left.next].previous = best.left;
      push(left.previous, best.left);
      push(best.left, left.next);
    }
  }

  Vocabulary tokens_;
  std::unordered_map<std::string_view, std::int32_t> by_text_;  // without special tokens and bytes
  std::array<std::int32_t, 256> of_byte_{};                     // the token of a byte by itself
  PairTable pairs_;
};

}  // namespace

std::unique_ptr<Tokenizer> read_llama2c(std::span<const std::byte> bytes, std::size_t vocabulary,
                                        const std::string& name) {
  return std::make_unique<Llama2cTokenizer>(FileReader(bytes, name).read(vocabulary));
}

}  // namespace tandem::text
