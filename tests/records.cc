// SPDX-License-Identifier: MIT
// What is the same in all records: looking them up, common error inputs, making optimizers.
#include "tests/records.h"

#include <stdexcept>
#include <utility>

namespace tandem::testing {
namespace {

/// Inputs that every optimizer refuses.
std::vector<ErrorInput> common_errors() {
  return {
      {{{"lr", "-0.1"}}, {"lr"}},
      {{{"lr", "nan"}}, {"lr"}},
      {{{"lr", "inf"}}, {"lr"}},
      {{{"lr", "fast"}}, {"lr", "fast"}},
      {{{"lr", "0.1*0.9^"}}, {"lr", "0.1*0.9^"}},
      {{{"lr", ""}}, {"lr"}},
      {{{"lrr", "0.1"}}, {"lrr", "'lr'"}},
      {{{"weigth_decay", "0.1"}}, {"weigth_decay", "weight_decay"}},
      {{{"projektion", "none"}}, {"projektion", "projection"}},
      {{{"decay", "-1"}}, {"decay"}},
      {{{"decay", "nan"}}, {"decay"}},
      {{{"decay", "0.9x"}}, {"decay", "0.9x"}},
      {{{"l2", "-1"}}, {"l2"}},
      {{{"l2", "inf"}}, {"l2"}},
      {{{"weight_decay", "-1"}}, {"weight_decay"}},
      {{{"weight_decay", "nan"}}, {"weight_decay"}},
      {{{"projection", "circle(1)"}}, {"projection", "circle(1)"}},
      {{{"projection", "ball(-1)"}}, {"projection"}},
      {{{"projection", "box(1, -1)"}}, {"projection"}},
      {{{"on_nonfinite", "panic"}}, {"on_nonfinite", "panic", "raise", "skip"}},
  };
}

std::vector<ErrorInput> trainable_errors() {
  return {
      {{{"alpha", "-0.1"}}, {"alpha"}},
      {{{"alpha", "nan"}}, {"alpha"}},
      {{{"alpha", "inf"}}, {"alpha"}},
      {{{"beta", "-0.1"}}, {"beta"}},
      {{{"beta", "nan"}}, {"beta"}},
      {{{"beta", "-5/(t+100)"}}, {"beta"}},
      {{{"alfa", "0.1"}}, {"alfa", "alpha"}},
      {{{"normalise", "true"}}, {"normalise", "normalize"}},
      {{{"normalize", "maybe"}}, {"normalize", "maybe"}},
      {{{"normalize_eps", "-1"}}, {"normalize_eps"}},
      {{{"normalize_eps", "nan"}}, {"normalize_eps"}},
  };
}

std::vector<Record> completed_records() {
  std::vector<Record> all = all_records();
  for (Record& one : all) {
    for (ErrorInput& error : common_errors()) one.errors.push_back(std::move(error));
    if (!one.trainable) continue;
    for (ErrorInput& error : trainable_errors()) one.errors.push_back(std::move(error));
  }
  return all;
}

}  // namespace

const std::vector<Record>& records() {
  static const std::vector<Record> all = completed_records();
  return all;
}

const Record& record(const std::string& name) {
  for (const Record& one : records())
    if (one.name == name) return one;
  throw std::out_of_range("no record of " + name);
}

std::unique_ptr<Optimizer> make(const Record& record, const OptionSet& set,
                                const std::vector<SegmentSpec>& segments) {
  return set.make ? set.make(segments) : make_optimizer(record.name, segments, set.options);
}

std::unique_ptr<Optimizer> make(const Record& record, const OptionSet& set, std::size_t dimension) {
  if (set.make) return set.make({SegmentSpec{.size = dimension}});
  return make_optimizer(record.name, dimension, set.options);
}

std::vector<std::string> record_names() {
  std::vector<std::string> names;
  for (const Record& one : records()) names.push_back(one.name);
  return names;
}

std::string test_name(const std::string& text) {
  std::string name;
  for (const char c : text) name += (c == '-' || c == ' ') ? '_' : c;
  return name;
}

}  // namespace tandem::testing
