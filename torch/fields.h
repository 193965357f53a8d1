// SPDX-License-Identifier: MIT
// What is done with options field by field: fill them up from the optimizer's, compare them, hand
// them to the library, write them to an archive.
#pragma once

#include <tandem/registry.h>
#include <tandem/torch/optimizer.h>
#include <tandem/torch/options.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tandem::optim::detail {

/// The value of an option that is an enum, whatever its type.
struct Choice {
  std::size_t index = 0;
  std::span<const char* const> names;

  const char* name() const { return names[index]; }
};

/// Such an option.
class ChoiceOption {
 public:
  using Value = Choice;

  template <class E>
  explicit ChoiceOption(Option<E>& option)
      : option_(&option),
        get_([](void* of) {
          static constexpr auto kNames = names_of(E{});
          return Choice{static_cast<std::size_t>(as<E>(of).get()), kNames};
        }),
        give_([](void* of, std::size_t index) { as<E>(of).give(static_cast<E>(index)); }),
        given_([](void* of) { return as<E>(of).given(); }) {}

  Choice get() const { return get_(option_); }
  void give(const Choice& value) { give_(option_, value.index); }
  bool given() const { return given_(option_); }

 private:
  template <class E>
  static Option<E>& as(void* of) {
    return *static_cast<Option<E>*>(of);
  }

  void* option_;
  Choice (*get_)(void*);
  void (*give_)(void*, std::size_t);
  bool (*given_)(void*);
};

/// Called with each field of an options class: its name, and what the library calls it (`core`), or
/// "" where only the adapter knows it.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(const char* name, const char* core, Option<double>& option) = 0;
  virtual void field(const char* name, const char* core, Option<bool>& option) = 0;
  virtual void field(const char* name, const char* core, Option<std::uint64_t>& option) = 0;
  virtual void field(const char* name, const char* core, Option<Betas>& option) = 0;
  virtual void field(const char* name, const char* core, ChoiceOption& option) = 0;
  /// A field that schedulers move: the library changes it in a step at next to no cost.
  virtual void rate(const char* name, const char* core, Option<double>& option) {
    field(name, core, option);
  }
  template <class E>
  requires std::is_enum_v<E>
  void field(const char* name, const char* core, Option<E>& option) {
    ChoiceOption choice(option);
    field(name, core, choice);
  }
};

/// A rule: its options with every field as the library has it, and an optimizer.
struct Kind {
  std::unique_ptr<Options> (*options)();
  std::unique_ptr<Optimizer> (*optimizer)(std::vector<torch::optim::OptimizerParamGroup> groups,
                                          const Options& options);
};
/// By name: "diag-to".
const std::map<std::string, Kind>& kinds();

/// Gives every field of `options` that was not given the value of `defaults`, which is of the same
/// type; all count as given then. Schedulers count from its rate as it is now.
void fill_up(Options& options, const Options& defaults);

/// Names and values of all fields as text.
std::map<std::string, std::string> to_text(const Options& options);
/// The inverse; throws StateError for a field that is missing, unknown or cannot be read.
void from_text(Options& options, const std::map<std::string, std::string>& text);

/// What schedulers move, as the library takes it: where lr moves alpha and beta too, they have moved.
/// A rate that a rule does not have is not set.
struct Rates {
  double lr = 0;
  std::optional<double> alpha = std::nullopt;
  std::optional<double> beta = std::nullopt;
  std::optional<double> l2 = std::nullopt;
  std::optional<double> weight_decay = std::nullopt;

  friend bool operator==(const Rates&, const Rates&) = default;
};

/// Values of all options, to compare with those of the step before.
struct Snapshot {
  Rates rates;
  std::vector<std::uint64_t> others;
};
/// Fills a snapshot, whose memory is used again.
void look_at(const Options& options, Snapshot& snapshot);

/// What the adapter itself needs to know.
struct Settings {
  OptionMap core;  // all but rates and on_nonfinite
  Rates rates;
  OnNonFinite on_nonfinite = OnNonFinite::raise;
  Rounding rounding;
  Scope scope = Scope::tensor;
};
/// Rates and the rest of the core's options as texts, without on_nonfinite.
OptionMap core_options(const Settings& settings);
Settings settings_of(const Options& options);

}  // namespace tandem::optim::detail
