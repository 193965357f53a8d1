// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "cli/command.h"
#include "cli/process.h"

int main(int argc, char** argv) {
  tandem::cli::prepare_process();
  // LibTorch's threads, which are OpenMP's: waiting by spinning they cost a busy machine most of its
  // time (5 times the time of a training run was seen with one other job on two cores). OpenMP reads
  // this when it is loaded, which is when the plug-in is.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  return tandem::cli::run(argc, argv);
}
