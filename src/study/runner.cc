// SPDX-License-Identifier: MIT
#include "study/runner.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <tandem/tandem.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <unordered_map>

#include "base/machine.h"
#include "base/stopwatch.h"
#include "study/estimate.h"
#include "study/measuring.h"
#include "study/optimum.h"
#include "study/stored_study.h"
#include "study/train_options.h"
#include "study/unit_checkpoint.h"
#include "train/plan.h"

namespace tandem::study {
namespace {

using Json = nlohmann::json;

constexpr auto kWait = std::chrono::milliseconds(300);
// Of a gradient's norm. The loss is then above F* by less than 1e-12 / (2 lambda).
constexpr double kOptimumTolerance = 1e-6;

/// Another process has the unit by now.
struct LostLease {};

/// Asks before each piece of work whether to go on. When not, it leaves out all that follows, so
/// that a search, which is a C library's and cannot be thrown out of, ends at once, with nothing.
class AskingExecutor : public Executor {
 public:
  AskingExecutor(Executor& executor, std::function<bool()> go_on)
      : executor_(executor), go_on_(std::move(go_on)) {}
  int threads() const override { return executor_.threads(); }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    try {
      stopped_ = stopped_ || !go_on_();
    } catch (...) {
      thrown_ = std::current_exception();
      stopped_ = true;
    }
    if (!stopped_) executor_.run(count, task);
  }
  /// Throws what asking threw.
  bool stopped() const {
    if (thrown_) std::rethrow_exception(thrown_);
    return stopped_;
  }

 private:
  Executor& executor_;
  std::function<bool()> go_on_;
  bool stopped_ = false;
  std::exception_ptr thrown_;
};

/// Whoever stops the work stops waiting for the store's server too.
class AskWhileWaiting {
 public:
  AskWhileWaiting(store::Store& store, Teller& teller) : store_(store) {
    store_.while_waiting([&teller] {
      if (!teller.say("waiting for the store's server")) throw train::Interrupted();
    });
  }
  AskWhileWaiting(const AskWhileWaiting&) = delete;
  AskWhileWaiting& operator=(const AskWhileWaiting&) = delete;
  ~AskWhileWaiting() {
    store_.while_waiting([] {});
  }

 private:
  store::Store& store_;
};

/// When what a unit has trained is to be copied, so that it can be given back: once a second, if that
/// costs next to nothing.
class CheckpointClock {
 public:
  explicit CheckpointClock(double most_seconds) : wait_(std::min(1.0, most_seconds)) {}
  bool due() const { return seconds_now() - last_ >= wait_; }
  template <typename Copy>
  void made(const Copy& copy) {
    const double began = seconds_now();
    copy();
    last_ = seconds_now();
    wait_ = std::max(wait_, kShare * (last_ - began));
  }

 private:
  static constexpr double kShare = 100;  // of the time for it

  double last_ = seconds_now();
  double wait_;
};

}  // namespace

struct Runner::Work {
  store::Store& store;
  Teller teller;
  Measuring measuring;
  std::int64_t study_id = 0;
  std::string owner;
  std::unordered_map<std::int64_t, std::size_t> tasks = {};  // by the store's number
  std::optional<PartUnits> of_part = {};  // where the process has a part of the study
  const store::Lease* lease = nullptr;    // of the unit in work
  double renewed = 0;
  std::optional<UnitCheckpoint> checkpoint = {};  // where it trains
  double checkpoint_stored = 0;
  bool checkpoint_is_new = false;  // it was not stored yet
};

Runner::Runner(StudySpec study, RunOptions options)
    : study_(std::move(study)),
      options_(std::move(options)),
      loader_(options_.data_dir, options_.data, study_.tune_seed) {
  if (options_.memory == 0) options_.memory = available_memory() / 4 * 3;
  if (options_.executor == nullptr) options_.executor = default_executor();
  plan_ = plan_study(study_, loader_, options_.memory);
}

double Runner::estimate_seconds() {
  return study::estimate_seconds(study_, plan_, loader_, options_.executor);
}

store::Study Runner::add(store::Store& store) {
  const std::string text = canonical_text(study_);
  if (const auto found = store.find_study(study_.name); found && found->text == text) {
    require_target(*found);
  }
  store::Study study = store.ensure_study(
      {.name = study_.name,
       .text = text,
       .fingerprint = fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())),
       .version = version(),
       .target = std::string(cpu_target()),
       .machine = machine_description(),
       .command = options_.command,
       .pruned = study_.prune != 0,
       .epochs = study_.epochs,
       .tune_seed = study_.tune_seed,
       .seeds = study_.seeds});
  std::vector<store::Task> tasks;
  for (const PlannedTask& task : plan_.tasks) {
    tasks.push_back({.study_id = study.id,
                     .key = task.name,
                     .data = task.spec.data,
                     .model = task.spec.model,
                     .lambda = task.spec.lambda,
                     .batch = task.spec.batch,
                     .samples = task.samples,
                     .dimension = task.dimension,
                     .data_hash = task.data_hash,
                     .facts = task_facts(task)});
  }
  tasks = store.ensure_tasks(tasks);
  task_ids_.clear();
  for (const store::Task& task : tasks) task_ids_.push_back(task.id);
  std::vector<store::Unit> units = population_units(study_, plan_, task_ids_);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (plan_.tasks[t].has_optimum && !tasks[t].optimum) {
      units.push_back(optimum_unit(plan_, t, task_ids_[t]));
    }
  }
  store.add_units(study.id, units);
  return study;
}

bool Runner::run(store::Store& store, const std::function<bool(const Status&)>& progress) {
  timing_ = {};
  const double loaded = loader_.seconds();
  const Stopwatch watch(timing_.all);
  const store::Study stored = add(store);
  const std::string owner = store::this_owner();
  Work work{.store = store,
            .teller = Teller(study_, plan_, store, stored, owner, progress),
            .measuring = Measuring(study_, plan_, store, stored.id, task_ids_),
            .study_id = stored.id,
            .owner = owner};
  for (std::size_t t = 0; t < task_ids_.size(); ++t) work.tasks[task_ids_[t]] = t;
  if (options_.part) {
    work.of_part.emplace(study_, plan_, *options_.part, task_ids_);
    work.of_part->offer(population_units(study_, plan_, task_ids_));
  }
  const AskWhileWaiting asking(store, work.teller);
  bool complete = false;
  try {
    complete = work_through(work);
    work.teller.leave();
  } catch (const train::Interrupted&) {
    // While it waited for the store's server.
  } catch (const store::StoreMoved& error) {
    throw store::StoreError(
        fmt::format("{}; all that it held is in {}", error.what(), store.rescue().string()));
  }
  timing_.loading = loader_.seconds() - loaded;
  return complete;
}

bool Runner::work_through(Work& work) try {
  add_measuring(work);
  std::size_t looked_at = std::numeric_limits<std::size_t>::max();
  while (true) {
    std::optional<store::Lease> lease;
    store::Progress counts;
    {
      const Stopwatch in_store(timing_.store);
      counts = work.store.progress(work.study_id);
      lease = next_unit(work);
    }
    work.teller.set_progress(counts);
    if (lease) {
      do_unit(work, *lease);
      continue;
    }
    if (work.of_part ? work.of_part->all_done() : counts.done == counts.units) {
      // A process may have tuned the last setting of a grid and died before it added what measures
      // the best one.
      if (looked_at == counts.units) return true;
      add_measuring(work);
      looked_at = counts.units;
      continue;
    }
    // Somebody else has the rest.
    if (!options_.wait) return true;
    const Stopwatch waiting(timing_.waiting);
    if (!work.teller.tell("waiting for another process")) return false;
    std::this_thread::sleep_for(kWait);
  }
} catch (const train::Interrupted&) {
  return false;
}

std::optional<store::Lease> Runner::next_unit(Work& work) {
  const int seconds = options_.lease_seconds;
  return work.of_part ? work.of_part->take(work.store, work.study_id, work.owner, seconds)
                      : work.store.lease(work.study_id, work.owner, seconds);
}

void Runner::add_measuring(Work& work) {
  const std::vector<store::Unit> units = work.measuring.add_all(work.teller);
  if (work.of_part) work.of_part->offer(units);
}

/// The unit is done, given back, or somebody else's.
void Runner::do_unit(Work& work, const store::Lease& lease) {
  work.lease = &lease;
  work.renewed = seconds_now();
  work.checkpoint.reset();
  try {
    const auto task = work.tasks.find(lease.unit.task_id);
    if (task == work.tasks.end()) {
      throw store::StoreError(
          fmt::format("study '{}', unit '{}': found a task that is none of the study's: the store "
                      "is damaged",
                      study_.name, lease.unit.key));
    }
    const UnitWork unit = work_of(study_, plan_, task->second, lease.unit);
    std::vector<store::MemberRow> rows;
    std::optional<double> optimum;
    if (lease.unit.phase == store::Phase::optimum) {
      optimum = find_optimum_of(work, unit.task);
    } else {
      rows = train(work, lease, unit);
    }
    finish(work, lease, rows, optimum);
    if (lease.unit.phase == store::Phase::tune) {
      const Stopwatch in_store(timing_.store);
      const auto measuring = work.measuring.add(unit.task, unit.optimizer, work.teller);
      if (work.of_part) work.of_part->offer(measuring);
    }
  } catch (const LostLease&) {
    // What this process trained is for nothing; the rows are the same, whoever writes them.
  } catch (const store::StoreMoved&) {
    throw;  // nothing to give back
  } catch (...) {
    try {
      keep_checkpoint(work);
      work.store.release(lease);
    } catch (const LostLease&) {
      // There is nothing to give back.
    } catch (const store::StoreError&) {
      // The lease ends by time. What went wrong first is worth more.
    }
    throw;
  }
}

void Runner::finish(Work& work, const store::Lease& lease,
                    const std::vector<store::MemberRow>& rows, std::optional<double> optimum) {
  const Stopwatch in_store(timing_.store);
  try {
    work.store.finish(lease, rows, optimum);
  } catch (const store::StoreMoved& error) {
    const std::filesystem::path file = work.store.rescue();
    store::Store::open(file, store::Store::Mode::write).finish(lease, rows, optimum);
    throw store::StoreError(fmt::format("{}; all that it held, and what was trained last, is in {}",
                                        error.what(), file.string()));
  }
}

void Runner::keep_lease(Work& work) const {
  const double time = seconds_now();
  if (time - work.renewed < options_.lease_seconds / 10.0) return;
  if (!work.store.renew(*work.lease, options_.lease_seconds)) throw LostLease();
  work.renewed = time;
}

std::vector<store::MemberRow> Runner::train(Work& work, const store::Lease& lease,
                                            const UnitWork& unit) {
  const PlannedTask& planned = plan_.tasks[unit.task];
  const train::Plan waves = train::make_plan(*loader_.problem(planned.spec), unit.settings,
                                             options_.memory, planned.steps);
  // One after another: a wave of settings on a seed each.
  std::vector<std::vector<train::Setting>> populations;
  for (std::size_t s = 0; s < unit.seeds.size(); ++s) {
    for (const std::vector<std::size_t>& wave : waves.waves) {
      std::vector<train::Setting>& population = populations.emplace_back();
      for (const std::size_t id : wave) population.push_back(unit.settings[id]);
    }
  }
  work.checkpoint.emplace(populations);
  {
    const Stopwatch in_store(timing_.store);
    if (const auto bytes = work.store.checkpoint(lease)) work.checkpoint->read(*bytes);
  }
  work.checkpoint_stored = seconds_now();
  work.checkpoint_is_new = false;

  const OptimizerSpec& own = study_.optimizers[unit.optimizer];
  std::vector<store::MemberRow> rows;
  for (std::size_t p = 0; p < populations.size(); ++p) {
    const Part part{.work = unit,
                    .phase = lease.unit.phase,
                    .seed = unit.seeds[p / waves.waves.size()],
                    .begin = static_cast<double>(p) / static_cast<double>(populations.size()),
                    .share = 1 / static_cast<double>(populations.size())};
    if (p >= work.checkpoint->done().size()) {
      work.checkpoint->finish(train(work, part, populations[p]));
      work.checkpoint_is_new = true;
    }
    for (const train::Member& member : work.checkpoint->done()[p]) {
      rows.push_back({.optimizer = own.label,
                      .method = own.method,
                      .baseline = own.baseline,
                      .options = resolved_options(member.setting),
                      .seed = part.seed,
                      .phase = part.phase,
                      .diverged = member.diverged,
                      .diverged_at = member.diverged_at,
                      .pruned = member.pruned,
                      .state_bytes = member.state_bytes,
                      .points = member.points});
    }
  }
  return rows;
}

std::vector<train::Member> Runner::train(Work& work, const Part& part,
                                         const std::vector<train::Setting>& population) {
  const TaskSpec& spec = plan_.tasks[part.work.task].spec;
  const auto problem = loader_.problem(spec);
  const bool tune = part.phase == store::Phase::tune;
  const train::Trainer* running = nullptr;
  train::TrainOptions options = train_options(study_, spec, part.seed);
  options.diagnose = study_.diagnose && !tune;
  options.progress = [&](double epoch_part) {
    const double epochs = static_cast<double>(running->epochs_done()) + epoch_part;
    keep_lease(work);
    return work.teller.tell(part, *running, epochs / static_cast<double>(study_.epochs),
                            timing_.member_epochs);
  };
  const Stopwatch watch(timing_.training);
  const auto trainer_at_start = [&] {
    return std::make_unique<train::Trainer>(*problem, population, options, options_.executor);
  };
  auto trainer = trainer_at_start();
  if (!work.checkpoint->resume(*trainer)) trainer = trainer_at_start();
  running = trainer.get();
  CheckpointClock clock(options_.checkpoint_seconds);
  bool more = trainer->epochs_done() < study_.epochs;
  while (more) {
    timing_.member_epochs += static_cast<double>(trainer->alive());
    more = trainer->epoch();
    if (tune && study_.prune != 0) halve(*trainer);
    if (more && clock.due()) {
      clock.made([&] { work.checkpoint->keep(*trainer); });
      work.checkpoint_is_new = true;
      if (seconds_now() - work.checkpoint_stored >= options_.checkpoint_seconds) {
        keep_checkpoint(work);
      }
    }
    if (!tune) continue;
    for (const train::Member& member : trainer->members()) {
      if (member.diverged || member.points.size() < 2) continue;
      work.teller.set_best(part.work.task, part.work.optimizer, member.points.back().train_loss);
    }
  }
  return trainer->members();
}

void Runner::keep_checkpoint(Work& work) {
  if (!work.checkpoint || !work.checkpoint_is_new) return;
  const Stopwatch in_store(timing_.store);
  if (!work.store.keep_checkpoint(*work.lease, work.checkpoint->bytes())) throw LostLease();
  work.checkpoint_is_new = false;
  work.checkpoint_stored = seconds_now();
}

/// Successive halving: after 1/eta^k of the epochs, k = K..1, the best 1/eta^(K+1-k) of the grid
/// stay.
void Runner::halve(train::Trainer& trainer) const {
  const std::size_t eta = study_.prune;
  const std::size_t done = trainer.epochs_done();
  if (done >= study_.epochs) return;
  // The rung that ends now, if any: epochs / eta^k rounded up.
  std::size_t rungs = 0;
  for (std::size_t e = study_.epochs, n = trainer.members().size(); e > 1 && n > 1;
       e = (e + eta - 1) / eta, n = (n + eta - 1) / eta) {
    ++rungs;
  }
  std::size_t keep = trainer.members().size();
  bool rung_ends = false;
  for (std::size_t k = rungs; k >= 1 && !rung_ends; --k) {
    std::size_t at = study_.epochs;
    for (std::size_t i = 0; i < k; ++i) at = (at + eta - 1) / eta;
    keep = (keep + eta - 1) / eta;
    rung_ends = at == done;
  }
  if (!rung_ends) return;
  std::vector<std::pair<double, std::size_t>> ranked;
  for (const train::Member& member : trainer.members()) {
    if (member.diverged || member.pruned) continue;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < member.points.size(); ++i) {
      least = std::min(least, member.points[i].train_loss);
    }
    ranked.emplace_back(least, member.id);
  }
  if (ranked.size() <= keep) return;
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> out;
  for (std::size_t i = keep; i < ranked.size(); ++i) out.push_back(ranked[i].second);
  trainer.prune(out);
}

std::optional<double> Runner::find_optimum_of(Work& work, std::size_t task) {
  const PlannedTask& planned = plan_.tasks[task];
  const auto data = loader_.data(planned.spec);
  const Stopwatch watch(timing_.optimum);
  AskingExecutor executor(*options_.executor, [&] {
    keep_lease(work);
    return work.teller.tell(planned.name + ": the optimum");
  });
  const Optimum optimum = find_optimum(*data, planned.spec.lambda, kOptimumTolerance, executor);
  if (executor.stopped()) throw train::Interrupted();
  return optimum.converged ? std::optional(optimum.loss) : std::nullopt;
}

}  // namespace tandem::study
