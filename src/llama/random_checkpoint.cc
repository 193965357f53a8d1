// SPDX-License-Identifier: MIT
#include "llama/random_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/random.h"
#include "llama/config_json.h"
#include "llama/convert.h"
#include "llama/error.h"
#include "llama/index_json.h"
#include "llama/layout.h"
#include "llama/limits.h"
#include "tensors/safetensors_header.h"

namespace tandem::llama {
namespace {

namespace fs = std::filesystem;

/// Elements of weights, piece by piece. Numbers are drawn from a table, four with one draw of bits:
/// billions of logarithms would take longer than the disk.
class Elements {
 public:
  Elements(tensors::Type type, std::uint64_t seed) : size_(type_size(type)), random_(seed, 0) {
    constexpr float kDeviation = 0.02F;
    Random normal(seed, 1);
    std::vector<float> values(kTable);
    for (float& value : values) value = kDeviation * static_cast<float>(normal.normal());
    table_ = from_floats(values, type);
    const std::array<float, 1> one{1.0F};
    one_ = from_floats(one, type);
  }

  void write(std::ostream& stream, std::uint64_t count, bool ones) {
    constexpr std::uint64_t kPiece = 1 << 18;  // a multiple of four
    std::vector<std::byte> piece(std::min(kPiece, (count + 3) / 4 * 4) * size_);
    while (count > 0) {
      const std::uint64_t now = std::min(kPiece, count);
      for (std::uint64_t i = 0; i < (now + 3) / 4; ++i) {
        const std::uint64_t bits = ones ? 0 : random_.bits();
        for (std::uint64_t k = 0; k < 4; ++k) {
          const std::byte* from =
              ones ? one_.data() : table_.data() + (bits >> 16 * k & (kTable - 1)) * size_;
          std::copy_n(from, size_, piece.data() + (4 * i + k) * size_);
        }
      }
      stream.write(reinterpret_cast<const char*>(piece.data()),
                   static_cast<std::streamsize>(now * size_));
      if (!stream) return;  // which write_atomically sees
      count -= now;
    }
  }

 private:
  static constexpr std::size_t kTable = 1 << 16;

  std::size_t size_;
  Random random_;
  std::vector<std::byte> table_;
  std::vector<std::byte> one_;
};

using Shard = std::vector<const WeightEntry*>;

std::vector<Shard> shards_of(const std::vector<WeightEntry>& entries, std::size_t element,
                             std::uint64_t most) {
  std::vector<Shard> shards;
  std::uint64_t bytes = 0;
  for (const WeightEntry& entry : entries) {
    const std::uint64_t size = entry.elements() * element;
    if (shards.empty() || bytes + size > most) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(&entry);
    bytes += size;
  }
  return shards;
}

void write_shard(const fs::path& path, const Shard& shard, tensors::Type type, Elements& elements) {
  tensors::Header header{.entries = {}, .metadata = {{"format", "pt"}}};
  std::uint64_t begin = 0;
  for (const WeightEntry* entry : shard) {
    const std::uint64_t end = begin + entry->elements() * type_size(type);
    header.entries.push_back({entry->hugging_face, type, entry->shape, begin, end});
    begin = end;
  }
  std::string text = header_text(header, path.string());
  text.resize((text.size() + 7) / 8 * 8, ' ');
  write_atomically(path, [&](std::ostream& stream) {
    for (int i = 0; i < 8; ++i) stream.put(static_cast<char>(text.size() >> 8 * i));
    stream << text;
    for (const WeightEntry* entry : shard) {
      elements.write(stream, entry->elements(), entry->shape.size() == 1);
    }
  });
}

}  // namespace

void write_random_checkpoint(const fs::path& folder, const Config& config, tensors::Type type,
                             std::uint64_t seed, std::uint64_t shard_bytes) {
  check_config(
      config,
      {"dim", "hidden", "layers", "heads", "kv_heads", "head_dim", "vocabulary", "sequence"},
      "configuration");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw CheckpointError("Cannot make " + folder.string() + ": " + error.message());
  const std::vector<WeightEntry> entries = layout(config);
  const std::vector<Shard> shards = shards_of(entries, type_size(type), shard_bytes);
  Elements elements(type, seed);
  std::map<std::string, std::string> files;
  std::uint64_t bytes = 0;
  try {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::string name = shards.size() == 1 ? "model.safetensors"
                                                  : fmt::format("model-{:05}-of-{:05}.safetensors",
                                                                i + 1, shards.size());
      write_shard(folder / name, shards[i], type, elements);
      for (const WeightEntry* entry : shards[i]) {
        files.emplace(entry->hugging_face, name);
        bytes += entry->elements() * type_size(type);
      }
    }
    const auto write_text = [&](const char* name, const std::string& text) {
      write_atomically(folder / name, [&](std::ostream& stream) { stream << text; });
    };
    if (shards.size() > 1) {
      write_text("model.safetensors.index.json", index_text(files, bytes));
    }
    write_text("config.json", config_text(config, type));
  } catch (const CheckpointError&) {
    throw;
  } catch (const std::runtime_error& failure) {
    throw CheckpointError(failure.what());
  }
}

}  // namespace tandem::llama
