// SPDX-License-Identifier: MIT
// States in torch's archives.
#include <fmt/format.h>
#include <tandem/errors.h>
#include <tandem/torch/state.h>
#include <torch/serialize/archive.h>

#include <bit>
#include <utility>

#include "read_archive.h"

namespace tandem::optim {
namespace {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

template <class Map>
void write_names(OutputArchive& archive, const std::string& key, const Map& map) {
  c10::List<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  archive.write(key, c10::IValue(names));
}

void write_scalars(OutputArchive& archive, const std::string& key,
                   const ParamState::Scalars& scalars) {
  write_names(archive, key, scalars);
  for (const auto& [name, scalar] : scalars) {
    const auto* count = std::get_if<std::uint64_t>(&scalar);
    archive.write(key + "/" + name, count != nullptr
                                        ? c10::IValue(std::bit_cast<std::int64_t>(*count))
                                        : c10::IValue(std::get<double>(scalar)));
  }
}

ParamState::Scalars read_scalars(InputArchive& archive, const std::string& key) {
  ParamState::Scalars scalars;
  for (const std::string& name : detail::read_names(archive, key)) {
    const c10::IValue value = detail::read_value(archive, key + "/" + name);
    if (value.isDouble()) {
      scalars[name] = value.toDouble();
    } else if (value.isInt()) {
      scalars[name] = std::bit_cast<std::uint64_t>(value.toInt());
    } else {
      throw StateError(fmt::format("Invalid state: '{}/{}' is not a number", key, name));
    }
  }
  return scalars;
}

}  // namespace

void ParamState::serialize(OutputArchive& archive) const {
  archive.write("step", c10::IValue(step()));
  write_names(archive, "arrays", arrays());
  for (const auto& [name, tensor] : arrays()) {
    archive.write("arrays/" + name, tensor, /*is_buffer=*/true);
  }
  write_scalars(archive, "scalars", scalars());
  if (!unit()) return;
  write_names(archive, "unit", unit()->arrays);
  for (const auto& [name, list] : unit()->arrays) {
    archive.write("unit/" + name, c10::IValue(static_cast<std::int64_t>(list.size())));
    for (std::size_t p = 0; p < list.size(); ++p) {
      archive.write(fmt::format("unit/{}/{}", name, p), list[p], /*is_buffer=*/true);
    }
  }
  write_scalars(archive, "unit_scalars", unit()->scalars);
}

void ParamState::serialize(InputArchive& archive) {
  ParamState found;
  found.step(detail::read_count(archive, "step"));
  for (const std::string& name : detail::read_names(archive, "arrays")) {
    found.arrays()[name] = detail::read_tensor(archive, "arrays/" + name);
  }
  found.scalars(read_scalars(archive, "scalars"));
  c10::IValue has_unit;
  if (archive.try_read("unit", has_unit)) {
    found.unit(UnitState{});
    for (const std::string& name : detail::read_names(archive, "unit")) {
      const std::int64_t parts = detail::read_count(archive, "unit/" + name);
      std::vector<torch::Tensor>& list = found.unit()->arrays[name];
      for (std::int64_t p = 0; p < parts; ++p) {
        list.push_back(detail::read_tensor(archive, fmt::format("unit/{}/{}", name, p)));
      }
    }
    found.unit()->scalars = read_scalars(archive, "unit_scalars");
  }
  *this = std::move(found);
}

}  // namespace tandem::optim
