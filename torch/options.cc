// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <tandem/errors.h>
#include <tandem/torch/options.h>
#include <torch/serialize/archive.h>

#include <array>
#include <bit>
#include <charconv>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "fields.h"

namespace tandem::optim {

// ---- The fields that rules share; rules.cc has the others ------------------------------------------

void Options::visit_common(detail::FieldVisitor& visitor) {
  visitor.field("lr", "", lr_);
  visitor.field("on_nonfinite", "", on_nonfinite_);
  visitor.field("stochastic_rounding", "", stochastic_rounding_);
  visitor.field("seed", "", seed_);
}

void Options::visit_trainable(detail::FieldVisitor& visitor) {
  visit_common(visitor);
  visitor.field("weight_decay", "", weight_decay_);
  visitor.field("alpha", "alpha", alpha_);
  visitor.field("beta", "beta", beta_);
  visitor.field("l2", "l2", l2_);
  visitor.field("normalize", "normalize", normalize_);
  visitor.field("normalize_eps", "normalize_eps", normalize_eps_);
  visitor.field("schedule_all", "", schedule_all_);
  visitor.field("first_lr", "", first_lr_);
}

// ---- Texts ---------------------------------------------------------------------------------------

namespace detail {
namespace {

template <class E>
struct Names;
template <>
struct Names<OnNonFinite> {
  static constexpr std::array<const char*, 3> all = {"raise", "skip", "ignore"};
};
template <>
struct Names<Scope> {
  static constexpr std::array<const char*, 3> all = {"whole", "group", "tensor"};
};
template <>
struct Names<Form> {
  static constexpr std::array<const char*, 3> all = {"automatic", "dense", "span"};
};
template <>
struct Names<MomentumForm> {
  static constexpr std::array<const char*, 2> all = {"ema", "torch"};
};

template <class T>
std::string text_of_value(const T& value) {
  if constexpr (std::is_same_v<T, Betas>) {
    return fmt::format("{},{}", std::get<0>(value), std::get<1>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return Names<T>::all.at(static_cast<std::size_t>(value));
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
  } else if constexpr (std::is_enum_v<T>) {
    for (std::size_t i = 0; i < Names<T>::all.size(); ++i) {
      if (text != Names<T>::all.at(i)) continue;
      value = static_cast<T>(i);
      return true;
    }
    return false;
  } else {
    return read_number(text, value);
  }
}

/// Hands fields of all types to one generic function of Derived, `any`.
template <class Derived>
class AnyField : public FieldVisitor {
 public:
  void field(const char* name, const char* core, Option<double>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, Option<bool>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, Option<std::uint64_t>& o) override {
    go(name, core, o);
  }
  void field(const char* name, const char* core, Option<Betas>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, Option<Scope>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, Option<OnNonFinite>& o) override {
    go(name, core, o);
  }
  void field(const char* name, const char* core, Option<Form>& o) override { go(name, core, o); }
  void field(const char* name, const char* core, Option<MomentumForm>& o) override {
    go(name, core, o);
  }

 private:
  template <class T>
  void go(const char* name, const char* core, Option<T>& option) {
    static_cast<Derived*>(this)->any(name, core, option);
  }
};

class Collect : public AnyField<Collect> {
 public:
  template <class T>
  void any(const char* name, const char*, Option<T>& option) {
    text[name] = text_of_value(option.get());
  }
  std::map<std::string, std::string> text;
};

class Assign : public AnyField<Assign> {
 public:
  explicit Assign(const std::map<std::string, std::string>& text) : text_(text) {}

  template <class T>
  void any(const char* name, const char*, Option<T>& option) {
    const auto found = text_.find(name);
    if (found == text_.end()) {
      throw StateError(fmt::format("Invalid state: option '{}' is missing", name));
    }
    T value{};
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

  template <class T>
  void any(const char* name, const char*, Option<T>& option) {
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

class Fingerprint : public AnyField<Fingerprint> {
 public:
  Fingerprint() { values.reserve(24); }

  template <class T>
  void any(const char*, const char*, Option<T>& option) {
    if constexpr (std::is_same_v<T, Betas>) {
      values.push_back(std::bit_cast<std::uint64_t>(std::get<0>(option.get())));
      values.push_back(std::bit_cast<std::uint64_t>(std::get<1>(option.get())));
    } else if constexpr (std::is_same_v<T, double>) {
      values.push_back(std::bit_cast<std::uint64_t>(option.get()));
    } else {
      values.push_back(static_cast<std::uint64_t>(option.get()));
    }
  }
  std::vector<std::uint64_t> values;
};

class ForCore : public AnyField<ForCore> {
 public:
  template <class T>
  void any(const char* name, const char* core, Option<T>& option) {
    const std::string_view field = name;
    if constexpr (std::is_same_v<T, Betas>) {
      settings.core["beta1"] = text_of_value(std::get<0>(option.get()));
      settings.core["beta2"] = text_of_value(std::get<1>(option.get()));
    } else {
      if (*core != '\0') settings.core[core] = text_of_value(option.get());
    }
    if constexpr (std::is_same_v<T, double>) {
      if (field == "lr") settings.lr = option.get();
      if (field == "weight_decay" && *core == '\0') {
        settings.weight_decay = option.get();
        settings.decoupled = true;
      }
      if (field == "first_lr") first_lr = option.get();
      if (field == "alpha") alpha = option.get();
      if (field == "beta") beta = option.get();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (field == "stochastic_rounding") settings.rounding.stochastic = option.get();
      if (field == "schedule_all") schedule_all = option.get();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (field == "seed") settings.rounding.seed = option.get();
    } else if constexpr (std::is_same_v<T, OnNonFinite>) {
      settings.on_nonfinite = option.get();
    } else if constexpr (std::is_same_v<T, Scope>) {
      settings.scope = option.get();
    }
  }

  Settings settings;
  double first_lr = 0;
  double alpha = 0;
  double beta = 0;
  bool schedule_all = false;
};

/// Visiting reads only, but for the visitors that say otherwise.
Options& visitable(const Options& options) { return const_cast<Options&>(options); }

class RememberFirstLr : public AnyField<RememberFirstLr> {
 public:
  explicit RememberFirstLr(double lr) : lr_(lr) {}
  template <class T>
  void any(const char* name, const char*, Option<T>& option) {
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

std::vector<std::uint64_t> fingerprint(const Options& options) {
  Fingerprint fields;
  visitable(options).visit(fields);
  return std::move(fields.values);
}

Settings settings_of(const Options& options) {
  ForCore fields;
  visitable(options).visit(fields);
  if (fields.schedule_all && fields.first_lr > 0) {
    const double factor = fields.settings.lr / fields.first_lr;
    fields.settings.core["alpha"] = text_of_value(fields.alpha * factor);
    fields.settings.core["beta"] = text_of_value(fields.beta * factor);
  }
  return std::move(fields.settings);
}

std::string text_of(OnNonFinite value) { return text_of_value(value); }

}  // namespace detail

// ---- Archives ------------------------------------------------------------------------------------

void Options::serialize(torch::serialize::OutputArchive& archive) const {
  for (const auto& [name, text] : detail::to_text(*this)) {
    archive.write(name, c10::IValue(text));
  }
}

void Options::serialize(torch::serialize::InputArchive& archive) {
  std::map<std::string, std::string> text;
  for (const auto& [name, now] : detail::to_text(*this)) {
    c10::IValue value;
    if (archive.try_read(name, value) && value.isString()) text[name] = value.toStringRef();
  }
  detail::from_text(*this, text);
}

}  // namespace tandem::optim
