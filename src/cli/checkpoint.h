// SPDX-License-Identifier: MIT
// The file of --checkpoint.
#pragma once

#include <string>

namespace tandem::train {
class Trainer;
}

namespace tandem::cli {

/// Whether training goes on from this file: a path that is not empty names a file that is there. A
/// device or a FIFO is only written to. Throws std::invalid_argument for a folder.
bool has_checkpoint(const std::string& path);

/// Throws data::DataError naming the file where it cannot be read, is damaged or of another run.
void load_checkpoint(train::Trainer& trainer, const std::string& path);

}  // namespace tandem::cli
