// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tandem/errors.h>
#include <tandem/torch/options.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "fields.h"

namespace tandem::optim {

// ---- The fields that rules share; rules.cc has the others ------------------------------------------

void Options::visit_common(detail::FieldVisitor& visitor) {
  visitor.rate("lr", "lr", lr_);
  visitor.field("on_nonfinite", "", on_nonfinite_);
  visitor.field("stochastic_rounding", "", stochastic_rounding_);
  visitor.field("seed", "", seed_);
}

void Options::visit_trainable(detail::FieldVisitor& visitor) {
  visit_common(visitor);
  visitor.rate("weight_decay", "weight_decay", weight_decay_);
  visitor.rate("alpha", "alpha", alpha_);
  visitor.rate("beta", "beta", beta_);
  visitor.rate("l2", "l2", l2_);
  visitor.field("normalize", "normalize", normalize_);
  visitor.field("normalize_eps", "normalize_eps", normalize_eps_);
  visitor.field("schedule_all", "", schedule_all_);
  visitor.field("first_lr", "", first_lr_);
}

// ---- Texts ---------------------------------------------------------------------------------------

namespace detail {
namespace {

template <class T>
std::string text_of_value(const T& value) {
  if constexpr (std::is_same_v<T, Betas>) {
    return fmt::format("{},{}", std::get<0>(value), std::get<1>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, Choice>) {
    return value.name();
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

template <class T>
bool read_value(const std::string& text, T& value) {
  if constexpr (std::is_same_v<T, Betas>) {
    const std::size_t comma = text.find(',');
    return comma != std::string::npos &&
           read_number(std::string_view(text).substr(0, comma), std::get<0>(value)) &&
           read_number(std::string_view(text).substr(comma + 1), std::get<1>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    value = text == "true";
    return value || text == "false";
  } else if constexpr (std::is_same_v<T, Choice>) {
    const auto found = std::find(value.names.begin(), value.names.end(), text);
    value.index = static_cast<std::size_t>(found - value.names.begin());
    return found != value.names.end();
  } else {
    return read_number(text, value);
  }
}

/// Hands fields of all types, an Option<T> or a ChoiceOption, to one generic function of Derived, `any`.
template <class Derived>
class AnyField : public FieldVisitor {
 public:
  void field(const char* name, const char* core, Option<double>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, Option<bool>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, Option<std::uint64_t>& o) override {
    go(name, core, o);
  }
  void field(const char* name, const char* core, Option<Betas>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, ChoiceOption& o) override { go(name, core, o); }

 private:
  template <class AnyOption>
  void go(const char* name, const char* core, AnyOption& option) {
    static_cast<Derived*>(this)->any(name, core, option);
  }
};

class Collect : public AnyField<Collect> {
 public:
  template <class AnyOption>
  void any(const char* name, const char*, AnyOption& option) {
    text[name] = text_of_value(option.get());
  }
  std::map<std::string, std::string> text;
};

/// What the library calls each field.
class CoreNames : public AnyField<CoreNames> {
 public:
  template <class AnyOption>
  void any(const char* name, const char* core, AnyOption&) {
    of[name] = core;
  }
  std::map<std::string, std::string> of;
};

class Assign : public AnyField<Assign> {
 public:
  explicit Assign(const std::map<std::string, std::string>& text) : text_(text) {}

  template <class AnyOption>
  void any(const char* name, const char*, AnyOption& option) {
    using T = typename AnyOption::Value;
    const auto found = text_.find(name);
    if (found == text_.end()) {
      throw StateError(fmt::format("Invalid state: option '{}' is missing", name));
    }
    T value = option.get();
    if (!read_value(found->second, value)) {
      throw StateError(fmt::format("Invalid state: option '{}' is '{}', which cannot be read", name,
                                   found->second));
    }
    option.give(value);
    ++read_;
  }
  void finish() const {
    if (read_ != text_.size()) {
      throw StateError(fmt::format("Invalid state: {} options, expected {}", text_.size(), read_));
    }
  }

 private:
  const std::map<std::string, std::string>& text_;
  std::size_t read_ = 0;
};

/// Gives what was not given.
class FillUp : public AnyField<FillUp> {
 public:
  explicit FillUp(std::map<std::string, std::string> defaults) : defaults_(std::move(defaults)) {}

  template <class AnyOption>
  void any(const char* name, const char*, AnyOption& option) {
    using T = typename AnyOption::Value;
    T value = option.get();
    // Where a scheduler counts from is a group's own.
    if (!option.given() && std::string_view(name) != "first_lr") {
      read_value(defaults_.at(name), value);
    }
    option.give(value);
  }

 private:
  std::map<std::string, std::string> defaults_;
};

/// Reads what schedulers move; other fields go to Derived.
template <class Derived>
class ReadRates : public AnyField<Derived> {
 public:
  void rate(const char* /*name*/, const char* core, Option<double>& option) override {
    const std::string_view rate = core;
    if (rate == "lr") rates_.lr = option.get();
    if (rate == "alpha") rates_.alpha = option.get();
    if (rate == "beta") rates_.beta = option.get();
    if (rate == "l2") rates_.l2 = option.get();
    if (rate == "weight_decay") rates_.weight_decay = option.get();
  }
  template <class AnyOption>
  void any(const char* name, const char* core, AnyOption& option) {
    using T = typename AnyOption::Value;
    const std::string_view field = name;
    if constexpr (std::is_same_v<T, double>) {
      if (field == "first_lr") {
        first_lr_ = option.get();
        return;
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      if (field == "schedule_all") schedule_all_ = option.get();
    }
    static_cast<Derived*>(this)->other(name, core, option);
  }

  Rates rates() const {
    Rates rates = rates_;
    if (schedule_all_ && first_lr_ > 0) {
      const double factor = rates.lr / first_lr_;
      *rates.alpha *= factor;
      *rates.beta *= factor;
    }
    return rates;
  }

 private:
  Rates rates_;
  double first_lr_ = 0;
  bool schedule_all_ = false;
};

class LookAt : public ReadRates<LookAt> {
 public:
  explicit LookAt(std::vector<std::uint64_t>& others) : others_(others) { others_.clear(); }

  template <class AnyOption>
  void other(const char*, const char*, AnyOption& option) {
    using T = typename AnyOption::Value;
    if constexpr (std::is_same_v<T, Betas>) {
      others_.push_back(std::bit_cast<std::uint64_t>(std::get<0>(option.get())));
      others_.push_back(std::bit_cast<std::uint64_t>(std::get<1>(option.get())));
    } else if constexpr (std::is_same_v<T, double>) {
      others_.push_back(std::bit_cast<std::uint64_t>(option.get()));
    } else if constexpr (std::is_same_v<T, Choice>) {
      others_.push_back(option.get().index);
    } else {
      others_.push_back(static_cast<std::uint64_t>(option.get()));
    }
  }

 private:
  std::vector<std::uint64_t>& others_;
};

class ForCore : public ReadRates<ForCore> {
 public:
  template <class AnyOption>
  void other(const char* name, const char* core, AnyOption& option) {
    using T = typename AnyOption::Value;
    const std::string_view field = name;
    if constexpr (std::is_same_v<T, Betas>) {
      settings.core["beta1"] = text_of_value(std::get<0>(option.get()));
      settings.core["beta2"] = text_of_value(std::get<1>(option.get()));
    } else {
      if (*core != '\0') settings.core[core] = text_of_value(option.get());
    }
    if constexpr (std::is_same_v<T, bool>) {
      if (field == "stochastic_rounding") settings.rounding.stochastic = option.get();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (field == "seed") settings.rounding.seed = option.get();
    } else if constexpr (std::is_same_v<T, Choice>) {
      if (field == "on_nonfinite") {
        settings.on_nonfinite = static_cast<OnNonFinite>(option.get().index);
      }
      if (field == "scope") settings.scope = static_cast<Scope>(option.get().index);
    }
  }

  Settings settings;
};

/// Visiting reads only, but for the visitors that say otherwise.
Options& visitable(const Options& options) { return const_cast<Options&>(options); }

class RememberFirstLr : public AnyField<RememberFirstLr> {
 public:
  explicit RememberFirstLr(double lr) : lr_(lr) {}
  template <class AnyOption>
  void any(const char* name, const char*, AnyOption& option) {
    using T = typename AnyOption::Value;
    if constexpr (std::is_same_v<T, double>) {
      if (std::string_view(name) == "first_lr" && option.get() == 0) option.give(lr_);
    }
  }

 private:
  double lr_;
};

}  // namespace

void fill_up(Options& options, const Options& defaults) {
  FillUp fill(to_text(defaults));
  options.visit(fill);
  RememberFirstLr remember(options.get_lr());
  options.visit(remember);
}

std::map<std::string, std::string> to_text(const Options& options) {
  Collect collect;
  visitable(options).visit(collect);
  return std::move(collect.text);
}

void from_text(Options& options, const std::map<std::string, std::string>& text) {
  Assign assign(text);
  options.visit(assign);
  assign.finish();
}

void look_at(const Options& options, Snapshot& snapshot) {
  LookAt fields(snapshot.others);
  visitable(options).visit(fields);
  snapshot.rates = fields.rates();
}

Settings settings_of(const Options& options) {
  ForCore fields;
  visitable(options).visit(fields);
  fields.settings.rates = fields.rates();
  return std::move(fields.settings);
}

OptionMap core_options(const Settings& settings) {
  OptionMap options = settings.core;
  const Rates& rates = settings.rates;
  options["lr"] = text_of_value(rates.lr);
  if (rates.alpha) options["alpha"] = text_of_value(*rates.alpha);
  if (rates.beta) options["beta"] = text_of_value(*rates.beta);
  if (rates.l2) options["l2"] = text_of_value(*rates.l2);
  if (rates.weight_decay) options["weight_decay"] = text_of_value(*rates.weight_decay);
  return options;
}

}  // namespace detail

// ---- Archives ------------------------------------------------------------------------------------

void Options::serialize(torch::serialize::OutputArchive& archive) const {
  for (const auto& [name, text] : detail::to_text(*this)) {
    archive.write(name, c10::IValue(text));
  }
}

void Options::serialize(torch::serialize::InputArchive& archive) {
  std::map<std::string, std::string> text;
  detail::CoreNames names;
  visit(names);
  for (const auto& [name, core] : names.of) {
    c10::IValue value;
    // Archives of version 1 have RMSProp's alpha under the library's name.
    const bool found =
        archive.try_read(name, value) || (!core.empty() && archive.try_read(core, value));
    if (found && value.isString()) text[name] = value.toStringRef();
  }
  detail::from_text(*this, text);
}

}  // namespace tandem::optim
