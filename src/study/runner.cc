// SPDX-License-Identifier: MIT
#include "study/runner.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <tandem/tandem.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/machine.h"
#include "models/make_problem.h"
#include "study/comparison.h"
#include "study/optimum.h"
#include "study/runner_work.h"
#include "train/plan.h"

namespace tandem::study {
namespace {

using Json = nlohmann::json;

// A killed process loses at most a unit: about a minute on two cores, by work_of().
constexpr double kWorkAUnit = 2.5e10;
constexpr std::size_t kMostMembersAUnit = 512;
// Runs that measure are one after another, each as a population of one.
constexpr double kMeasuringAUnit = kWorkAUnit / 10;
constexpr auto kWait = std::chrono::milliseconds(300);
// Of a gradient's norm. The loss is then above F* by less than 1e-12 / (2 lambda).
constexpr double kOptimumTolerance = 1e-6;

/// Adds the time that it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += now() - began_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  double began_ = now();
};

/// Asks before each piece of work whether to go on. When not, it leaves out all that follows, so
/// that a search, which is a C library's and cannot be thrown out of, ends at once, with nothing.
class AskingExecutor : public Executor {
 public:
  AskingExecutor(Executor& executor, std::function<bool()> go_on)
      : executor_(executor), go_on_(std::move(go_on)) {}
  int threads() const override { return executor_.threads(); }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    stopped_ = stopped_ || !go_on_();
    if (!stopped_) executor_.run(count, task);
  }
  bool stopped() const { return stopped_; }

 private:
  Executor& executor_;
  std::function<bool()> go_on_;
  bool stopped_ = false;
};

/// Tasks that differ in lambda or model share their data.
std::string data_key(const TaskSpec& task) {
  std::string key = fmt::format("{} validation={}", task.data, task.validation);
  for (const auto& [name, value] : task.data_options) key += fmt::format(" {}={}", name, value);
  return key;
}

std::string hash_text(const data::Task& task) {
  std::string text = fmt::format("{:016x}", task.train.fingerprint());
  if (task.validation) text += fmt::format("-{:016x}", task.validation->fingerprint());
  return text;
}

}  // namespace

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

Runner::Runner(StudySpec study, RunOptions options)
    : study_(std::move(study)), options_(std::move(options)) {
  if (options_.memory == 0) options_.memory = available_memory() / 4 * 3;
  if (options_.executor == nullptr) options_.executor = default_executor();
  for (const OptimizerSpec& optimizer : study_.optimizers) {
    grids_.push_back(expand(optimizer.method, optimizer.grid));
  }
  // The data of a task that comes first are read last, and are then at hand.
  plan_.tasks.resize(study_.tasks.size());
  for (std::size_t t = study_.tasks.size(); t-- > 0;) {
    const TaskSpec& spec = study_.tasks[t];
    const auto problem = problem_of(spec);
    if (spec.batch > problem->samples()) {
      throw std::invalid_argument(
          fmt::format("{}: Invalid batch: {}, expected at most {}, the "
                      "number of training samples",
                      task_name(spec), spec.batch, problem->samples()));
    }
    plan_.tasks[t] = {.spec = spec,
                      .description = problem->description(),
                      .samples = problem->samples(),
                      .dimension = problem->dimension(),
                      .one_at_a_time = problem->session(study_.tune_seed) != nullptr,
                      .data_hash = hash_text(*data_),
                      .notes = data_->notes};
    for (const auto& grid : grids_) {
      const train::Plan waves = train::make_plan(*problem, grid, options_.memory);
      if (study_.prune != 0 && waves.waves.size() > 1) {
        throw std::invalid_argument(fmt::format(
            "{}: {} settings of {} need {} waves, and a grid is pruned in one: raise --memory",
            task_name(spec), grid.size(), grid.front().method, waves.waves.size()));
      }
    }
  }
  for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
    const auto problem = problem_of(plan_.tasks[t].spec);
    for (std::size_t o = 0; o < grids_.size(); ++o) {
      const std::size_t count = tuning_members(o);
      const std::size_t each = study_.prune != 0 ? count : members_a_unit(t, o);
      for (std::size_t first = 0; first < count; first += each) {
        const std::size_t last = std::min(first + each, count);
        plan_.tuning.push_back({t, o, first, last});
        ++plan_.units;
        const std::vector<train::Setting> part(
            grids_[o].begin() + static_cast<std::ptrdiff_t>(first),
            grids_[o].begin() + static_cast<std::ptrdiff_t>(last));
        const train::Plan waves = train::make_plan(*problem, part, options_.memory);
        plan_.waves += waves.waves.size();
        plan_.peak_bytes = std::max(plan_.peak_bytes, waves.peak_bytes);
      }
      plan_.members += count;
      plan_.runs += study_.seeds.size();
      const std::size_t seeds = seeds_a_unit(t, o);
      plan_.units += (study_.seeds.size() + seeds - 1) / seeds;
    }
  }
}

std::shared_ptr<const data::Task> Runner::data_of(const TaskSpec& task) {
  if (const std::string key = data_key(task); key != loaded_ || data_ == nullptr) {
    const Stopwatch watch(timing_.loading);
    problem_.reset();  // it holds the data too
    data_.reset();
    if (const auto given = options_.data.find(task.data); given != options_.data.end()) {
      data_ = given->second;
    } else {
      data_ = std::make_shared<data::Task>(
          data::load_task(task.data, {.search = data::search_folders(options_.data_dir),
                                      .validation = task.validation,
                                      .seed = study_.tune_seed,
                                      .options = task.data_options}));
    }
    loaded_ = key;
  }
  return data_;
}

std::shared_ptr<const Problem> Runner::problem_of(const TaskSpec& task) {
  if (const std::string name = task_name(task); name != made_ || problem_ == nullptr) {
    problem_.reset();
    problem_ = models::make_problem(task.model, data_of(task), task.lambda,
                                    data::search_folders(options_.data_dir));
    made_ = name;
  }
  return problem_;
}

train::TrainOptions Runner::train_options(const TaskSpec& task, std::uint64_t seed) const {
  train::TrainOptions options;
  options.batch = task.batch;
  options.epochs = study_.epochs;
  options.seed = seed;
  options.init = task.init;
  options.shuffle = task.shuffle;
  options.sampling = task.sampling;
  return options;
}

std::size_t Runner::tuned_by(std::size_t optimizer) const {
  const std::string& whole = study_.optimizers[optimizer].part_of;
  if (whole.empty()) return optimizer;
  return static_cast<std::size_t>(
      std::find_if(study_.optimizers.begin(), study_.optimizers.end(),
                   [&](const OptimizerSpec& each) { return each.label == whole; }) -
      study_.optimizers.begin());
}

std::size_t Runner::tuning_members(std::size_t optimizer) const {
  return tuned_by(optimizer) == optimizer ? grids_[optimizer].size() : 0;
}

double Runner::steps_of(const PlannedTask& planned) const {
  const std::size_t batches = planned.samples / planned.spec.batch;
  return static_cast<double>(study_.epochs * batches);
}

double Runner::work_of(std::size_t task, std::size_t optimizer) const {
  const PlannedTask& planned = plan_.tasks[task];
  const auto d = static_cast<double>(planned.dimension);
  const double steps = steps_of(planned);
  const std::string rule = sources::parse_method(study_.optimizers[optimizer].method).rule;
  // Full-TO reads its matrix, or the history so far: four bytes a float where the others do about
  // forty bytes' worth of work for each weight.
  const double floats = rule == "full-to" ? d + d * std::min(steps / 2, d) / 10 : d;
  return floats * steps;
}

std::size_t Runner::members_a_unit(std::size_t task, std::size_t optimizer) const {
  if (plan_.tasks[task].one_at_a_time) return 1;
  const double members = kWorkAUnit / work_of(task, optimizer);
  return static_cast<std::size_t>(std::clamp(members, 1.0, static_cast<double>(kMostMembersAUnit)));
}

std::size_t Runner::seeds_a_unit(std::size_t task, std::size_t optimizer) const {
  if (plan_.tasks[task].one_at_a_time) return 1;
  const double runs = kMeasuringAUnit / work_of(task, optimizer);
  return static_cast<std::size_t>(
      std::clamp(runs, 1.0, static_cast<double>(std::max<std::size_t>(1, study_.seeds.size()))));
}

/// Seconds that a few steps and an evaluation take, of one member.
Runner::Pace Runner::measure_pace(const PlannedTask& planned, std::size_t optimizer) {
  constexpr std::size_t kMembers = 16;
  constexpr int kSteps = 10;
  const auto problem = problem_of(planned.spec);
  const std::vector<train::Setting>& grid = grids_[optimizer];
  const bool full = sources::parse_method(study_.optimizers[optimizer].method).rule == "full-to";
  std::vector<train::Setting> few = grid;
  few.resize(full || planned.one_at_a_time ? 1 : std::min(kMembers, grid.size()));
  const double began = now();
  double first = began;  // stays so where all diverge at the start
  double last = began;
  int calls = 0;
  train::TrainOptions options = train_options(planned.spec, study_.tune_seed);
  options.progress = [&](double) {
    last = now();
    if (calls++ == 0) first = last;
    return calls <= kSteps;
  };
  try {
    train::Trainer(*problem, few, options, options_.executor).epoch();
  } catch (const train::Interrupted&) {
  }
  const auto members = static_cast<double>(few.size());
  Pace pace{.step = calls > 1 ? (last - first) / (calls - 1) / members : 0,
            .evaluation = (first - began) / members};
  if (full) {  // the first steps are the cheapest
    const auto d = static_cast<double>(planned.dimension);
    const double steps = steps_of(planned);
    pace.step = std::max(pace.step, 4 * d * std::min(steps / 2, d) / 2e10);
  }
  return pace;
}

double Runner::estimate_seconds() {
  double all = 0;
  for (const PlannedTask& planned : plan_.tasks) {
    const double steps = steps_of(planned);
    Pace pace;
    for (std::size_t o = 0; o < grids_.size(); ++o) {
      // Where gradients are most of the time, one optimizer tells of all.
      if (o == 0 || !planned.one_at_a_time) pace = measure_pace(planned, o);
      const auto runs = static_cast<double>(tuning_members(o) + study_.seeds.size());
      all += runs * (steps * pace.step + static_cast<double>(study_.epochs + 1) * pace.evaluation);
    }
  }
  return all;
}

bool Runner::run(store::Store& store, const std::function<bool(const Status&)>& progress) {
  timing_ = {};
  const Stopwatch watch(timing_.all);
  Work work{store, progress};
  {
    const Stopwatch in_store(timing_.store);
    const std::string text = canonical_text(study_);
    work.study = store.ensure_study(
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
    for (const PlannedTask& task : plan_.tasks) {
      work.tasks.push_back(store.ensure_task({.study_id = work.study.id,
                                              .key = task_name(task.spec),
                                              .data = task.spec.data,
                                              .model = task.spec.model,
                                              .lambda = task.spec.lambda,
                                              .batch = task.spec.batch,
                                              .samples = task.samples,
                                              .dimension = task.dimension,
                                              .data_hash = task.data_hash,
                                              .facts = Json{{"description", task.description},
                                                            {"notes", task.notes},
                                                            {"task", task_name(task.spec)}}
                                                           .dump()}));
    }
    add_tuning(work);
  }
  for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
    for (std::size_t o = 0; o < grids_.size(); ++o) {
      work.all_work += work_of(t, o) * static_cast<double>(tuning_members(o) + study_.seeds.size());
    }
  }
  try {
    while (true) {
      std::optional<store::Unit> unit;
      bool added = false;
      store::Progress before;
      store::Progress counts;
      {
        const Stopwatch in_store(timing_.store);
        before = store.progress(work.study.id);
        added = add_measuring(work);
        unit = store.lease(work.study.id, work.owner, kLeaseSeconds);
        counts = store.progress(work.study.id);
      }
      work.status.units = counts.units;
      work.status.units_done = counts.done;
      if (unit) {
        work.renewed = now();
        try {
          train_unit(work, *unit);
        } catch (...) {
          store.release(unit->id, work.owner);
          throw;
        }
        continue;
      }
      if (added) continue;
      if (counts.done == counts.units) {
        // What was done before add_measuring() looked, it has seen. Another process may have tuned
        // the last setting since, and what measures it is yet to be added.
        if (before.done == before.units) break;
        continue;
      }
      // Somebody else has the rest.
      const Stopwatch waiting(timing_.waiting);
      work.status.doing = "waiting for another process";
      if (!progress(work.status)) throw train::Interrupted();
      std::this_thread::sleep_for(kWait);
    }
    find_optima(work);
  } catch (const train::Interrupted&) {
    store.untell(work.study.id, work.owner);
    return false;
  }
  store.untell(work.study.id, work.owner);
  return true;
}

void Runner::add_tuning(Work& work) {
  std::vector<store::Unit> units;
  for (const PlannedUnit& unit : plan_.tuning) {
    const std::string& label = study_.optimizers[unit.optimizer].label;
    units.push_back({.task_id = work.tasks[unit.task].id,
                     .key = fmt::format("{}/{}/tune/{}", task_name(plan_.tasks[unit.task].spec),
                                        label, unit.first),
                     .optimizer = label,
                     .phase = store::Phase::tune,
                     .seed = study_.tune_seed,
                     .members = Json{{"first", unit.first}, {"last", unit.last}}.dump(),
                     .place = static_cast<std::int64_t>(unit.task) << 40 |
                              static_cast<std::int64_t>(unit.optimizer) << 20 |
                              static_cast<std::int64_t>(unit.first)});
  }
  work.store.add_units(work.study.id, units);
}

OptimizerRuns Runner::tuned_runs(const Work& work, std::int64_t task, std::size_t optimizer) const {
  OptimizerRuns runs;
  for (store::MemberRow& row : work.store.members(task, true, study_.optimizers[optimizer].label)) {
    if (row.phase != store::Phase::tune) continue;
    runs.tuned.push_back({.options = std::move(row.options),
                          .seed = row.seed,
                          .diverged = row.diverged,
                          .pruned = row.pruned,
                          .state_bytes = row.state_bytes,
                          .points = std::move(row.points)});
  }
  return runs;
}

/// Where a whole grid was tuned, its best setting is measured. True if units were added.
bool Runner::add_measuring(Work& work) {
  std::set<std::pair<std::int64_t, std::string>> tuning;  // not done
  std::set<std::pair<std::int64_t, std::string>> planned;
  double done = 0;
  for (const store::Unit& unit : work.store.units(work.study.id)) {
    if (unit.phase == store::Phase::measure) planned.insert({unit.task_id, unit.optimizer});
    if (!unit.done && unit.phase == store::Phase::tune) {
      tuning.insert({unit.task_id, unit.optimizer});
    }
    if (!unit.done) continue;
    const Json members = Json::parse(unit.members);
    const auto count = unit.phase == store::Phase::measure
                           ? static_cast<double>(members.at("seeds").size())
                           : members.at("last").get<double>() - members.at("first").get<double>();
    for (std::size_t t = 0; t < work.tasks.size(); ++t) {
      if (work.tasks[t].id != unit.task_id) continue;
      for (std::size_t o = 0; o < study_.optimizers.size(); ++o) {
        if (study_.optimizers[o].label == unit.optimizer) done += count * work_of(t, o);
      }
    }
  }
  work.work_done = done;
  std::vector<store::Unit> units;
  for (std::size_t t = 0; t < work.tasks.size(); ++t) {
    std::map<std::size_t, OptimizerRuns> tuned;  // optimizers with a grid of their own
    for (std::size_t o = 0; o < study_.optimizers.size(); ++o) {
      const std::string& label = study_.optimizers[o].label;
      const std::size_t whole = tuned_by(o);
      const std::string& tuned_label = study_.optimizers[whole].label;
      if (work.measured.contains({t, o}) || tuning.contains({work.tasks[t].id, tuned_label})) {
        continue;
      }
      work.measured.insert({t, o});
      if (!tuned.contains(whole)) tuned[whole] = tuned_runs(work, work.tasks[t].id, whole);
      const OptimizerRuns& all = tuned[whole];
      const Run* best_of_all = best_of_grid(all);
      const OptimizerRuns part =
          whole == o ? OptimizerRuns{} : restricted(all, study_.optimizers[o]);
      const Run* best = whole == o ? best_of_all : best_of_grid(part);
      if (best == nullptr) continue;
      work.best[{t, o}] = min_loss(*best).value_or(0);
      if (planned.contains({work.tasks[t].id, label})) continue;
      if (whole != o && best_of_all->options == best->options) continue;  // measured there
      const auto is_best = [&](const train::Setting& setting) {
        return resolved_options(setting) == best->options;
      };
      const auto chosen = static_cast<std::size_t>(
          std::find_if(grids_[o].begin(), grids_[o].end(), is_best) - grids_[o].begin());
      const std::size_t each = seeds_a_unit(t, o);
      for (std::size_t s = 0; s < study_.seeds.size(); s += each) {
        const std::size_t end = std::min(s + each, study_.seeds.size());
        const std::vector<std::uint64_t> seeds(
            study_.seeds.begin() + static_cast<std::ptrdiff_t>(s),
            study_.seeds.begin() + static_cast<std::ptrdiff_t>(end));
        units.push_back({.task_id = work.tasks[t].id,
                         .key = fmt::format("{}/{}/measure/{}", task_name(plan_.tasks[t].spec),
                                            label, study_.seeds[s]),
                         .optimizer = label,
                         .phase = store::Phase::measure,
                         .seed = study_.seeds[s],
                         .members = Json{{"setting", chosen}, {"seeds", seeds}}.dump(),
                         .place = static_cast<std::int64_t>(t) << 40 | std::int64_t{1} << 39 |
                                  static_cast<std::int64_t>(o) << 20 |
                                  static_cast<std::int64_t>(s)});
      }
    }
  }
  work.store.add_units(work.study.id, units);
  return !units.empty();
}

void Runner::train_unit(Work& work, const store::Unit& unit) {
  const auto task = static_cast<std::size_t>(
      std::find_if(work.tasks.begin(), work.tasks.end(),
                   [&](const store::Task& each) { return each.id == unit.task_id; }) -
      work.tasks.begin());
  const auto optimizer = static_cast<std::size_t>(
      std::find_if(study_.optimizers.begin(), study_.optimizers.end(),
                   [&](const OptimizerSpec& each) { return each.label == unit.optimizer; }) -
      study_.optimizers.begin());
  const Json members = Json::parse(unit.members);
  const std::vector<train::Setting>& grid = grids_.at(optimizer);
  const bool tune = unit.phase == store::Phase::tune;
  const std::size_t first = members.at(tune ? "first" : "setting");
  const std::size_t last = tune ? members.at("last").get<std::size_t>() : first + 1;
  Part part{.unit = unit,
            .task = task,
            .optimizer = optimizer,
            .settings = {grid.begin() + static_cast<std::ptrdiff_t>(first),
                         grid.begin() + static_cast<std::ptrdiff_t>(last)}};
  const std::vector<std::uint64_t> seeds =
      tune ? std::vector<std::uint64_t>{unit.seed}
           : members.at("seeds").get<std::vector<std::uint64_t>>();
  std::vector<store::MemberRow> rows;
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    part.seed = seeds[s];
    part.begin = static_cast<double>(s) / static_cast<double>(seeds.size());
    part.share = 1 / static_cast<double>(seeds.size());
    train_members(work, part, rows);
  }
  const Stopwatch in_store(timing_.store);
  work.store.finish(unit.id, work.owner, rows);
}

void Runner::train_members(Work& work, const Part& part, std::vector<store::MemberRow>& rows) {
  const TaskSpec& spec = plan_.tasks[part.task].spec;
  const auto problem = problem_of(spec);
  const train::Plan plan = train::make_plan(*problem, part.settings, options_.memory);
  const OptimizerSpec& own = study_.optimizers[part.optimizer];
  const bool tune = part.unit.phase == store::Phase::tune;
  for (std::size_t wave = 0; wave < plan.waves.size(); ++wave) {
    std::vector<train::Setting> population;
    for (const std::size_t id : plan.waves[wave]) population.push_back(part.settings[id]);
    const train::Trainer* running = nullptr;
    train::TrainOptions options = train_options(spec, part.seed);
    options.diagnose = study_.diagnose && !tune;
    options.progress = [&](double epoch_part) {
      const double epochs = static_cast<double>(running->epochs_done()) + epoch_part;
      const double done =
          (static_cast<double>(wave) + epochs / static_cast<double>(study_.epochs)) /
          static_cast<double>(plan.waves.size());
      return tell(work, part, *running, part.begin + part.share * done);
    };
    const Stopwatch watch(timing_.training);
    train::Trainer trainer(*problem, population, options, options_.executor);
    running = &trainer;
    bool more = true;
    while (more) {
      timing_.member_epochs += static_cast<double>(trainer.alive());
      more = trainer.epoch();
      if (!tune) continue;
      if (study_.prune != 0) halve(trainer);
      double& best = work.best[{part.task, part.optimizer}];
      for (const train::Member& member : trainer.members()) {
        if (member.diverged || member.points.size() < 2) continue;
        const double loss = member.points.back().train_loss;
        if (best == 0 || loss < best) best = loss;
      }
    }
    for (const train::Member& member : trainer.members()) {
      rows.push_back({.optimizer = own.label,
                      .method = own.method,
                      .baseline = own.baseline,
                      .options = resolved_options(member.setting),
                      .seed = part.seed,
                      .phase = part.unit.phase,
                      .diverged = member.diverged,
                      .diverged_at = member.diverged_at,
                      .pruned = member.pruned,
                      .state_bytes = member.state_bytes,
                      .points = member.points});
    }
  }
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

void Runner::find_optima(Work& work) {
  if (!study_.optimum) return;
  for (std::size_t t = 0; t < work.tasks.size(); ++t) {
    const TaskSpec& spec = plan_.tasks[t].spec;
    if (spec.model != "logistic" || spec.lambda <= 0 || work.tasks[t].optimum) continue;
    work.status.part = 1;
    work.status.doing = fmt::format("{}: the optimum", task_name(spec));
    const auto data = data_of(spec);
    const Stopwatch watch(timing_.optimum);
    AskingExecutor executor(*options_.executor, [&] { return work.progress(work.status); });
    const Optimum optimum = find_optimum(*data, spec.lambda, kOptimumTolerance, executor);
    if (executor.stopped()) throw train::Interrupted();
    if (optimum.converged) work.store.set_optimum(work.tasks[t].id, optimum.loss);
  }
}

}  // namespace tandem::study
