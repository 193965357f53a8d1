// SPDX-License-Identifier: MIT
// `tandem finetune`: some weights of a Llama, tuned on instructions.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/tandem.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/bytes_text.h"
#include "base/interrupt.h"
#include "base/machine.h"
#include "base/shell_word.h"
#include "cli/checkpoint.h"
#include "cli/command.h"
#include "cli/finetune_record.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/task_options.h"
#include "cli/values.h"
#include "llama/save.h"
#include "models/llama_model.h"
#include "train/plan.h"
#include "train/trainer.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  models::LlamaOptions model;
  TaskOptions task;
  std::string optimizer = "adam-to";
  std::string lr, alpha, beta, decay;
  std::vector<std::string> options;
  double lambda = 0;
  std::size_t steps = 100;
  std::size_t measure_every = 0;
  train::TrainOptions train;
  std::vector<std::string> prompts;
  std::size_t tokens = 64;
  std::string checkpoint, out, merge;
  RecordOptions record;
};

/// A prompt to show what the model makes of it, and the answer that the data have for it.
struct Example {
  std::string prompt;
  std::string wanted;  // empty: not known
};

class Finetune {
 public:
  Finetune(const Options& options, const Common& common)
      : options_(options), common_(common), progress_(!common.quiet) {}

  int run() {
    const train::Setting setting = chosen_setting();
    sources::parse_method(setting.method);
    check_outputs();
    const data::Task task = tuning_data();
    for (const std::string& note : task.notes) say(note);
    llama_ = models::make_llama(options_.model, task, options_.lambda,
                                data::search_folders(options_.task.data_dir));
    for (const std::string& note : llama_.notes) say(note);
    plan_memory(setting);
    choose_examples(task);
    catch_interrupts();
    show_start();
    if (options_.steps == 0) return kDone;
    return train_and_keep(setting, task);
  }

 private:
  void say(const std::string& text) const {
    if (!common_.quiet && !common_.json) print_message("{}\n", text);
  }

  train::Setting chosen_setting() const {
    train::Setting setting{options_.optimizer, {}};
    for (const auto& [name, value] : {std::pair("lr", options_.lr),
                                      {"alpha", options_.alpha},
                                      {"beta", options_.beta},
                                      {"decay", options_.decay}}) {
      if (!value.empty()) setting.options[name] = value;
    }
    for (const std::string& text : options_.options) {
      setting.options.insert(name_and_value("--option", text));
    }
    return setting;
  }

  /// What cannot be written in the end is better known before hours of training.
  void check_outputs() const {
    has_checkpoint(options_.checkpoint);  // refuses a folder
    for (const std::string& path : {options_.checkpoint, options_.out, options_.merge}) {
      if (path.empty()) continue;
      const auto folder = std::filesystem::absolute(path).parent_path();
      if (!std::filesystem::is_directory(folder)) {
        throw std::invalid_argument(
            fmt::format("{}: there is no folder {}", path, folder.string()));
      }
    }
    if (!options_.merge.empty() && std::filesystem::exists(options_.merge)) {
      throw std::invalid_argument(
          fmt::format("--merge {}: it exists already, expected a new folder", options_.merge));
    }
    if (options_.steps > 0 && !options_.record.store.empty()) {
      check_record(options_.record, label(), common_.seed);
    }
  }

  data::Task tuning_data() const {
    if (options_.steps > 0) return load_task(options_.task, common_.seed);
    // Nothing is tuned, so nothing is read; the model is made with what it is asked.
    data::Task task;
    task.train.name = "prompts";
    for (const std::string& prompt : options_.prompts) task.train.texts.push_back({prompt, "."});
    if (task.train.texts.empty()) {
      throw std::invalid_argument("--steps 0 shows what the model writes: it goes with --prompt");
    }
    task.train.rows = task.train.texts.size();
    return task;
  }

  /// Says what memory will be needed, and refuses where there is not so much.
  void plan_memory(const train::Setting& setting) {
    const std::size_t gradient = llama_.model->dimension() * sizeof(float);
    std::size_t mapped = 0;
    for (const tensors::Tensor& weight : llama_.checkpoint->weights()) {
      mapped += weight.bytes.size();
    }
    // A gradient is there while a step is made.
    const std::size_t trained = train::member_bytes(*llama_.model, setting) + gradient;
    const std::size_t own = trained + llama_.model->workspace_bytes();
    // What LibTorch and the BLAS behind it load and keep when they compute for the first time.
    constexpr std::size_t kLibraries = std::size_t{24} << 20;
    const std::size_t program = peak_memory() + kLibraries;
    planned_bytes_ = program + mapped + own;
    if (common_.json) {
      write_json({{"event", "plan"},
                  {"model", llama_.model->description()},
                  {"trained", llama_.trained},
                  {"weights", llama_.model->dimension()},
                  {"checkpoint_bytes", mapped},
                  {"training_bytes", trained},
                  {"workspace_bytes", llama_.model->workspace_bytes()},
                  {"planned_bytes", planned_bytes_}});
    }
    say(llama_.model->description());
    say(fmt::format("trained: {}", fmt::join(llama_.trained, ", ")));
    say(fmt::format(
        "memory: at most {}: checkpoint {} (mapped), trained weights, gradient and state "
        "{}, workspace {}, program and data {}",
        bytes_text(planned_bytes_), bytes_text(mapped), bytes_text(trained),
        bytes_text(llama_.model->workspace_bytes()), bytes_text(program)));
    if (own > available_memory()) {
      throw std::invalid_argument(
          fmt::format("Training needs {} beside the checkpoint, and {} are free: train fewer "
                      "weights (--train), or lower --micro-batch or --sequence",
                      bytes_text(own), bytes_text(available_memory())));
    }
  }

  void choose_examples(const data::Task& task) {
    for (const std::string& prompt : options_.prompts) examples_.push_back({prompt, ""});
    if (!examples_.empty()) return;
    const auto& texts = (task.validation ? *task.validation : task.train).texts;
    constexpr std::size_t kShown = 2;
    for (const data::Text& text : texts) {
      const std::size_t length = models::prompt_tokens(*llama_.tokenizer, text.prompt).size();
      if (length + options_.tokens > llama_.checkpoint->config().sequence) continue;
      examples_.push_back({text.prompt, text.response});
      if (examples_.size() == kShown) return;
    }
  }

  void show_texts(const std::string& when, std::span<const float> weights) const {
    for (const Example& example : examples_) {
      const std::vector<std::int32_t> prompt =
          models::prompt_tokens(*llama_.tokenizer, example.prompt);
      if (prompt.size() >= llama_.checkpoint->config().sequence) {
        throw std::invalid_argument(
            fmt::format("The prompt '{}' has {} tokens, and the model takes {} with its answer",
                        example.prompt, prompt.size(), llama_.checkpoint->config().sequence));
      }
      const std::vector<std::int32_t> ends{llama_.tokenizer->eos(), llama_.tokenizer->bos()};
      std::vector<std::int32_t> all = prompt;
      const auto answer = llama_.model->generate(weights, prompt, options_.tokens, ends);
      all.insert(all.end(), answer.begin(), answer.end());
      // The answer is decoded with its prompt: a space at its beginning would be lost otherwise.
      const std::string text =
          llama_.tokenizer->decode(all).substr(llama_.tokenizer->decode(prompt).size());
      if (common_.json) {
        write_json({{"event", "text"},
                    {"when", when},
                    {"prompt", example.prompt},
                    {"text", text},
                    {"wanted", example.wanted.empty() ? Json(nullptr) : Json(example.wanted)}});
      } else if (!common_.quiet) {
        print_result("--- {} ---\n{}[{}]\n", when, example.prompt, text);
        if (!example.wanted.empty() && when == "after") {
          print_result("--- wanted ---\n[{}]\n", example.wanted);
        }
      }
    }
  }

  /// The weights it starts with are gone again when training begins, which has its own.
  void show_start() const {
    std::vector<float> start(llama_.model->dimension());
    llama_.model->session(common_.seed)->start(start);
    show_texts("before", start);
  }

  train::TrainOptions train_options() const {
    train::TrainOptions options = options_.train;
    options.seed = common_.seed;
    options.epoch_steps = options_.measure_every > 0
                              ? options_.measure_every
                              : std::max<std::size_t>(1, options_.steps / 10);
    options.epochs = (options_.steps + options.epoch_steps - 1) / options.epoch_steps;
    return options;
  }

  int train_and_keep(const train::Setting& setting, const data::Task& task) {
    train::TrainOptions options = train_options();
    if (options.batch > llama_.model->samples()) {
      throw std::invalid_argument(fmt::format("Invalid --batch: {}, and there are {} samples",
                                              options.batch, llama_.model->samples()));
    }
    const train::Trainer* running = nullptr;
    options.progress = [&](double part) {
      if (progress_.due()) {
        const double epochs = static_cast<double>(running->epochs_done()) + part;
        progress_.show(
            epochs / static_cast<double>(options.epochs),
            fmt::format("step {:.0f} of {}", epochs * static_cast<double>(options.epoch_steps),
                        options.epochs * options.epoch_steps));
      }
      return !interrupted();
    };
    train::Trainer trainer(*llama_.model, {setting}, options);
    running = &trainer;
    resume(trainer);
    try {
      train_all(trainer);
    } catch (const train::Interrupted&) {
      progress_.clear();
      return say_interrupted(options_.checkpoint, "measurement");
    }
    const train::Member& member = trainer.members().front();
    if (!options_.record.store.empty()) {
      write_record({.options = options_.record,
                    .label = label(),
                    .setting = setting,
                    .train = options,
                    .data = task,
                    .data_name = options_.task.data,
                    .model_name = model_name(),
                    .model = *llama_.model,
                    .checkpoint_hash = llama_.checkpoint->hash(),
                    .seed = common_.seed,
                    .member = member});
    }
    if (member.diverged) {
      print_message("tandem: {} diverged at step {}\n", setting.method, member.diverged_at);
      return kFailed;
    }
    show_texts("after", trainer.weights(0));
    keep_weights(trainer.weights(0));
    finish(member);
    return kDone;
  }

  void resume(train::Trainer& trainer) {
    if (!has_checkpoint(options_.checkpoint)) return;
    load_checkpoint(trainer, options_.checkpoint);
    shown_ = trainer.members().front().points.size();
    say(fmt::format("resumed after step {} from {}", trainer.members().front().points.back().step,
                    options_.checkpoint));
  }

  void train_all(train::Trainer& trainer) {
    bool more = true;
    while (more) {
      more = trainer.epoch();
      progress_.clear();
      if (!options_.checkpoint.empty()) {
        write_atomically(options_.checkpoint, [&](std::ostream& stream) { trainer.save(stream); });
      }
      const std::vector<train::Point>& points = trainer.members().front().points;
      for (; shown_ < points.size(); ++shown_) show(points, shown_);
    }
  }

  void show(const std::vector<train::Point>& points, std::size_t at) const {
    const train::Point& point = points[at];
    if (common_.json) {
      const auto number = [](double value) {
        return std::isfinite(value) ? Json(value) : Json(nullptr);
      };
      write_json({{"event", "point"},
                  {"step", point.step},
                  {"train_loss", number(point.train_loss)},
                  {"validation_loss", number(point.validation_loss)},
                  {"seconds", point.seconds}});
      return;
    }
    const std::string validation = std::isfinite(point.validation_loss)
                                       ? fmt::format("  validation {:.4f}", point.validation_loss)
                                       : "";
    print_result("step {:5}  loss {:.4f}{}  {:.1f} s\n", point.step, point.train_loss, validation,
                 point.seconds);
    flush_results();
  }

  void keep_weights(std::span<const float> weights) const {
    const llama::Changes changes{.names = llama_.trained, .values = weights};
    if (!options_.out.empty()) {
      llama::save_changed(options_.out, *llama_.checkpoint, changes);
      say(fmt::format("the changed weights are in {}: --changes {} goes on from them", options_.out,
                      shell_word(options_.out)));
    }
    if (!options_.merge.empty()) {
      llama::save_merged(options_.merge, *llama_.checkpoint, changes);
      say(fmt::format("the whole model is in {}", options_.merge));
    }
  }

  void finish(const train::Member& member) const {
    const auto better = [](const train::Point& a, const train::Point& b) {
      return a.train_loss < b.train_loss;
    };
    const train::Point& best =
        *std::min_element(member.points.begin(), member.points.end(), better);
    const train::Point& last = member.points.back();
    const double samples = last.seconds > 0
                               ? static_cast<double>(last.gradient_evaluations) / last.seconds
                               : std::nan("");
    if (common_.json) {
      write_json({{"event", "done"},
                  {"optimizer", member.setting.method},
                  {"options", member.setting.options},
                  {"train_loss", last.train_loss},
                  {"least_train_loss", best.train_loss},
                  {"state_bytes", member.state_bytes},
                  {"samples_a_second", std::isfinite(samples) ? Json(samples) : Json(nullptr)},
                  {"planned_bytes", planned_bytes_},
                  {"peak_bytes", peak_memory()}});
      return;
    }
    print_result(
        "least loss {:.4f} at step {}; {:.1f} samples a second; peak memory {}, planned {}\n",
        best.train_loss, best.step, samples, bytes_text(peak_memory()), bytes_text(planned_bytes_));
  }

  std::string label() const {
    return options_.record.label.empty() ? options_.optimizer : options_.record.label;
  }
  std::string model_name() const {
    return "llama:" + options_.model.checkpoint.filename().string();
  }

  const Options& options_;
  const Common& common_;
  Progress progress_;
  models::Llama llama_;
  std::vector<Example> examples_;
  std::size_t planned_bytes_ = 0;
  std::size_t shown_ = 0;  // points
};

}  // namespace

void add_finetune(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  options->task.data = "alpaca";
  options->task.validation = 0.1;
  options->train.batch = 16;
  options->train.clip = 1;
  CLI::App* command = app.add_subcommand(
      "finetune",
      "Example: tandem finetune --model stories260K.bin --train 'layers.4.*.wq' --steps 200 "
      "--out changed.safetensors\n\n"
      "Tunes some weights of a Llama on instructions, and shows what it writes before and after.");
  command
      ->add_option("--model", options->model.checkpoint,
                   "A folder of Hugging Face (config.json, safetensors) or a .bin of llama2.c")
      ->required();
  command->add_option("--tokenizer", options->model.tokenizer,
                      "tokenizer.model or a .bin of llama2.c; else the one beside the model");
  command->add_option("--changes", options->model.changes,
                      "Start from weights that --out of an earlier run wrote");
  command->add_option("--train", options->model.train,
                      "Names of weights to train, * for any text; as often as needed. Without it: "
                      "the last layer's attention");
  add_task_options(*command, options->task);
  command->get_option("--data")->required(false)->capture_default_str();
  command->get_option("--validation")->capture_default_str();
  command
      ->add_option("--sequence", options->model.sequence,
                   "Most tokens of a sample; 0 is what the model takes")
      ->check(whole(0, kMostCount))
      ->capture_default_str();
  command->add_option("--batch", options->train.batch, "Samples a step")
      ->check(whole(1, kMostCount))
      ->capture_default_str();
  command
      ->add_option("--micro-batch", options->model.micro_batch,
                   "Samples that go through the model together; gradients add up to the batch's")
      ->check(whole(1, kMostCount))
      ->capture_default_str();
  command->add_option("--optimizer", options->optimizer, "`tandem optimizers` names them")
      ->capture_default_str();
  command->add_option("--lr", options->lr, "Rate or schedule");
  command->add_option("--alpha", options->alpha, "Rate of A");
  command->add_option("--beta", options->beta, "Rate of b");
  command->add_option("--decay", options->decay, "Factor of the rates a pass over the data");
  command->add_option("--option", options->options,
                      "NAME=VALUE: any other option of the optimizer");
  command->add_option("--lambda", options->lambda, "lambda/2 |w|^2 of the trained weights is added")
      ->check(number(0, kMostNumber))
      ->capture_default_str();
  command->add_option("--clip", options->train.clip, "Longest gradient; 0 is no limit")
      ->check(number(0, kMostNumber))
      ->capture_default_str();
  command->add_option("--steps", options->steps, "0 only shows what the model writes")
      ->check(whole(0, kMostCount))
      ->capture_default_str();
  command
      ->add_option("--measure-every", options->measure_every,
                   "Steps between measurements of the losses; 0 is a tenth of all")
      ->check(whole(0, kMostCount));
  command
      ->add_option("--measured", options->train.measured_samples,
                   "Samples of each part that are measured; 0 is all")
      ->check(whole(0, kMostCount));
  command->add_option("--prompt", options->prompts,
                      "What the model is asked before and after; else two of the samples held out");
  command->add_option("--tokens", options->tokens, "Most tokens of an answer")
      ->check(whole(0, kMostCount))
      ->capture_default_str();
  command->add_option("--checkpoint", options->checkpoint,
                      "Save after each measurement to this file, and go on from it if it is there");
  command->add_option("--out", options->out, "Safetensors file for the changed weights");
  command->add_option("--merge", options->merge, "New folder for the whole model with the changes");
  command->add_option("--store", options->record.store,
                      "Run store for the losses; `tandem report` shows it");
  command->add_option("--name", options->record.name, "Of the study in the store")
      ->capture_default_str();
  command->add_option("--label", options->record.label,
                      "Of this run in the study; else the optimizer's name");
  command->callback([options, &common, &job] {
    job = [options, &common] { return Finetune(*options, common).run(); };
  });
}

}  // namespace tandem::cli
