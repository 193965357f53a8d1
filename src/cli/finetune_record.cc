// SPDX-License-Identifier: MIT
#include "cli/finetune_record.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <tandem/version.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/machine.h"
#include "store/store.h"
#include "study/train_options.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string unit_key(const std::string& label, std::uint64_t seed) {
  return fmt::format("{}/{}", label, seed);
}

/// What runs must have in common to stand in one study, a value a line.
std::string study_text(const Record& record) {
  return Json{{"finetune", record.model.description()},
              {"checkpoint", record.checkpoint_hash},
              {"data", fmt::format("{:016x}", record.data.train.fingerprint())},
              {"batch", record.train.batch},
              {"clip", record.train.clip},
              {"steps", record.train.epochs * record.train.epoch_steps},
              {"measure_every", record.train.epoch_steps},
              {"measured", record.train.measured_samples},
              {"lambda", record.model.lambda()}}
      .dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void check_record(const RecordOptions& options, const std::string& label, std::uint64_t seed) {
  if (!store::Store::exists(options.store)) return;
  const store::Store store = store::Store::open(options.store, store::Store::Mode::read);
  const auto study = store.find_study(options.name);
  if (!study) return;
  for (const store::Unit& unit : store.units(study->id)) {
    if (unit.key != unit_key(label, seed) || !unit.done) continue;
    throw std::invalid_argument(
        fmt::format("{}: the study '{}' has a run '{}' with seed {} already; --label gives this "
                    "one another name",
                    options.store.string(), options.name, label, seed));
  }
}

void write_record(const Record& record) {
  store::Store store = store::Store::open(record.options.store, store::Store::Mode::write);
  const std::string text = study_text(record);
  const store::Study study = store.ensure_study(
      {.name = record.options.name,
       .text = text,
       .fingerprint = fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())),
       .version = version(),
       .target = std::string(cpu_target()),
       .machine = machine_description(),
       .command = "tandem finetune",
       .epochs = record.train.epochs});
  const store::Task task = store.ensure_task(
      {.study_id = study.id,
       .key = fmt::format("{} {}", record.data_name, record.model_name),
       .data = record.data_name,
       .model = record.model_name,
       .lambda = record.model.lambda(),
       .batch = record.train.batch,
       .samples = record.model.samples(),
       .dimension = record.model.dimension(),
       .data_hash = fmt::format("{:016x}", record.data.train.fingerprint()),
       .facts =
           Json{{"description", record.model.description()}, {"notes", record.data.notes}}.dump(
               -1, ' ', false, Json::error_handler_t::replace)});
  const std::string key = unit_key(record.label, record.seed);
  store.add_units(study.id, {{.task_id = task.id,
                              .key = key,
                              .optimizer = record.label,
                              .phase = store::Phase::measure,
                              .seed = record.seed,
                              .members = "{}"}});
  if (const auto lease = store.lease(study.id, store::this_owner(), 60, key)) {
    store.finish(*lease, {{.optimizer = record.label,
                           .method = record.setting.method,
                           .baseline = record.setting.method == "adam",
                           .options = study::resolved_options(record.setting),
                           .seed = record.seed,
                           .phase = store::Phase::measure,
                           .diverged = record.member.diverged,
                           .diverged_at = record.member.diverged_at,
                           .state_bytes = record.member.state_bytes,
                           .points = record.member.points}});
  }
}

}  // namespace tandem::cli
