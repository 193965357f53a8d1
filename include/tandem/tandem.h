// SPDX-License-Identifier: MIT
// Everything that a program which embeds Tandem includes.
#pragma once

#include <tandem/errors.h>
#include <tandem/executor.h>
#include <tandem/optimizer.h>
#include <tandem/optimizers.h>
#include <tandem/options.h>
#include <tandem/projection.h>
#include <tandem/registry.h>
#include <tandem/schedule.h>
#include <tandem/state.h>
#include <tandem/version.h>
