// SPDX-License-Identifier: MIT
#include "data/alpaca.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <streambuf>
#include <utility>

#include "base/printable.h"
#include "data/fail.h"

namespace tandem::data {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLongestText = std::uint64_t{16} << 20;
constexpr std::size_t kDeepest = 64;  // nesting inside of keys that are passed over

/// The bytes of a source for the JSON parser, which takes a zero for the end.
class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource& source) : source_(source) {}

  /// The parser has got something whole: what it keeps in memory begins anew.
  void token_ended() {
    token_start_ = source_.offset() - static_cast<std::uint64_t>(egptr() - gptr());
  }

 protected:
  int_type underflow() override {
    const std::uint64_t start = source_.offset();
    if (start - token_start_ > kLongestText) {
      fail<DataError>(source_.name(), at_byte(token_start_),
                      fmt::format("more than {} bytes in one piece", kLongestText),
                      "shorter texts");
    }
    const std::size_t got = source_.read(buffer_);
    if (got == 0) return traits_type::eof();
    if (const void* zero = std::memchr(buffer_.data(), 0, got)) {
      const auto place = static_cast<const std::uint8_t*>(zero) - buffer_.data();
      fail<DataError>(source_.name(), at_byte(start + static_cast<std::uint64_t>(place)),
                      "a zero byte", "JSON");
    }
    char* text = reinterpret_cast<char*>(buffer_.data());
    setg(text, text, text + got);
    return traits_type::to_int_type(*text);
  }

 private:
  ByteSource& source_;
  std::uint64_t token_start_ = 0;
  std::array<std::uint8_t, 64 << 10> buffer_{};
};

/// Gets the JSON token by token and keeps no tree.
class ItemReader : public nlohmann::json_sax<Json> {
 public:
  ItemReader(SourceBuffer& buffer, const std::string& name, std::size_t most)
      : buffer_(buffer), name_(name), most_(most) {}

  Instructions take() {
    if (items_.items.empty()) {
      fail<DataError>(name_, "",
                      fmt::format("no items with an output, and {} without", items_.empty), "some");
    }
    return std::move(items_);
  }

  bool start_array(std::size_t /*elements*/) override {
    buffer_.token_ended();
    if (level_ == Level::start) {
      level_ = Level::items;
      return true;
    }
    return open("an array");
  }
  bool end_array() override { return close(); }

  bool start_object(std::size_t /*elements*/) override {
    buffer_.token_ended();
    if (level_ != Level::items) return open("an object");
    level_ = Level::item;
    ++number_;
    for (auto& text : texts_) text.reset();
    return true;
  }
  bool end_object() override { return close(); }

  bool key(std::string& text) override {
    buffer_.token_ended();
    if (depth_ > 0) return true;
    key_ = static_cast<std::size_t>(std::ranges::find(kKeys, text) - kKeys.begin());
    if (key_ < kKeys.size() && texts_[key_]) {
      fail<DataError>(name_, place(), "the key twice", "each key once");
    }
    return true;
  }

  bool string(std::string& text) override {
    buffer_.token_ended();
    if (!is_passed_over()) {
      if (level_ != Level::item) refuse("the text " + shown(text));
      texts_[key_] = std::move(text);
    }
    return true;
  }

  bool null() override { return other("null"); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override {
    return other(fmt::format("the number {}", value));
  }
  bool number_unsigned(std::uint64_t value) override {
    return other(fmt::format("the number {}", value));
  }
  bool number_float(double /*value*/, const std::string& text) override {
    return other("the number " + printable(text, 40));
  }
  bool binary(Json::binary_t& /*value*/) override { return other("binary data"); }

  /// `position` counts from 1.
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const Json::exception& error) override {
    std::string_view text = error.what();  // "[json.exception...] parse error at ...: what"
    text.remove_prefix(std::min(text.size(), text.find("] ") + 2));
    if (text.starts_with("parse error at")) text.remove_prefix(text.find(": ") + 2);
    const std::string after = number_ > 0 ? fmt::format(", item {}", number_) : "";
    fail<DataError>(name_, at_byte(position - std::min<std::size_t>(position, 1)) + after,
                    fmt::format("what is not JSON ({})", printable(text, 120)), "JSON in UTF-8");
  }

 private:
  enum class Level { start, items, item };
  enum Key : std::size_t { kInstruction, kInput, kOutput };
  static constexpr std::array<std::string_view, 3> kKeys = {"instruction", "input", "output"};

  bool is_passed_over() const {
    return level_ == Level::item && (depth_ > 0 || key_ == kKeys.size());
  }

  std::string place() const {
    std::string text = fmt::format("item {}", number_);
    if (key_ < kKeys.size()) text += fmt::format(", key '{}'", kKeys[key_]);
    return text;
  }

  bool open(const char* found) {
    if (!is_passed_over()) refuse(found);
    if (++depth_ > kDeepest) {
      fail<DataError>(name_, fmt::format("item {}", number_),
                      fmt::format("objects and arrays more than {} deep", kDeepest), "texts");
    }
    return true;
  }

  bool close() {
    buffer_.token_ended();
    if (depth_ > 0) {
      --depth_;
    } else if (level_ == Level::item) {
      add_item();
      level_ = Level::items;
    }
    return true;
  }

  bool other(const std::string& found) {
    buffer_.token_ended();
    if (!is_passed_over()) refuse(found);
    return true;
  }

  void add_item() {
    for (const Key needed : {kInstruction, kOutput}) {
      if (!texts_[needed]) {
        fail<DataError>(name_, fmt::format("item {}", number_),
                        fmt::format("no key '{}'", kKeys[needed]),
                        "instruction and output, and input where there is one");
      }
    }
    if (texts_[kOutput]->find_first_not_of(" \t\r\n") == std::string::npos) {
      ++items_.empty;
      return;
    }
    if (most_ > 0 && items_.items.size() == most_) return;
    items_.items.push_back({.instruction = std::move(*texts_[kInstruction]),
                            .input = std::move(texts_[kInput]).value_or(""),
                            .output = std::move(*texts_[kOutput])});
  }

  /// Something is of the wrong kind for its place.
  [[noreturn]] void refuse(const std::string& found) const {
    if (level_ == Level::start) fail<DataError>(name_, "", found, "an array of items");
    if (level_ == Level::item) fail<DataError>(name_, place(), found, "a text");
    fail<DataError>(name_, fmt::format("item {}", number_ + 1), found,
                    "an object with the keys instruction, input and output");
  }

  SourceBuffer& buffer_;
  const std::string& name_;
  std::size_t most_;
  Instructions items_;
  Level level_ = Level::start;
  std::size_t number_ = 0;  // of the item, from 1
  std::size_t depth_ = 0;   // inside of a key that is passed over
  std::size_t key_ = 0;     // in kKeys; their number for another key
  std::array<std::optional<std::string>, 3> texts_;
};

}  // namespace

Instructions read_alpaca(ByteSource& source, std::size_t most) {
  SourceBuffer buffer(source);
  std::istream stream(&buffer);
  ItemReader reader(buffer, source.name(), most);
  Json::sax_parse(stream, &reader);
  return reader.take();
}

Text make_text(const Instruction& item, PromptTemplate form) {
  Text text{.prompt = "", .response = item.output};
  if (form == PromptTemplate::plain) {
    text.prompt = item.instruction + "\n";
    if (!item.input.empty()) text.prompt += item.input + "\n";
  } else if (item.input.empty()) {
    text.prompt =
        "Below is an instruction that describes a task. Write a response that appropriately "
        "completes the request.\n\n### Instruction:\n" +
        item.instruction + "\n\n### Response:";
  } else {
    text.prompt =
        "Below is an instruction that describes a task, paired with an input that provides further "
        "context. Write a response that appropriately completes the request.\n\n### "
        "Instruction:\n" +
        item.instruction + "\n\n### Input:\n" + item.input + "\n\n### Response:";
  }
  return text;
}

}  // namespace tandem::data
