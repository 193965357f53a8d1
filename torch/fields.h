// SPDX-License-Identifier: MIT
// What is done with options field by field: fill them up from the optimizer's, compare them, hand
// them to the library, write them to an archive.
#pragma once

#include <tandem/registry.h>
#include <tandem/torch/optimizer.h>
#include <tandem/torch/options.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::optim::detail {

/// A field is what the library calls it (`core`), or "" where only the adapter knows it.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(const char* name, const char* core, Option<double>& option) = 0;
  virtual void field(const char* name, const char* core, Option<bool>& option) = 0;
  virtual void field(const char* name, const char* core, Option<std::uint64_t>& option) = 0;
  virtual void field(const char* name, const char* core, Option<Betas>& option) = 0;
  virtual void field(const char* name, const char* core, Option<Scope>& option) = 0;
  virtual void field(const char* name, const char* core, Option<OnNonFinite>& option) = 0;
  virtual void field(const char* name, const char* core, Option<Form>& option) = 0;
  virtual void field(const char* name, const char* core, Option<MomentumForm>& option) = 0;
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

/// Equal for equal values.
std::vector<std::uint64_t> fingerprint(const Options& options);

/// What the adapter itself needs to know.
struct Settings {
  OptionMap core;  // all but lr, weight_decay where it is decoupled, and on_nonfinite
  double lr = 0;
  double weight_decay = 0;  // where it is decoupled
  bool decoupled = false;
  OnNonFinite on_nonfinite = OnNonFinite::raise;
  Rounding rounding;
  Scope scope = Scope::tensor;
};
Settings settings_of(const Options& options);

/// "raise", "skip" or "ignore".
std::string text_of(OnNonFinite value);

}  // namespace tandem::optim::detail
