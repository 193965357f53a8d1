// SPDX-License-Identifier: MIT
// The command that trains one run of a study again.
#pragma once

#include <string>

#include "store/store.h"

namespace tandem::study {

/// `tandem train ...` with all that makes the run what it was; options that have their default
/// value are left out. Empty for runs that `tandem train` cannot make: those that successive
/// halving took out ended early.
std::string run_command(const store::Study& study, const store::Task& task,
                        const store::MemberRow& member);

}  // namespace tandem::study
