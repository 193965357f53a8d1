// SPDX-License-Identifier: MIT
// Hyper-parameters for the tab HPARAMS of TensorBoard.
#pragma once

#include <tandem/registry.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "export/event.h"

namespace tandem::exporting {

using HParam = std::variant<double, bool, std::string>;
using HParams = std::map<std::string, HParam>;

/// A number or a truth value where the text is one.
HParam hparam_of(const std::string& text);
/// Adds the options of an optimizer; one whose name is taken becomes "option/NAME".
void add_options(HParams& hparams, const OptionMap& options);

/// What the sessions of an experiment have: names, kinds and ranges of their hyper-parameters.
/// TensorBoard shows those of one experiment in all that it is given.
class Experiment {
 public:
  void add(const HParams& hparams);
  /// `metrics`: tag and what to call it.
  void write(Event& event,
             const std::vector<std::pair<std::string_view, std::string_view>>& metrics) const;

 private:
  struct Range {
    std::set<double> numbers;
    std::set<bool> truths;
    std::set<std::string> texts;
  };
  static Message info_of(const std::string& name, const Range& range);
  std::map<std::string, Range> ranges_;
};

enum class Status { unknown = 0, success = 1, failure = 2, running = 3 };

/// What a session is, where it begins; and how it went, at its end.
void write_session_start(Event& event, const HParams& hparams, double seconds);
void write_session_end(Event& event, Status status, double seconds);

}  // namespace tandem::exporting
