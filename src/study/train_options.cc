// SPDX-License-Identifier: MIT
#include "study/train_options.h"

#include <tandem/tandem.h>

#include "sources/source.h"

namespace tandem::study {

train::TrainOptions train_options(const StudySpec& study, const TaskSpec& task,
                                  std::uint64_t seed) {
  train::TrainOptions options;
  options.batch = task.batch;
  options.epochs = study.epochs;
  options.seed = seed;
  options.init = task.init;
  options.shuffle = task.shuffle;
  options.sampling = task.sampling;
  return options;
}

OptionMap resolved_options(const train::Setting& setting) {
  const sources::Method method = sources::parse_method(setting.method);
  OptionMap options;
  for (const OptimizerInfo& info : optimizer_infos()) {
    if (info.name != method.rule) continue;
    for (const OptionInfo& option : info.options) options[option.name] = option.default_value;
  }
  for (const auto& [name, value] : setting.options) options[name] = value;
  return options;
}

}  // namespace tandem::study
