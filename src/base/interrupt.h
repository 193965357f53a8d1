// SPDX-License-Identifier: MIT
// Ctrl-C (SIGINT) and SIGTERM as a question that long work asks now and then.
#pragma once

namespace tandem {

/// From now on the first signal only makes interrupted() true; a second one ends the program at
/// once.
void catch_interrupts();
bool interrupted();

}  // namespace tandem
