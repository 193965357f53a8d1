// SPDX-License-Identifier: MIT
#include "unit_state.h"

#include <fmt/format.h>
#include <tandem/errors.h>

#include <sstream>
#include <utility>

namespace tandem::optim::detail {

std::string saved(const tandem::Optimizer& optimizer) {
  std::ostringstream stream;
  optimizer.save(stream);
  return std::move(stream).str();
}

void load_from(tandem::Optimizer& optimizer, const std::string& bytes, const std::string& label) {
  std::istringstream stream(bytes);
  try {
    optimizer.load(stream);
  } catch (const StateError& error) {
    throw StateError(fmt::format("{}: {}", label, error.what()));
  }
}

}  // namespace tandem::optim::detail
