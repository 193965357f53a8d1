// SPDX-License-Identifier: MIT
#include "llama/json_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "llama/error.h"

namespace tandem::llama {

nlohmann::json parse_object(std::string_view text, const std::string& where) {
  // The parser takes a zero for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    fail<CheckpointError>(where, fmt::format("byte {}", zero), "a zero byte", "JSON");
  }
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& error) {
    std::string_view why = error.what();  // "[json.exception...] parse error at ...: what"
    why.remove_prefix(std::min(why.size(), why.find(": ") + 2));
    fail<CheckpointError>(where, fmt::format("byte {}", error.byte == 0 ? 0 : error.byte - 1),
                          fmt::format("what is not JSON ({})", in_quotes(why)), "JSON in UTF-8");
  } catch (const nlohmann::json::exception&) {  // a number that no double holds
    fail<CheckpointError>(where, "", "a number out of range",
                          "JSON with numbers that a double holds");
  }
  if (!value.is_object()) fail<CheckpointError>(where, "byte 0", shown(value), "an object");
  return value;
}

std::string shown(const nlohmann::json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  return value.dump();
}

}  // namespace tandem::llama
