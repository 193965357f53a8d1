// SPDX-License-Identifier: MIT
// Places in a file of data, for messages of fail<DataError>().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fail.h"
#include "data/dataset.h"

namespace tandem::data {

std::string at_line(std::uint64_t line);
std::string at_line(std::uint64_t line, std::string_view column);

}  // namespace tandem::data
