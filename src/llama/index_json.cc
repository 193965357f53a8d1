// SPDX-License-Identifier: MIT
#include "llama/index_json.h"

#include <fmt/format.h>

#include "llama/error.h"
#include "llama/json_text.h"

namespace tandem::llama {
namespace {

using Json = nlohmann::json;

constexpr const char* kMap = "weight_map";

bool plain_file_name(const std::string& name) {
  constexpr std::string_view kEnd = ".safetensors";
  if (name.size() <= kEnd.size() || !name.ends_with(kEnd)) return false;
  for (const char c : name) {
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, std::string> parse_index(std::string_view text, const std::string& where) {
  const Json object = parse_object(text, where);
  const auto map = object.find(kMap);
  if (map == object.end() || !map->is_object()) {
    fail<CheckpointError>(where, kMap, map == object.end() ? "no such key" : shown(*map),
                          "an object with the file of each tensor");
  }
  if (map->empty()) fail<CheckpointError>(where, kMap, "no tensor", "the file of each tensor");
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string place = fmt::format("{}, tensor {}", kMap, in_quotes(tensor));
    if (!file.is_string() || !plain_file_name(file.get_ref<const std::string&>())) {
      fail<CheckpointError>(where, place, shown(file),
                            "the name of a .safetensors file in the same folder");
    }
    files.emplace(tensor, file.get<std::string>());
  }
  return files;
}

std::string index_text(const std::map<std::string, std::string>& files, unsigned long long bytes) {
  Json object;
  object["metadata"]["total_size"] = bytes;
  object[kMap] = files;
  return object.dump(2) + "\n";
}

}  // namespace tandem::llama
