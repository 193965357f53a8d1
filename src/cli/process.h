// SPDX-License-Identifier: MIT
// What the program asks of the system before anything else.
#pragma once

namespace tandem::cli {

/// - Descriptors 0, 1 and 2 that are closed are opened on /dev/null: else the next file to be
///   opened, a run store perhaps, would be one of them and get our messages. What is written to
///   standard output then fails, so that results are not lost in silence.
/// - A file that grows beyond the limit (ulimit -f) makes the write fail, which is told with the
///   file's name, instead of ending the program (SIGXFSZ).
void prepare_process();

}  // namespace tandem::cli
