// SPDX-License-Identifier: MIT
#include "tensors/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "tensors/fail.h"

namespace tandem::tensors {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFields = "the fields dtype, shape and data_offsets, each once";

/// Gets the JSON token by token and never keeps a tree: a token that has no business where it
/// stands ends it all, so that nesting is no deeper than the format's three levels, and a name that
/// comes twice is seen, which a tree would hide.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& where) : where_(where) {}

  Header take() { return std::move(header_); }

  bool key(std::string& text) override {
    if (level_ == Level::top) {
      if (!names_.insert(text).second) refuse_twice("the name " + shown(text));
      name_ = std::move(text);
    } else if (level_ == Level::metadata) {
      if (header_.metadata.contains(text)) refuse_twice("the key " + shown(text));
      key_ = std::move(text);
    } else {
      key_ = std::move(text);
      const bool known = key_ == "dtype" || key_ == "shape" || key_ == "data_offsets";
      if (!known || has_field()) {
        fail<TensorFileError>(where_, at_tensor(name_),
                              fmt::format("the field {}{}", shown(key_), known ? " twice" : ""),
                              kFields);
      }
    }
    return true;
  }

  bool start_object(std::size_t /*elements*/) override {
    if (level_ == Level::start) {
      level_ = Level::top;
    } else if (level_ == Level::top && name_ == kMetadata) {
      level_ = Level::metadata;
    } else if (level_ == Level::top) {
      level_ = Level::entry;
      type_.reset();
      shape_.reset();
      offsets_.reset();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (level_ == Level::entry) add_entry();
    level_ = level_ == Level::top ? Level::start : Level::top;
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (level_ != Level::entry || key_ == "dtype") refuse("an array");
    level_ = Level::numbers;
    (key_ == "shape" ? shape_ : offsets_).emplace();
    return true;
  }

  bool end_array() override {
    level_ = Level::entry;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (level_ != Level::numbers) refuse(fmt::format("the number {}", value));
    (key_ == "shape" ? shape_ : offsets_)->push_back(value);
    return true;
  }

  bool string(std::string& text) override {
    if (level_ == Level::metadata) {
      header_.metadata.emplace(key_, std::move(text));
    } else if (level_ == Level::entry && key_ == "dtype") {
      type_ = type_of_name(text);
      if (!type_) refuse("the text " + shown(text));
    } else {
      refuse("the text " + shown(text));
    }
    return true;
  }

  // What the format has no place for.
  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override {
    refuse(fmt::format("the number {}{}", value == 0 ? "-" : "", value));
  }
  /// Whole numbers from 2^64 on come here too.
  bool number_float(double /*value*/, const std::string& text) override {
    refuse("the number " + printable(text));
  }
  bool binary(Json::binary_t& /*value*/) override { refuse("binary data"); }

  /// `position` counts from 1.
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const Json::exception& error) override {
    std::string_view text = error.what();  // "[json.exception...] parse error at ...: what"
    text.remove_prefix(std::min(text.size(), text.find("] ") + 2));
    if (text.starts_with("parse error at")) text.remove_prefix(text.find(": ") + 2);
    fail<TensorFileError>(where_, at_byte(kHeaderStart + position - 1),
                          fmt::format("a header that is not JSON ({})", printable(text)),
                          "JSON in UTF-8");
  }

 private:
  enum class Level { start, top, metadata, entry, numbers };

  bool has_field() const {
    if (key_ == "dtype") return type_.has_value();
    return (key_ == "shape" ? shape_ : offsets_).has_value();
  }

  void add_entry() {
    if (!type_ || !shape_ || !offsets_) {
      fail<TensorFileError>(
          where_, at_tensor(name_),
          fmt::format("no {}", !type_ ? "dtype" : (!shape_ ? "shape" : "data_offsets")), kFields);
    }
    if (offsets_->size() != 2) {
      fail<TensorFileError>(where_, at_tensor(name_) + ", data_offsets", shown(*offsets_),
                            "two numbers: where its data begin and end");
    }
    header_.entries.push_back({.name = std::move(name_),
                               .type = *type_,
                               .shape = std::move(*shape_),
                               .begin = offsets_->front(),
                               .end = offsets_->back()});
  }

  [[noreturn]] void refuse_twice(const std::string& found) const {
    fail<TensorFileError>(where_, level_ == Level::metadata ? kMetadata : "header",
                          found + " twice", "each name once");
  }

  /// A token is of the wrong kind for its place.
  [[noreturn]] void refuse(const std::string& found) const {
    if (level_ == Level::start)
      fail<TensorFileError>(where_, at_byte(kHeaderStart), found, "an object");
    if (level_ == Level::metadata) {
      fail<TensorFileError>(where_, fmt::format("{}, key {}", kMetadata, shown(key_)), found,
                            "a text");
    }
    if (level_ == Level::top) {
      const bool metadata = name_ == kMetadata;
      fail<TensorFileError>(
          where_, metadata ? std::string(kMetadata) : at_tensor(name_), found,
          metadata ? "an object of texts" : fmt::format("an object with {}", kFields));
    }
    const std::string place = fmt::format("{}, {}", at_tensor(name_), key_);
    if (key_ != "dtype")
      fail<TensorFileError>(where_, place, found, "an array of whole numbers from 0 to 2^64 - 1");
    std::vector<std::string_view> types;
    for (int type = 0; type <= static_cast<int>(Type::boolean); ++type) {
      types.push_back(type_name(static_cast<Type>(type)));
    }
    fail<TensorFileError>(where_, place, found, fmt::format("one of {}", fmt::join(types, ", ")));
  }

  const std::string& where_;
  Header header_;
  Level level_ = Level::start;
  std::set<std::string> names_;  // all of the top level
  std::string name_;             // the one whose value is being read
  std::string key_;              // inside of it
  std::optional<Type> type_;
  std::optional<std::vector<std::uint64_t>> shape_;
  std::optional<std::vector<std::uint64_t>> offsets_;
};

/// A JSON string with its quotes.
std::string quoted(const std::string& text, const std::string& place, const std::string& where) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail<TensorFileError>(where, place, "the text " + shown(text), "UTF-8");
  }
}

}  // namespace

Header read_header(std::string_view text, const std::string& where) {
  if (!text.starts_with('{')) {
    fail<TensorFileError>(where, at_byte(kHeaderStart),
                          text.empty() ? "an empty header" : "the text " + shown(text.substr(0, 8)),
                          "a header that starts with {");
  }
  // The parser takes a zero for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    fail<TensorFileError>(where, at_byte(kHeaderStart + zero), "a zero byte in the header", "JSON");
  }
  HeaderReader reader(where);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

std::string header_text(const Header& header, const std::string& where) {
  std::string text = "{";
  const auto comma = [&] { return text.back() == '{' ? "" : ","; };
  if (!header.metadata.empty()) {
    text += fmt::format("\"{}\":{{", kMetadata);
    for (const auto& [key, value] : header.metadata) {
      const std::string place = fmt::format("{}, key {}", kMetadata, shown(key));
      text += comma();
      text += quoted(key, place, where) + ":" + quoted(value, place, where);
    }
    text += "}";
  }
  for (const HeaderEntry& entry : header.entries) {
    text += comma();
    text += quoted(entry.name, at_tensor(entry.name), where);
    text += fmt::format(R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        type_name(entry.type), fmt::join(entry.shape, ","), entry.begin, entry.end);
  }
  return text + "}";
}

}  // namespace tandem::tensors
