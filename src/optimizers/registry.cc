// SPDX-License-Identifier: MIT
// The optimizer classes and their names. A new rule is a block in rules.h and an entry here.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tandem/optimizers.h>
#include <tandem/registry.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/suggest.h"
#include "optimizers/full.h"
#include "optimizers/rules.h"
#include "optimizers/stepper.h"
#include "optimizers/visitors.h"

namespace tandem {
namespace {

template <class Options>
detail::Recipe make_recipe(const char* name, const std::vector<SegmentSpec>& segments,
                           const Options& given) {
  Options options = given;
  rules::CheckFields check(name);
  rules::fields(options, check);
  auto [estimator, scaling] = rules::stages(options);
  return {.name = name,
          .segments = segments,
          .estimator = std::move(estimator),
          .scaling = scaling,
          .lr = options.lr,
          .decay = options.decay,
          .l2 = options.l2,
          .weight_decay = options.weight_decay,
          .projection = options.projection,
          .on_nonfinite = options.on_nonfinite};
}

std::vector<SegmentSpec> one_segment(std::size_t dimension) { return {SegmentSpec{dimension}}; }

using Make =
    std::function<std::unique_ptr<Optimizer>(const std::vector<SegmentSpec>&, const OptionMap&)>;
struct Entry {
  OptimizerInfo info;
  Make make;
};

template <class Rule, class Options>
Entry entry(const std::string& name, std::string class_name, std::string rule, std::string state,
            std::string reference) {
  OptimizerInfo info;
  info.name = name;
  info.class_name = std::move(class_name);
  info.rule = std::move(rule);
  info.state = std::move(state);
  info.reference = std::move(reference);
  Options defaults;
  rules::ListFields list;
  rules::fields(defaults, list);
  info.options = list.take();
  info.trainable = requires(Options o) { o.alpha; };
  return {std::move(info), [name](const std::vector<SegmentSpec>& segments, const OptionMap& map) {
            Options options;
            for (const auto& [key, text] : map) {
              std::string field = key;
              std::replace(field.begin(), field.end(), '-', '_');
              rules::SetField set(name, field, text);
              rules::fields(options, set);
              set.finish();
            }
            return std::make_unique<Rule>(segments, options);
          }};
}

const char* const kPaper = "Wang and Klabjan, A Trainable Optimizer";

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = {
      entry<FullTO, FullTOOptions>(
          "full-to", "FullTO", "r = g - A w - b; A += alpha r w'; b += beta r; w -= lr (A w + b)",
          "4 (d^2 + d) dense; 4 t d + 8 t^2 at step t as span", kPaper),
      entry<DiagonalTO, DiagonalTOOptions>(
          "diag-to", "DiagonalTO",
          "r = g - a*w - b; a += alpha r*w; b += beta r; w -= lr (a*w + b)", "8 d", kPaper),
      entry<RankOneTO, RankOneTOOptions>(
          "ro-to", "RankOneTO",
          "r = g - a c.w - b; a += alpha (c.w) r; c += alpha (r.a) w; "
          "b += beta r; w -= lr (a c.w + b)",
          "12 d", kPaper),
      entry<BlockTO, BlockTOOptions>("block-to", "BlockTO", "full-to on each block of coordinates",
                                     "4 (block + 1) d", "this project"),
      entry<AdamTO, AdamTOOptions>("adam-to", "AdamTO",
                                   "G as in diag-to; v as in adam; w -= lr G / (sqrt(v) + eps)",
                                   "12 d", "this project"),
      entry<SGD, SGDOptions>("sgd", "SGD", "w -= lr g", "0", "Robbins and Monro 1951"),
      entry<Momentum, MomentumOptions>("momentum", "Momentum", "b = m b + (1 - m) g; w -= lr b",
                                       "4 d", "Polyak 1964"),
      entry<Nesterov, NesterovOptions>("nesterov", "Nesterov", "b = m b + g; w -= lr (g + m b)",
                                       "4 d", "Nesterov 1983; Sutskever et al. 2013"),
      entry<Adagrad, AdagradOptions>("adagrad", "Adagrad", "v += g^2; w -= lr g / (sqrt(v) + eps)",
                                     "4 d", "Duchi, Hazan and Singer 2011"),
      entry<RMSProp, RMSPropOptions>("rmsprop", "RMSProp",
                                     "v = b2 v + (1 - b2) g^2; w -= lr g / (sqrt(v) + eps)", "4 d",
                                     "Hinton 2012"),
      entry<Adam, AdamOptions>(
          "adam", "Adam", "m, v averages of g, g^2, bias-corrected; w -= lr m / (sqrt(v) + eps)",
          "8 d", "Kingma and Ba 2014"),
      entry<AdamW, AdamWOptions>("adamw", "AdamW", "adam, and w -= lr weight_decay w", "8 d",
                                 "Loshchilov and Hutter 2017"),
      entry<Lion, LionOptions>("lion", "Lion",
                               "w -= lr sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g", "4 d",
                               "Chen et al. 2023"),
  };
  return kEntries;
}

/// Methods of the laboratory: a source of gradients with a rule.
const std::vector<std::string> kMethods = {"saga", "svrg", "storm", "vradam"};

[[noreturn]] void unknown_optimizer(std::string_view name) {
  const std::string base(name.substr(0, name.find('+')));
  if (std::find(kMethods.begin(), kMethods.end(), base) != kMethods.end()) {
    throw std::invalid_argument(fmt::format(
        "Optimizer '{}' needs a problem, not only a gradient: it evaluates gradients of its own",
        name));
  }
  std::vector<std::string> known;
  for (const Entry& entry : entries()) known.push_back(entry.info.name);
  throw std::invalid_argument(
      fmt::format("Unknown optimizer '{}'{}", name, suggestion(name, known)));
}

}  // namespace

#define TANDEM_RULE(Class, name)                                                        \
  Class::Class(std::size_t dimension, const Class##Options& options)                    \
      : Class(one_segment(dimension), options) {}                                       \
  Class::Class(const std::vector<SegmentSpec>& segments, const Class##Options& options) \
      : Optimizer(make_recipe(name, segments, options)) {}

TANDEM_RULE(FullTO, "full-to")
TANDEM_RULE(DiagonalTO, "diag-to")
TANDEM_RULE(RankOneTO, "ro-to")
TANDEM_RULE(BlockTO, "block-to")
TANDEM_RULE(AdamTO, "adam-to")
TANDEM_RULE(SGD, "sgd")
TANDEM_RULE(Momentum, "momentum")
TANDEM_RULE(Nesterov, "nesterov")
TANDEM_RULE(Adagrad, "adagrad")
TANDEM_RULE(RMSProp, "rmsprop")
TANDEM_RULE(Adam, "adam")
TANDEM_RULE(AdamW, "adamw")
TANDEM_RULE(Lion, "lion")
#undef TANDEM_RULE

namespace {

FormInfo current_form(const detail::Stepper& stepper) {
  if (const auto* engine = std::get_if<detail::Stepper::FloatEngine>(&stepper.engine())) {
    return form_info((*engine)->estimator());
  }
  if (const auto* engine = std::get_if<detail::Stepper::DoubleEngine>(&stepper.engine())) {
    return form_info((*engine)->estimator());
  }
  return planned_form(stepper.recipe(), stepper.layout().dimension(), sizeof(float));
}

}  // namespace

Form FullTO::form() const { return current_form(stepper()).form; }
std::string FullTO::form_reason() const { return current_form(stepper()).reason; }
std::size_t FullTO::most_bytes(std::size_t steps) const {
  const double bytes = tandem::most_bytes(stepper().recipe(), dimension(), steps, sizeof(float),
                                          stepper().executor().threads());
  constexpr double kMost = 0x1p63;  // so that others can be added to it
  return static_cast<std::size_t>(std::min(bytes, kMost));
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          const std::vector<SegmentSpec>& segments,
                                          const OptionMap& options) {
  for (const Entry& entry : entries()) {
    if (entry.info.name == name) return entry.make(segments, options);
  }
  unknown_optimizer(name);
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, std::size_t dimension,
                                          const OptionMap& options) {
  return make_optimizer(name, one_segment(dimension), options);
}

const std::vector<OptimizerInfo>& optimizer_infos() {
  static const std::vector<OptimizerInfo> kInfos = [] {
    std::vector<OptimizerInfo> infos;
    for (const Entry& entry : entries()) infos.push_back(entry.info);
    return infos;
  }();
  return kInfos;
}

}  // namespace tandem
