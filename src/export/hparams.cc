// SPDX-License-Identifier: MIT
// The numbers of fields are those of plugin_data.proto and api.proto of TensorBoard's plug-in
// hparams, and of struct.proto of protobuf.
#include "export/hparams.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "report/escape.h"

namespace tandem::exporting {
namespace {

constexpr std::string_view kPlugin = "hparams";

enum DataType { kText = 1, kTruth = 2, kNumber = 3 };
enum PluginData { kExperiment = 2, kSessionStart = 3, kSessionEnd = 4 };

/// A google.protobuf.Value. Texts are cleaned here and below: readers refuse a whole message for one
/// that is not UTF-8.
Message value_of(const HParam& hparam) {
  Message value;
  if (const auto* number = std::get_if<double>(&hparam)) {
    value.real(2, *number);
  } else if (const auto* truth = std::get_if<bool>(&hparam)) {
    value.integer(4, *truth ? 1 : 0);
  } else {
    value.text(3, report::clean_line(std::get<std::string>(hparam)));
  }
  return value;
}

/// HParamsPluginData, whose version is 0 and so is not written.
void write(Event& event, std::string_view tag, PluginData kind, const Message& content) {
  event.metadata(tag, kPlugin, Message().message(kind, content));
}

std::string text_of(const HParam& hparam) {
  if (const auto* number = std::get_if<double>(&hparam)) return fmt::format("{}", *number);
  if (const auto* truth = std::get_if<bool>(&hparam)) return *truth ? "true" : "false";
  return std::get<std::string>(hparam);
}

}  // namespace

HParam hparam_of(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && stop == end && std::isfinite(number)) return number;
  return text;
}

void add_options(HParams& hparams, const OptionMap& options) {
  for (const auto& [name, text] : options) {
    if (!hparams.emplace(name, hparam_of(text)).second) hparams["option/" + name] = hparam_of(text);
  }
}

void Experiment::add(const HParams& hparams) {
  for (const auto& [name, hparam] : hparams) {
    Range& range = ranges_[name];
    if (const auto* number = std::get_if<double>(&hparam)) {
      range.numbers.insert(*number);
    } else if (const auto* truth = std::get_if<bool>(&hparam)) {
      range.truths.insert(*truth);
    } else {
      range.texts.insert(std::get<std::string>(hparam));
    }
  }
}

/// Each has its range: columns without one cannot be sorted in TensorBoard.
Message Experiment::info_of(const std::string& name, const Range& range) {
  Message info;
  info.text(1, report::clean_line(name));
  Message values;
  const auto add = [&](const HParam& value) { values.message(1, value_of(value)); };
  if (range.texts.empty() && range.truths.empty()) {
    return info.integer(4, kNumber)
        .message(6, Message().real(1, *range.numbers.begin()).real(2, *range.numbers.rbegin()));
  }
  if (range.texts.empty() && range.numbers.empty()) {
    for (const bool truth : range.truths) add(truth);
    return info.integer(4, kTruth).message(5, values);
  }
  // Of several kinds: as TensorBoard does it itself, all are texts.
  for (const std::string& text : range.texts) add(text);
  for (const bool truth : range.truths) add(text_of(truth));
  for (const double number : range.numbers) add(text_of(number));
  return info.integer(4, kText).message(5, values);
}

void Experiment::write(
    Event& event, const std::vector<std::pair<std::string_view, std::string_view>>& metrics) const {
  Message experiment;
  for (const auto& [name, range] : ranges_) experiment.message(4, info_of(name, range));
  for (const auto& [tag, name] : metrics) {
    experiment.message(5, Message().message(1, Message().text(2, tag)).text(3, name));
  }
  exporting::write(event, "_hparams_/experiment", kExperiment, experiment);
}

void write_session_start(Event& event, const HParams& hparams, double seconds) {
  Message start;
  for (const auto& [name, hparam] : hparams) {
    start.message(1, Message().text(1, report::clean_line(name)).message(2, value_of(hparam)));
  }
  start.real(5, seconds);
  write(event, "_hparams_/session_start_info", kSessionStart, start);
}

void write_session_end(Event& event, Status status, double seconds) {
  write(event, "_hparams_/session_end_info", kSessionEnd,
        Message().integer(1, static_cast<std::int64_t>(status)).real(2, seconds));
}

}  // namespace tandem::exporting
