// SPDX-License-Identifier: MIT
#include "cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace tandem::cli {

void prepare_process() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(wanted, F_GETFD) != -1) continue;
    // Those below are open, so this is the number that open() gives.
    const int opened = open("/dev/null", wanted == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != wanted) close(opened);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace tandem::cli
