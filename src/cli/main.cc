// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstdlib>

#include "cli/command.h"
#include "cli/process.h"

int main(int argc, char** argv) {
  tandem::cli::prepare_process();
  // OpenMP threads that wait by spinning cost a busy machine most of its time (5 times the time of
  // a training run was seen with one other job on two cores). The policy is read when the program
  // is loaded, so it has to be loaded once more.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
    // Where that is not possible, it goes on as it is.
  }
  return tandem::cli::run(argc, argv);
}
