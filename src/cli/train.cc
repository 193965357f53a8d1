// SPDX-License-Identifier: MIT
// `tandem train`: one run, or a grid of settings as one population.
#include <fmt/format.h>
#include <tandem/errors.h>
#include <tandem/tandem.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "cli/checkpoint.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/task_options.h"
#include "cli/values.h"
#include "export/live.h"
#include "models/make_problem.h"
#include "report/table.h"
#include "study/grid.h"
#include "study/optimum.h"
#include "train/plan.h"
#include "train/trainer.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  TaskOptions task;
  std::string model = "logistic";
  std::string loss = "cross-entropy";
  std::string optimizer = "diag-to";
  std::vector<std::string> lr, alpha, beta, decay;
  std::vector<std::string> options;
  double lambda = 0;
  std::size_t memory = 0;  // MiB; 0: no limit
  std::string init = "normal";
  std::string shuffle = "on";
  std::string sampling = "epochs";
  std::string checkpoint;
  std::string optimum;
  std::filesystem::path tensorboard;
  train::TrainOptions train;
};

/// Lists are grids: every combination is a member.
std::vector<train::Setting> settings_of(const Options& options) {
  study::Grid grid{{"lr", options.lr},
                   {"alpha", options.alpha},
                   {"beta", options.beta},
                   {"decay", options.decay}};
  for (const std::string& text : options.options) {
    const auto [name, value] = name_and_value("--option", text);
    grid.push_back({name, {value}});
  }
  return study::expand(options.optimizer, grid);
}

/// Numbers that JSON cannot hold become null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const train::Member& member, const train::Point& point, bool many,
             const train::TrainOptions& options) {
  Json json{{"event", "point"}};
  if (many) json["member"] = member.id;
  json["epoch"] = point.epoch;
  json["step"] = point.step;
  json["train_loss"] = number(point.train_loss);
  json["data_loss"] = number(point.data_loss);
  json["squared_norm"] = number(point.squared_norm);
  json["validation_loss"] = number(point.validation_loss);
  json["validation_accuracy"] = number(point.validation_accuracy);
  if (options.diagnose) {
    json["estimator_error"] = number(point.estimator_error);
    json["error_ratio"] = number(point.estimator_error / point.batch_error);
    json["delta"] = number(point.delta);
  }
  if (!options.optimum.empty()) json["distance"] = number(point.distance);
  json["gradient_evaluations"] = point.gradient_evaluations;
  json["seconds"] = point.seconds;
  return json;
}

const train::Point* best_point(const train::Member& member) {
  if (member.points.empty() || member.diverged) return nullptr;
  return &*std::min_element(
      member.points.begin(), member.points.end(),
      [](const train::Point& a, const train::Point& b) { return a.train_loss < b.train_loss; });
}

Json done_json(const train::Member& member, bool many) {
  Json json{{"event", "done"}};
  if (many) json["member"] = member.id;
  json["optimizer"] = member.setting.method;
  json["options"] = member.setting.options;
  json["diverged"] = member.diverged;
  if (member.diverged) json["diverged_at"] = member.diverged_at;
  const train::Point* best = best_point(member);
  json["min_train_loss"] = best != nullptr ? number(best->train_loss) : Json(nullptr);
  json["min_epoch"] = best != nullptr ? Json(best->epoch) : Json(nullptr);
  json["seconds"] = member.points.empty() ? 0 : member.points.back().seconds;
  json["state_bytes"] = member.state_bytes;
  return json;
}

std::string text_of(const OptionMap& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

class Run {
 public:
  Run(const Options& options, const Common& common)
      : options_(options), common_(common), progress_(!common.quiet) {}

  int run() {
    has_checkpoint(options_.checkpoint);  // refuses a folder before the work
    models::check_model(options_.model);  // and this before any data are read
    const auto settings = settings_of(options_);
    for (const train::Setting& setting : settings) sources::parse_method(setting.method);
    auto task = std::make_shared<data::Task>(load_task(options_.task, common_.seed));
    for (const std::string& note : task->notes) say(note);
    const auto problem = models::make_problem(options_.model, task, options_.lambda,
                                              problems::parse_loss(options_.loss),
                                              data::search_folders(options_.task.data_dir));
    say(fmt::format("{}, d = {}, {} training samples", problem->description(), problem->dimension(),
                    problem->samples()));

    train_ = options_.train;
    train_.seed = common_.seed;
    train_.init = options_.init == "zeros" ? train::Init::zeros : train::Init::normal;
    train_.shuffle = options_.shuffle == "on";
    train_.sampling =
        options_.sampling == "independent" ? train::Sampling::independent : train::Sampling::epochs;
    std::optional<double> least;
    if (!options_.optimum.empty()) {
      study::Optimum optimum = load_optimum(*task);
      train_.optimum = std::move(optimum.weights);
      least = optimum.loss;
    }
    const std::size_t budget =
        options_.memory == 0 ? ~std::size_t{0} : options_.memory * (std::size_t{1} << 20);
    const train::Plan plan =
        train::make_plan(*problem, settings, budget, train::total_steps(*problem, train_));
    if (settings.size() > 1) {
      say(fmt::format("{} members in {} waves, at most {:.1f} MiB each", settings.size(),
                      plan.waves.size(), static_cast<double>(plan.peak_bytes) / (1 << 20)));
    }
    if (!options_.checkpoint.empty() && plan.waves.size() > 1) {
      throw std::invalid_argument(
          "--checkpoint goes with one wave: raise --memory, or give one setting");
    }
    if (!options_.tensorboard.empty()) open_board(settings, least);
    catch_interrupts();
    std::vector<train::Member> members;
    try {
      for (std::size_t wave = 0; wave < plan.waves.size(); ++wave) {
        train_wave(*problem, settings, plan, wave, members);
      }
    } catch (const train::Interrupted&) {
      progress_.clear();
      return say_interrupted(options_.checkpoint, "whole epoch");
    }
    progress_.clear();
    return finish(members);
  }

 private:
  void say(const std::string& text) const {
    if (!common_.quiet && !common_.json) print_note(text);
  }

  study::Optimum load_optimum(const data::Task& task) const {
    if (options_.model != "logistic") {
      throw std::invalid_argument("--optimum goes with --model logistic");
    }
    if (problems::parse_loss(options_.loss) != problems::Loss::cross_entropy) {
      throw std::invalid_argument(
          fmt::format("--optimum goes with --loss cross-entropy: {} is not convex", options_.loss));
    }
    std::ifstream stream(options_.optimum, std::ios::binary);
    if (!stream) {
      throw data::DataError(fmt::format(
          "{}: cannot be read, expected a file of `tandem optimum --save`", options_.optimum));
    }
    try {
      return study::load_optimum(stream, task, options_.lambda);
    } catch (const StateError& error) {
      throw data::DataError(fmt::format("{}: {}", options_.optimum, error.what()));
    }
  }

  void open_board(const std::vector<train::Setting>& settings, std::optional<double> optimum) {
    board_.emplace(
        options_.tensorboard,
        exporting::LiveRuns::Facts{.hparams = {{"data", options_.task.data},
                                               {"model", options_.model},
                                               {"lambda", options_.lambda},
                                               {"batch", static_cast<double>(train_.batch)},
                                               {"seed", static_cast<double>(train_.seed)}},
                                   .optimum = optimum},
        settings, has_checkpoint(options_.checkpoint));
  }

  void train_wave(const Problem& problem, const std::vector<train::Setting>& settings,
                  const train::Plan& plan, std::size_t wave_number,
                  std::vector<train::Member>& members) {
    const std::vector<std::size_t>& wave = plan.waves[wave_number];
    std::vector<train::Setting> own;
    for (const std::size_t id : wave) own.push_back(settings[id]);
    const train::Trainer* running = nullptr;
    train::TrainOptions options = train_;
    options.progress = [&](double part) {
      if (!progress_.due()) return !interrupted();
      const std::size_t epoch = running->epochs_done();
      const auto epochs = static_cast<double>(options_.train.epochs);
      const double done = (static_cast<double>(epoch) + part) / epochs;
      progress_.show(
          (static_cast<double>(wave_number) + done) / static_cast<double>(plan.waves.size()),
          fmt::format("epoch {} of {}, {} of {} members", epoch + 1, options_.train.epochs,
                      running->alive(), own.size()));
      return !interrupted();
    };
    train::Trainer trainer(problem, own, options);
    running = &trainer;
    if (has_checkpoint(options_.checkpoint)) {
      load_checkpoint(trainer, options_.checkpoint);
      say(fmt::format("resumed after epoch {} from {}", trainer.epochs_done(),
                      options_.checkpoint));
    }
    std::vector<std::size_t> shown(own.size(), 0);
    bool more = true;
    while (more) {
      more = trainer.epoch();
      progress_.clear();
      if (!options_.checkpoint.empty()) {
        write_atomically(options_.checkpoint, [&](std::ostream& stream) { trainer.save(stream); });
      }
      for (train::Member member : trainer.members()) {
        const std::size_t from = std::exchange(shown[member.id], member.points.size());
        const std::vector<train::Point> fresh(
            member.points.begin() + static_cast<std::ptrdiff_t>(from), member.points.end());
        member.id = wave[member.id];
        for (const train::Point& point : fresh) show(member, point, settings.size() > 1);
        if (board_) board_->add(member, !more || member.diverged);
      }
      if (settings.size() > 1) {
        say(fmt::format("epoch {}: {} of {} members in training", trainer.epochs_done(),
                        trainer.alive(), own.size()));
      }
    }
    for (train::Member member : trainer.members()) {
      member.id = wave[member.id];
      members.push_back(std::move(member));
    }
  }

  void show(const train::Member& member, const train::Point& point, bool many) const {
    if (common_.json) {
      write_json(to_json(member, point, many, train_));
    } else if (!many) {
      const std::string validation =
          std::isfinite(point.validation_loss)
              ? fmt::format("  validation {:.6f}, accuracy {:.4f}", point.validation_loss,
                            point.validation_accuracy)
              : "";
      const std::string distance =
          train_.optimum.empty() ? "" : fmt::format("  |w - w*|^2 {:.4g}", point.distance);
      print_result("epoch {:3}  loss {:.6f}{}{}  {:.2f} s\n", point.epoch, point.train_loss,
                   validation, distance, point.seconds);
    }
  }

  int finish(const std::vector<train::Member>& members) const {
    const bool many = members.size() > 1;
    const bool all_diverged = std::all_of(members.begin(), members.end(),
                                          [](const train::Member& m) { return m.diverged; });
    if (common_.json) {
      for (const train::Member& member : members) {
        write_json(done_json(member, many));
      }
      return all_diverged ? kFailed : kDone;
    }
    if (!many) {
      const train::Member& member = members.front();
      const train::Point* best = best_point(member);
      if (best == nullptr) {
        print_message("tandem: {} diverged at step {}\n", member.setting.method,
                      member.diverged_at);
        return kFailed;
      }
      print_result("least loss {:.6f} in epoch {}, state {} bytes\n", best->train_loss, best->epoch,
                   member.state_bytes);
      return kDone;
    }
    show_best(members);
    return all_diverged ? kFailed : kDone;
  }

  static void show_best(std::vector<train::Member> members) {
    const auto diverged = std::count_if(members.begin(), members.end(),
                                        [](const train::Member& m) { return m.diverged; });
    std::erase_if(members, [](const train::Member& m) { return m.diverged; });
    std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return best_point(a)->train_loss < best_point(b)->train_loss;
    });
    using Align = report::Table::Align;
    report::Table table({{"member", Align::right},
                         {"least loss", Align::right},
                         {"epoch", Align::right},
                         {"options"}});
    constexpr std::size_t kShown = 10;
    for (std::size_t i = 0; i < std::min(kShown, members.size()); ++i) {
      const train::Point* best = best_point(members[i]);
      table.add({std::to_string(members[i].id), fmt::format("{:.6f}", best->train_loss),
                 std::to_string(best->epoch), text_of(members[i].setting.options)});
    }
    write_result(table.terminal());
    print_result("{} members finished, {} diverged\n", members.size(), diverged);
  }

  const Options& options_;
  const Common& common_;
  train::TrainOptions train_;
  std::optional<exporting::LiveRuns> board_;
  Progress progress_;
};

}  // namespace

void add_train(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "train",
      "Example: tandem train --data fashion-mnist --optimizer diag-to --lr 0.1 --alpha 0.01\n\n"
      "One run. Lists of rates (--lr 0.01,0.1,0.5) are grids: all settings train as one "
      "population.");
  add_task_options(*command, options->task);
  command
      ->add_option("--model", options->model,
                   "logistic, ffn:WIDTH[,WIDTH...], resnet18 or resnet50 and perhaps :width=N, or "
                   "llama:CHECKPOINT[,train=PATTERN]")
      ->capture_default_str();
  command
      ->add_option("--loss", options->loss,
                   "Of logistic and ffn: double-softmax takes the softmax twice, as the paper may "
                   "have done")
      ->check(CLI::IsMember(problems::loss_names()))
      ->capture_default_str();
  command->add_option("--optimizer", options->optimizer, "A rule, or SOURCE+RULE")
      ->capture_default_str();
  command->add_option("--lr", options->lr, "Rate or schedule, or a list")->delimiter(',');
  command->add_option("--alpha", options->alpha, "Rate of A, or a list")->delimiter(',');
  command->add_option("--beta", options->beta, "Rate of b, or a list")->delimiter(',');
  command->add_option("--decay", options->decay, "Factor of the rates an epoch, or a list")
      ->delimiter(',');
  command->add_option("--option", options->options,
                      "NAME=VALUE: any other option of the optimizer");
  command->add_option("--lambda", options->lambda, "lambda/2 |w|^2 is added to the loss")
      ->check(number(0, kMostNumber))
      ->capture_default_str();
  command->add_option("--batch", options->train.batch, "Samples a step")
      ->check(whole(1, kMostCount))
      ->capture_default_str();
  command->add_option("--clip", options->train.clip, "Longest gradient; 0 is no limit")
      ->check(number(0, kMostNumber))
      ->capture_default_str();
  command->add_option("--epochs", options->train.epochs, "Passes over the data")
      ->check(whole(1, kMostCount))
      ->capture_default_str();
  command->add_option("--init", options->init, "Start: N(0, 1) or zeros")
      ->check(CLI::IsMember({"normal", "zeros"}))
      ->capture_default_str();
  command->add_option("--shuffle", options->shuffle, "A new order each epoch")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command->add_option("--sampling", options->sampling, "Whole epochs, or each batch drawn afresh")
      ->check(CLI::IsMember({"epochs", "independent"}))
      ->capture_default_str();
  command->add_flag("--diagnose", options->train.diagnose,
                    "Measure |G - grad F|^2 in the last step of each epoch (with --json)");
  command->add_option("--optimum", options->optimum,
                      "File of `tandem optimum --save`: tells |w - w*|^2 each epoch");
  command->add_option("--memory", options->memory, "MiB for a wave of members; 0 is no limit")
      ->check(whole(0, kMostMemory))
      ->capture_default_str();
  command->add_option("--checkpoint", options->checkpoint,
                      "Save after each epoch to this file, and go on from it if it is there");
  command->add_option("--tensorboard", options->tensorboard,
                      "Folder for event files of TensorBoard, written while training; of several "
                      "settings a folder each");
  command->callback([options, &common, &job] {
    job = [options, &common] { return Run(*options, common).run(); };
  });
}

}  // namespace tandem::cli
