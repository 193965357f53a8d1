// SPDX-License-Identifier: MIT
// Facts about the machine that results are kept with.
#pragma once

#include <cstddef>
#include <string>

namespace tandem {

/// Memory that programs could take now without swapping; all memory where the kernel does not tell.
std::size_t available_memory();
/// The most memory that this process had so far, what is mapped and was touched included; 0 where
/// the kernel does not tell.
std::size_t peak_memory();
/// One line: the processor, how many of them, memory, kernel.
std::string machine_description();

}  // namespace tandem
