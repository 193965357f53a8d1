// SPDX-License-Identifier: MIT
#include "base/interrupt.h"

#include <csignal>

namespace tandem {
namespace {

volatile std::sig_atomic_t seen = 0;

void remember(int) { seen = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return seen != 0; }

}  // namespace tandem
