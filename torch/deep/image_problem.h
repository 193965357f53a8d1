// SPDX-License-Identifier: MIT
// A ResNet that learns a data set's images, as a problem of the laboratory.
#pragma once

#include <tandem/problem.h>

#include <memory>
#include <string>

#include "data/dataset.h"
#include "deep/resnet.h"

namespace tandem::deep {

/// 18 for "resnet18", 50 for "resnet50"; std::invalid_argument for other names.
int resnet_depth(const std::string& name);

/// plugin::DeepModels::resnet.
std::unique_ptr<Problem> make_resnet(const std::string& name,
                                     std::shared_ptr<const data::Task> task, double lambda);

/// The same of a net that is there, which has as many classes as the task.
std::unique_ptr<Problem> make_image_problem(ResNet net, std::shared_ptr<const data::Task> task,
                                            double lambda);

}  // namespace tandem::deep
