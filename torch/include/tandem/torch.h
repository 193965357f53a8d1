// SPDX-License-Identifier: MIT
// Tandem's optimizers as torch::optim::Optimizer. Change `torch::optim::Adam` into
// `tandem::optim::DiagonalTO` and train as before.
#pragma once

#include <tandem/torch/module_to.h>
#include <tandem/torch/optimizer.h>
#include <tandem/torch/options.h>
#include <tandem/torch/rules.h>
