// SPDX-License-Identifier: MIT
#include "study/study_file.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/suggest.h"
#include "data/recipe.h"
#include "models/make_problem.h"
#include "sources/source.h"

namespace tandem::study {
namespace {

using Json = nlohmann::ordered_json;

// Of one optimizer: a thousand times the paper's would be a mistake.
constexpr std::size_t kMostSettings = 100'000;

const std::set<std::string> kNotOptions{"name", "label", "baseline", "part_of", "ablation"};

/// Reads one table of the file; every key must be asked for, or finish() refuses it.
class Section {
 public:
  Section(const toml::table& table, std::string file, std::string name)
      : table_(table), file_(std::move(file)), name_(std::move(name)) {}

  std::invalid_argument error(const toml::node& at, const std::string& what) const {
    return std::invalid_argument(
        fmt::format("{}:{}: {}{}", file_, at.source().begin.line, name_, what));
  }
  std::invalid_argument error(const std::string& what) const { return error(table_, what); }

  const toml::node* find(const std::string& key) {
    known_.insert(key);
    return table_.get(key);
  }

  template <class T>
  T value(const std::string& key, T fallback, const char* expected) {
    const toml::node* node = find(key);
    return node == nullptr ? fallback : value_of<T>(*node, key, expected);
  }

  template <class T>
  T value_of(const toml::node& node, const std::string& key, const char* expected) const {
    const auto value = node.value<T>();
    // toml++ would read `true` as 1.
    const bool kind = std::is_same_v<T, bool>          ? node.is_boolean()
                      : std::is_same_v<T, std::string> ? node.is_string()
                      : std::is_same_v<T, double>      ? node.is_number()
                                                       : node.is_integer();
    if (!kind || !value) throw expected_error(node, key, expected);
    return *value;
  }

  std::invalid_argument expected_error(const toml::node& node, const std::string& key,
                                       const std::string& expected) const {
    std::ostringstream found;
    node.visit([&](const auto& inner) { found << inner; });
    return error(node, fmt::format("Invalid {}: {}, expected {}", key, found.str(), expected));
  }

  std::uint64_t count(const std::string& key, std::uint64_t fallback, std::uint64_t least) {
    const toml::node* node = find(key);
    return node == nullptr ? fallback : count_of(*node, key, least);
  }

  std::uint64_t count_of(const toml::node& node, const std::string& key,
                         std::uint64_t least) const {
    const std::string expected = fmt::format("a whole number of at least {}", least);
    const auto found = value_of<std::int64_t>(node, key, expected.c_str());
    if (found < 0 || static_cast<std::uint64_t>(found) < least) {
      throw expected_error(node, key, expected);
    }
    return static_cast<std::uint64_t>(found);
  }

  std::string choice(const std::string& key, const std::vector<std::string>& choices) {
    const toml::node* node = find(key);
    if (node == nullptr) return choices.front();
    auto found = value_of<std::string>(*node, key, "text");
    if (std::find(choices.begin(), choices.end(), found) == choices.end()) {
      throw expected_error(*node, key, fmt::format("{}", fmt::join(choices, " or ")));
    }
    return found;
  }

  /// One value or a list of them.
  std::vector<const toml::node*> list(const std::string& key) {
    std::vector<const toml::node*> nodes;
    const toml::node* node = find(key);
    if (node == nullptr) return nodes;
    if (const toml::array* array = node->as_array()) {
      for (const toml::node& each : *array) nodes.push_back(&each);
      if (nodes.empty()) throw error(*node, fmt::format("Invalid {}: an empty list", key));
    } else {
      nodes.push_back(node);
    }
    return nodes;
  }

  /// The value as an optimizer reads it.
  std::string text_of(const toml::node& node, const std::string& key) const {
    if (const auto text = node.as_string()) return text->get();
    if (const auto flag = node.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto whole = node.as_integer()) return fmt::format("{}", whole->get());
    if (const auto number = node.as_floating_point(); number && std::isfinite(number->get())) {
      return fmt::format("{}", number->get());
    }
    throw expected_error(node, key, "a number, text, true or false");
  }

  const toml::table& table() const { return table_; }
  void know(const std::string& key) { known_.insert(key); }

  /// What `work` says against the value of a key, with its line.
  template <class Work>
  void check(const std::string& key, Work work) {
    try {
      work();
    } catch (const std::invalid_argument& refusal) {
      const toml::node* node = find(key);
      throw node == nullptr ? error(refusal.what()) : error(*node, refusal.what());
    }
  }

  void finish() const {
    const std::vector<std::string> known(known_.begin(), known_.end());
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (!known_.contains(name)) {
        throw error(node, fmt::format("Unknown key '{}'{}", name, suggestion(name, known)));
      }
    }
  }

 private:
  const toml::table& table_;
  std::string file_;
  std::string name_;
  std::set<std::string> known_;
};

/// The tables of an array of tables: [[task]] once each.
std::vector<Section> sections(Section& top, const std::string& key, const std::string& file) {
  const toml::node* node = top.find(key);
  if (node == nullptr)
    throw top.error(fmt::format("Missing [[{}]]: a study has at least one", key));
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty()) {
    throw top.error(*node, fmt::format("Invalid {}, expected [[{}]] and its keys below", key, key));
  }
  std::vector<Section> found;
  for (const toml::node& each : *array) {
    const toml::table* table = each.as_table();
    if (table == nullptr) {
      throw top.error(each,
                      fmt::format("Invalid {}, expected [[{}]] and its keys below", key, key));
    }
    found.emplace_back(*table, file, fmt::format("[[{}]] {}: ", key, found.size() + 1));
  }
  return found;
}

/// The least data set there is: what names and options are tried on.
std::shared_ptr<const data::Task> tiny_data() {
  static const auto kData =
      std::make_shared<const data::Task>(data::load_task("synthetic:rows=4,features=2,seed=1", {}));
  return kData;
}

/// Adds a task for each lambda; `names` are those of all tasks.
void read_task(Section& section, std::vector<TaskSpec>& tasks, std::set<std::string>& names) {
  TaskSpec task;
  task.data = section.value<std::string>("data", "", "the name of a data set");
  if (task.data.empty()) throw section.error("Missing data: the name of a data set");
  task.model = section.value<std::string>("model", task.model, "the name of a model");
  // Names are checked here, where the line is known; files and options when the data are read.
  section.check("data", [&] { data::find_recipe(task.data); });
  section.check("model", [&] { models::check_model(task.model); });
  task.loss = problems::parse_loss(section.choice("loss", problems::loss_names()));
  section.check("loss", [&] { models::check_loss(task.model, task.loss); });
  task.batch = section.count("batch", task.batch, 1);
  task.validation = section.value<double>("validation", 0, "a fraction below 1");
  if (!(task.validation >= 0 && task.validation < 1)) {
    throw section.expected_error(*section.find("validation"), "validation", "a fraction below 1");
  }
  task.init = section.choice("init", {"normal", "zeros"}) == "zeros" ? train::Init::zeros
                                                                     : train::Init::normal;
  task.shuffle = section.value<bool>("shuffle", true, "true or false");
  task.sampling = section.choice("sampling", {"epochs", "independent"}) == "independent"
                      ? train::Sampling::independent
                      : train::Sampling::epochs;
  if (const toml::node* node = section.find("options")) {
    const toml::table* table = node->as_table();
    if (table == nullptr) throw section.expected_error(*node, "options", "{ NAME = VALUE, ... }");
    for (const auto& [key, value] : *table) {
      task.data_options[std::string(key.str())] = section.text_of(value, std::string(key.str()));
    }
  }
  std::vector<double> lambdas;
  for (const toml::node* node : section.list("lambda")) {
    const auto lambda = section.value_of<double>(*node, "lambda", "a number of at least 0");
    if (!(lambda >= 0) || !std::isfinite(lambda)) {
      throw section.expected_error(*node, "lambda", "a number of at least 0");
    }
    lambdas.push_back(lambda + 0.0);  // -0 is 0
  }
  section.finish();
  if (lambdas.empty()) lambdas.push_back(0);
  for (const double lambda : lambdas) {
    task.lambda = lambda;
    if (!names.insert(task_name(task)).second) {
      throw section.error(fmt::format("Invalid task: '{}' is there twice", task_name(task)));
    }
    tasks.push_back(task);
  }
}

/// The optimizer that part_of names, among those above.
const OptimizerSpec& whole_of(Section& section, const std::string& label,
                              const std::vector<OptimizerSpec>& above) {
  std::vector<std::string> wholes;
  for (const OptimizerSpec& other : above) {
    if (!other.part_of.empty()) continue;
    if (other.label == label) return other;
    wholes.push_back(other.label);
  }
  throw section.error(*section.find("part_of"),
                      fmt::format("Invalid part_of: {}, expected the label of an optimizer above "
                                  "that has a grid of its own{}",
                                  label, suggestion(label, wholes)));
}

/// A part's grid: the whole one, with the values that the part names in place of all of them.
Grid part_grid(Section& section, const OptimizerSpec& whole, const Grid& named) {
  Grid grid = whole.grid;
  for (const auto& option : named) {
    const std::string& name = option.first;
    const std::vector<std::string>& values = option.second;
    const auto same = std::find_if(grid.begin(), grid.end(),
                                   [&](const auto& each) { return each.first == name; });
    for (const std::string& value : values) {
      if (same == grid.end() ||
          std::find(same->second.begin(), same->second.end(), value) == same->second.end()) {
        throw section.error(
            *section.find(name),
            fmt::format("Invalid {}: {} is not in the grid of {}", name, value, whole.label));
      }
    }
    same->second = values;
  }
  return grid;
}

OptimizerSpec read_optimizer(Section& section, const std::vector<OptimizerSpec>& above) {
  OptimizerSpec optimizer;
  optimizer.part_of = section.value<std::string>("part_of", "", "the label of an optimizer");
  const OptimizerSpec* whole =
      optimizer.part_of.empty() ? nullptr : &whole_of(section, optimizer.part_of, above);
  optimizer.method = section.value<std::string>("name", whole != nullptr ? whole->method : "",
                                                "the name of an optimizer");
  if (optimizer.method.empty()) throw section.error("Missing name: the name of an optimizer");
  section.check("name", [&] { sources::parse_method(optimizer.method); });
  if (whole != nullptr && whole->method != optimizer.method) {
    throw section.expected_error(*section.find("name"), "name",
                                 fmt::format("{}, as {} has it", whole->method, whole->label));
  }
  optimizer.label = section.value<std::string>("label", optimizer.method, "text");
  if (optimizer.label.empty()) throw section.error(*section.find("label"), "Invalid label: empty");
  optimizer.baseline = section.value<bool>("baseline", false, "true or false");
  optimizer.ablation = section.value<bool>("ablation", false, "true or false");
  // TOML's tables do not keep their order: rates first, then by name.
  std::vector<std::string> keys{"lr", "alpha", "beta", "decay"};
  for (const auto& [key, node] : section.table()) {
    const std::string name(key.str());
    if (kNotOptions.contains(name)) continue;
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) keys.push_back(name);
  }
  for (const std::string& key : keys) {
    std::vector<std::string> values;
    for (const toml::node* node : section.list(key)) {
      values.push_back(section.text_of(*node, key));
      if (std::count(values.begin(), values.end(), values.back()) > 1) {
        throw section.error(*node,
                            fmt::format("Invalid {}: {} is there twice", key, values.back()));
      }
    }
    if (!values.empty()) optimizer.grid.push_back({key, std::move(values)});
  }
  if (whole != nullptr) optimizer.grid = part_grid(section, *whole, optimizer.grid);
  return optimizer;
}

/// Every setting as the trainer would make it, on a problem of a few numbers, so that a wrong
/// option is found before hours of work.
void check_settings(const Section& section, const OptimizerSpec& optimizer, double lambda) {
  std::size_t settings = 1;
  for (const auto& [name, values] : optimizer.grid) {
    if (values.size() > kMostSettings / settings) {
      throw section.error(fmt::format("Invalid grid: more than {} settings", kMostSettings));
    }
    settings *= values.size();
  }
  const auto problem = models::make_problem("logistic", tiny_data(), lambda);
  try {
    train::TrainOptions options;
    options.batch = 1;
    const train::Trainer trainer(*problem, expand(optimizer.method, optimizer.grid), options,
                                 serial_executor());
  } catch (const std::invalid_argument& error) {
    throw section.error(error.what());
  }
}

}  // namespace

StudySpec parse_study(std::string_view text, const std::string& file) {
  toml::table table;
  try {
    table = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw std::invalid_argument(fmt::format("{}:{}: {}", file, error.source().begin.line,
                                            std::string(error.description())));
  }
  Section top(table, file, "");
  StudySpec study;
  study.name = top.value<std::string>("name", std::filesystem::path(file).stem().string(), "text");
  if (study.name.empty()) throw top.error(*top.find("name"), "Invalid name: it is empty");
  study.epochs = top.count("epochs", study.epochs, 1);
  if (study.epochs > kMostEpochs) {
    throw top.expected_error(*top.find("epochs"), "epochs", fmt::format("at most {}", kMostEpochs));
  }
  study.tune_seed = top.count("tune_seed", study.tune_seed, 0);
  if (const auto nodes = top.list("seeds"); !nodes.empty()) {
    study.seeds.clear();
    for (const toml::node* node : nodes) {
      const std::uint64_t seed = top.count_of(*node, "seeds", 0);
      if (seed == study.tune_seed) {
        throw top.error(*node,
                        fmt::format("Invalid seeds: {} is the tuning seed; what is tuned on a seed "
                                    "is measured on others",
                                    seed));
      }
      if (std::find(study.seeds.begin(), study.seeds.end(), seed) != study.seeds.end()) {
        throw top.error(*node, fmt::format("Invalid seeds: {} is there twice", seed));
      }
      study.seeds.push_back(seed);
    }
  } else if (std::find(study.seeds.begin(), study.seeds.end(), study.tune_seed) !=
             study.seeds.end()) {
    throw top.error(fmt::format("Invalid tune_seed: {} is one of the seeds (1 to 5 unless given)",
                                study.tune_seed));
  }
  study.prune = top.count("prune", 0, 0);
  if (study.prune == 1) {
    throw top.expected_error(*top.find("prune"), "prune", "0 (keep all settings) or 2 and more");
  }
  study.diagnose = top.value<bool>("diagnose", false, "true or false");
  study.measure_all = top.choice("measure", {"best", "all"}) == "all";
  if (study.measure_all && study.prune != 0) {
    throw top.error(*top.find("measure"),
                    "Invalid measure: all, and a pruned grid is not trained "
                    "to its end");
  }
  study.optimum = top.value<bool>("optimum", true, "true or false");
  top.know("task");
  top.know("optimizer");
  top.finish();
  std::set<std::string> names;
  for (Section& section : sections(top, "task", file)) read_task(section, study.tasks, names);
  double lambda = 0;  // any that is not 0: an optimizer's own l2 is then one too many
  for (const TaskSpec& task : study.tasks) lambda = std::max(lambda, task.lambda);
  std::size_t baselines = 0;
  for (Section& section : sections(top, "optimizer", file)) {
    OptimizerSpec optimizer = read_optimizer(section, study.optimizers);
    if (!optimizer.part_of.empty() && study.prune != 0) {
      throw section.error(*section.find("part_of"),
                          "Invalid part_of: the grid is pruned, and a part of it with the whole");
    }
    for (const OptimizerSpec& other : study.optimizers) {
      if (other.label == optimizer.label) {
        throw section.error(
            fmt::format("Invalid optimizer: '{}' is there twice; give one of them another label",
                        optimizer.label));
      }
    }
    baselines += optimizer.baseline ? 1 : 0;
    if (baselines > 1) throw section.error("Invalid baseline: there is one already");
    check_settings(section, optimizer, lambda);
    study.optimizers.push_back(std::move(optimizer));
  }
  return study;
}

StudySpec read_study(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) {
    throw std::invalid_argument(
        fmt::format("{}: cannot be read, expected a study file (TOML)", file.string()));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_study(text.str(), file.string());
}

std::string task_name(const TaskSpec& task) {
  std::string name = task.data;
  for (const auto& [key, value] : task.data_options) name += fmt::format(" {}={}", key, value);
  name += fmt::format(" {} lambda={} batch={}", task.model, task.lambda, task.batch);
  if (task.validation != 0) name += fmt::format(" validation={}", task.validation);
  if (task.init == train::Init::zeros) name += " init=zeros";
  if (!task.shuffle) name += " shuffle=off";
  if (task.sampling == train::Sampling::independent) name += " sampling=independent";
  if (task.loss != problems::Loss::cross_entropy) {
    name += fmt::format(" loss={}", problems::loss_name(task.loss));
  }
  return name;
}

std::string canonical_text(const StudySpec& study) {
  std::string text = "{\n";
  const auto line = [&](const char* key, const Json& value) {
    text += fmt::format("\"{}\": {},\n", key, value.dump());
  };
  line("name", study.name);
  line("epochs", study.epochs);
  line("tune_seed", study.tune_seed);
  line("seeds", study.seeds);
  line("prune", study.prune);
  line("diagnose", study.diagnose);
  line("optimum", study.optimum);
  if (study.measure_all) line("measure", "all");
  // Commas stand in front, so that what is added at the end changes no line before it.
  text += "\"tasks\": [\n";
  for (const TaskSpec& task : study.tasks) {
    const char* comma = &task == &study.tasks.front() ? " " : ",";
    text += fmt::format("{}{}\n", comma, Json(task_name(task)).dump());
  }
  text += "],\n\"optimizers\": [\n";
  for (const OptimizerSpec& optimizer : study.optimizers) {
    const char* comma = &optimizer == &study.optimizers.front() ? " " : ",";
    text += fmt::format("{}{{\"label\": {}, \"method\": {}, \"baseline\": {}", comma,
                        Json(optimizer.label).dump(), Json(optimizer.method).dump(),
                        optimizer.baseline);
    if (!optimizer.part_of.empty()) {
      text += fmt::format(", \"part_of\": {}", Json(optimizer.part_of).dump());
    }
    if (optimizer.ablation) text += ", \"ablation\": true";
    text += ", \"grid\": {\n";
    for (const auto& option : optimizer.grid) {
      const char* mark = &option == &optimizer.grid.front() ? " " : ",";
      text +=
          fmt::format("{}{}: {}\n", mark, Json(option.first).dump(), Json(option.second).dump());
    }
    text += "}}\n";
  }
  return text + "]\n}";
}

std::vector<OptimizerSpec> optimizers_of(std::string_view canonical) {
  const Json study = Json::parse(canonical, nullptr, /*allow_exceptions=*/false);
  std::vector<OptimizerSpec> optimizers;
  if (!study.is_object() || !study.contains("optimizers")) return optimizers;
  for (const Json& json : study.at("optimizers")) {
    OptimizerSpec optimizer{.label = json.at("label"),
                            .method = json.at("method"),
                            .baseline = json.at("baseline"),
                            .part_of = json.value("part_of", ""),
                            .ablation = json.value("ablation", false),
                            .grid = {}};
    for (const auto& [name, values] : json.at("grid").items()) {
      optimizer.grid.emplace_back(name, values.get<std::vector<std::string>>());
    }
    optimizers.push_back(std::move(optimizer));
  }
  return optimizers;
}

bool in_grid(const Grid& grid, const OptionMap& options) {
  return std::all_of(grid.begin(), grid.end(), [&](const auto& option) {
    const auto found = options.find(option.first);
    return found != options.end() && std::find(option.second.begin(), option.second.end(),
                                               found->second) != option.second.end();
  });
}

}  // namespace tandem::study
