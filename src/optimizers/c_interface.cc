// SPDX-License-Identifier: MIT
// <tandem/c.h>: checks what a caller in another language gives, and hands it to an Optimizer.
#include <fmt/format.h>
#include <tandem/c.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using tandem::BFloat16;
using tandem::ElementType;
using tandem::GatheredSums;
using tandem::Segment;

namespace {

/// A part of memory that a step reads or writes.
struct Place {
  const void* data = nullptr;
  std::size_t bytes = 0;
  bool written = false;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Empty at first: a thread's first call must not fail for want of memory.
thread_local std::string message;

/// Options and arrays: more than any rule has, so that a wrong count is told, not followed.
constexpr std::size_t kMostInList = 1024;

/// Something is wrong with memory for the state.
class BadState : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace

struct tandem_rule {
  std::unique_ptr<tandem::Optimizer> optimizer;
  std::vector<tandem::SegmentSpec> segments;
  /// Memory of the last call that was looked through; what comes again is fine again.
  std::vector<Place> places, seen;
  std::vector<std::vector<tandem::StatePart>> parts;
  std::vector<tandem::StateMemory> memory;
  std::tuple<std::vector<Segment<float>>, std::vector<Segment<double>>,
             std::vector<Segment<BFloat16>>>
      lists;
  tandem_diagnostics last = {std::nan(""), std::nan(""), std::nan("")};
  // What tandem_v1_needs gave.
  std::vector<tandem::StateNeed> needs;
  std::vector<tandem_need> needs_for_c;
  std::string elements;
};

namespace {

/// Calls work(); nothing that it throws gets out.
template <class Work>
tandem_status guarded(const Work& work) noexcept {
  tandem_status status = TANDEM_INTERNAL;
  try {
    try {
      work();
      return TANDEM_OK;
    } catch (const tandem::NonFiniteGradient& error) {
      status = TANDEM_NONFINITE;
      message = error.what();
    } catch (const tandem::NonFiniteRate& error) {
      status = TANDEM_NONFINITE;
      message = error.what();
    } catch (const tandem::MemoryLimitError& error) {
      status = TANDEM_MEMORY;
      message = error.what();
    } catch (const std::bad_alloc&) {
      status = TANDEM_MEMORY;
      message = "there is not enough memory";
    } catch (const std::length_error&) {  // of a container
      status = TANDEM_MEMORY;
      message = "there is not enough memory";
    } catch (const tandem::StateError& error) {
      status = TANDEM_STATE;
      message = error.what();
    } catch (const BadState& error) {
      status = TANDEM_STATE;
      message = error.what();
    } catch (const std::invalid_argument& error) {
      status = TANDEM_INVALID;
      message = error.what();
    } catch (const std::exception& error) {
      message = error.what();
    }
  } catch (...) {  // no memory for the message
    message.clear();
  }
  return status;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

/// Whether `count` elements from `data` on are within what addresses can reach.
bool reachable(const void* data, std::size_t count, std::size_t size) {
  const std::size_t most = std::numeric_limits<std::size_t>::max() -
                           static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(data));
  return count <= most / size;
}

ElementType weights_type(std::int32_t type) {
  if (type == TANDEM_FLOAT32) return ElementType::float32;
  if (type == TANDEM_FLOAT64) return ElementType::float64;
  if (type == TANDEM_BFLOAT16) return ElementType::bfloat16;
  throw std::invalid_argument(
      fmt::format("Invalid type of weights: {}, expected TANDEM_FLOAT32, TANDEM_FLOAT64 or "
                  "TANDEM_BFLOAT16",
                  type));
}

std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return sizeof(float);
    case ElementType::bfloat16:
      return sizeof(BFloat16);
    case ElementType::float64:
    case ElementType::uint64:
      break;
  }
  return sizeof(double);
}

/// The caller's arrays as the library takes them; their places are noted.
std::span<const tandem::StateMemory> memory_of(tandem_rule& rule, const tandem_array* arrays,
                                               std::size_t count) {
  require(arrays != nullptr || count == 0, "arrays is a null pointer");
  if (count > kMostInList) {
    throw BadState(
        fmt::format("Invalid number of arrays: {}, expected at most {}", count, kMostInList));
  }
  rule.parts.resize(count);
  rule.memory.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const tandem_array& array = arrays[i];
    if (array.name == nullptr) {
      throw BadState(fmt::format("the name of array {} is a null pointer", i));
    }
    if (array.type < TANDEM_FLOAT32 || array.type > TANDEM_UINT64) {
      throw BadState(fmt::format("array '{}' has type {}, which is none", array.name, array.type));
    }
    if (array.parts > 0 && (array.data == nullptr || array.counts == nullptr)) {
      throw BadState(fmt::format("data or counts of array '{}' is a null pointer", array.name));
    }
    if (array.reserved != 0) {
      throw BadState(
          fmt::format("reserved of array '{}' is {}, expected 0", array.name, array.reserved));
    }
    if (!reachable(array.data, array.parts, sizeof(void*))) {
      throw BadState(fmt::format("array '{}' has {} parts, more than any memory holds", array.name,
                                 array.parts));
    }
    const auto type = static_cast<ElementType>(array.type);
    const std::size_t size = size_of(type);
    std::vector<tandem::StatePart>& parts = rule.parts[i];
    parts.resize(array.parts);
    for (std::size_t p = 0; p < array.parts; ++p) {
      if (!reachable(array.data[p], array.counts[p], size)) {
        throw BadState(
            fmt::format("part {} of array '{}' has {} elements, more than any memory "
                        "holds",
                        p, array.name, array.counts[p]));
      }
      parts[p] = {array.data[p], array.counts[p]};
      rule.places.push_back({array.data[p], array.counts[p] * size, true});
    }
    rule.memory[i] = {array.name, type, parts};
  }
  return rule.memory;
}

template <class T>
std::span<const Segment<T>> segments_of(tandem_rule& rule, const tandem_segment* segments,
                                        std::size_t count) {
  if (count != rule.segments.size()) {
    throw std::invalid_argument(fmt::format("{}: Invalid number of segments: {}, expected {}",
                                            rule.optimizer->name(), count, rule.segments.size()));
  }
  require(segments != nullptr, "segments is a null pointer");
  auto& list = std::get<std::vector<Segment<T>>>(rule.lists);
  list.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    const tandem_segment& segment = segments[s];
    const auto fail = [&](const std::string& what) {
      return std::invalid_argument(
          fmt::format("{}: segment {}: {}", rule.optimizer->name(), s, what));
    };
    if (segment.size != rule.segments[s].size) {
      throw fail(fmt::format("Invalid size: {}, expected {}", segment.size, rule.segments[s].size));
    }
    if (segment.weights == nullptr && segment.size > 0) throw fail("weights is a null pointer");
    const auto check = [&](const char* what, const void* data) {
      if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0) {
        throw fail(fmt::format("{} is not aligned to its elements", what));
      }
      if (!reachable(data, segment.size, sizeof(T))) {
        throw fail(
            fmt::format("{} has {} elements, more than any memory holds", what, segment.size));
      }
    };
    check("weights", segment.weights);
    check("gradient", segment.gradient);
    const auto* gradient = static_cast<const T*>(segment.gradient);
    list[s] = {{static_cast<T*>(segment.weights), segment.size},
               {gradient, gradient == nullptr ? 0 : segment.size}};
    rule.places.push_back({segment.weights, segment.size * sizeof(T), true});
    if (gradient != nullptr) rule.places.push_back({gradient, segment.size * sizeof(T), false});
  }
  return list;
}

/// What is written overlaps nothing else.
void check_places(tandem_rule& rule) {
  if (rule.places == rule.seen) return;
  std::vector<Place> sorted = rule.places;
  std::sort(sorted.begin(), sorted.end(),
            [](const Place& x, const Place& y) { return std::less<>()(x.data, y.data); });
  const char* end = nullptr;
  bool written = false;  // what ends there
  for (const Place& place : sorted) {
    const char* begin = static_cast<const char*>(place.data);
    if (place.bytes == 0 || begin == nullptr) continue;
    if (end != nullptr && std::less<>()(begin, end) && (written || place.written)) {
      throw std::invalid_argument(rule.optimizer->name() +
                                  ": weights, gradients or arrays of state overlap in memory, "
                                  "expected places of their own");
    }
    if (end == nullptr || std::less<>()(end, begin + place.bytes)) {
      end = begin + place.bytes;
      written = place.written;
    } else {
      written = written || place.written;
    }
  }
  rule.seen = rule.places;
}

void bind(tandem_rule& rule, ElementType type, std::span<const tandem::StateMemory> memory,
          bool start) {
  try {
    rule.optimizer->use_memory(type, memory, start);
  } catch (const std::invalid_argument& error) {
    throw BadState(error.what());
  }
}

/// Calls work(segments) with the list in the type of the weights, once all memory was looked at.
template <class Work>
void on_segments(tandem_rule* rule, std::int32_t type, const tandem_segment* segments,
                 std::size_t segment_count, const tandem_array* arrays, std::size_t array_count,
                 const Work& work) {
  require(rule != nullptr, "rule is a null pointer");
  const ElementType element = weights_type(type);
  rule->places.clear();
  const auto run = [&]<class T>(T) {
    const std::span<const Segment<T>> list = segments_of<T>(*rule, segments, segment_count);
    const auto memory = memory_of(*rule, arrays, array_count);
    check_places(*rule);
    bind(*rule, element, memory, false);
    work(list);
  };
  switch (element) {
    case ElementType::float64:
      return run(double{});
    case ElementType::bfloat16:
      return run(BFloat16{});
    default:
      return run(float{});
  }
}

/// For the rule's arithmetic; null: to nearest.
tandem::Rounding rounding_of(const tandem_rounding* rounding) {
  if (rounding == nullptr) return {};
  if (rounding->stochastic < 0 || rounding->stochastic > 1 || rounding->reserved != 0) {
    throw std::invalid_argument(
        fmt::format("Invalid rounding: stochastic is {} and reserved is {}, expected 0 or 1, and 0",
                    rounding->stochastic, rounding->reserved));
  }
  return {rounding->stochastic == 1, rounding->seed};
}

template <class T>
void apply(tandem_rule& rule, std::span<const Segment<T>> list, const GatheredSums& sums,
           const tandem_rounding* rounding) {
  const tandem::Rounding how = rounding_of(rounding);
  if constexpr (std::is_same_v<T, BFloat16>) {
    rule.optimizer->apply(list, sums, how);
  } else {
    rule.optimizer->apply(list, sums);
  }
  const tandem::Diagnostics& seen = rule.optimizer->last();
  rule.last = {seen.residual_norm, seen.gradient_norm, seen.delta};
}

/// In the order of GatheredSums; the last is spare.
void to_array(const GatheredSums& sums, double* out) {
  const double all[TANDEM_SUMS] = {sums.nonfinite, sums.ga, sums.cw,     sums.ww,
                                   sums.aa,        sums.ab, sums.all_ww, 0};
  std::copy(std::begin(all), std::end(all), out);
}
GatheredSums from_array(const double* sums) {
  if (!(sums[0] >= 0)) {
    throw std::invalid_argument(
        fmt::format("Invalid sums[0]: {}, expected the number of machines whose gradients are not "
                    "finite",
                    sums[0]));
  }
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6]};
}

/// Threads of the caller's.
class CallersThreads : public tandem::Executor {
 public:
  CallersThreads(int threads, tandem_run callers_run, void* context)
      : threads_(threads), run_(callers_run), context_(context) {}
  int threads() const override { return threads_; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    run_(
        context_, count,
        [](void* argument, std::size_t i) {
          (*static_cast<const std::function<void(std::size_t)>*>(argument))(i);
        },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  int threads_;
  tandem_run run_;
  void* context_;
};

}  // namespace

const char* tandem_v1_version() {
  static const std::string version = tandem::version();
  return version.c_str();
}

const char* tandem_v1_error() {
  return message.empty() ? "no call has failed, or there was no memory for a message"
                         : message.c_str();
}

tandem_status tandem_v1_describe(const char* name, char* buffer, size_t capacity, size_t* needed) {
  return guarded([&] {
    require(buffer != nullptr || capacity == 0, "buffer is a null pointer");
    std::string text;
    if (name != nullptr) {
      text = tandem::optimizer_json(name);
    } else {
      for (const tandem::OptimizerInfo& info : tandem::optimizer_infos()) {
        text += (text.empty() ? "[" : ",") + tandem::optimizer_json(info.name);
      }
      text += "]";
    }
    if (needed != nullptr) *needed = text.size() + 1;
    if (capacity == 0) return;
    const std::size_t length = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  });
}

namespace {

tandem::OptionMap option_map(std::string_view rule, const tandem_option* options,
                             std::size_t count) {
  require(options != nullptr || count == 0, "options is a null pointer");
  require(count <= kMostInList, "option_count is more than any rule has options");
  tandem::OptionMap map;
  for (std::size_t i = 0; i < count; ++i) {
    if (options[i].name == nullptr || options[i].value == nullptr) {
      throw std::invalid_argument(
          fmt::format("{}: name or value of option {} is a null pointer", rule, i));
    }
    if (!map.emplace(options[i].name, options[i].value).second) {
      throw std::invalid_argument(
          fmt::format("{}: option '{}' is given twice", rule, options[i].name));
    }
  }
  return map;
}

}  // namespace

tandem_status tandem_v1_create(const char* name, const tandem_option* options, size_t option_count,
                               const size_t* sizes, size_t segment_count, tandem_rule** rule) {
  return guarded([&] {
    require(rule != nullptr, "rule is a null pointer");
    *rule = nullptr;
    require(name != nullptr, "name is a null pointer");
    require(sizes != nullptr || segment_count == 0, "sizes is a null pointer");
    require(reachable(sizes, segment_count, sizeof(tandem::SegmentSpec)),
            "segment_count is more than any memory holds");
    const tandem::OptionMap map = option_map(name, options, option_count);
    auto made = std::make_unique<tandem_rule>();
    for (std::size_t s = 0; s < segment_count; ++s) made->segments.push_back({sizes[s]});
    made->optimizer = tandem::make_optimizer(name, made->segments, map);
    *rule = made.release();
  });
}

void tandem_v1_destroy(tandem_rule* rule) { delete rule; }

tandem_status tandem_v1_set_options(tandem_rule* rule, const tandem_option* options,
                                    size_t option_count) {
  return guarded([&] {
    require(rule != nullptr, "rule is a null pointer");
    rule->optimizer->set_options(rule->segments,
                                 option_map(rule->optimizer->name(), options, option_count));
  });
}

tandem_status tandem_v1_set_rate(tandem_rule* rule, const char* option, double value) {
  return guarded([&] {
    require(rule != nullptr && option != nullptr, "rule or option is a null pointer");
    const std::string_view name = option;
    if (name == "weight_decay" || name == "l2") {
      rule->optimizer->set_decay(name, value);
    } else {
      rule->optimizer->set_rate(name, value);
    }
  });
}

tandem_status tandem_v1_set_schedule(tandem_rule* rule, const char* option, const char* schedule) {
  return guarded([&] {
    require(rule != nullptr && option != nullptr && schedule != nullptr,
            "rule, option or schedule is a null pointer");
    rule->optimizer->set_rate(option, tandem::Schedule::parse(schedule));
  });
}

namespace {

/// Changes what the optimizer knows of a segment: change(spec).
template <class Change>
tandem_status change_segment(tandem_rule* rule, size_t segment, const Change& change) {
  return guarded([&] {
    require(rule != nullptr, "rule is a null pointer");
    if (segment >= rule->segments.size()) {
      throw std::invalid_argument(fmt::format("Invalid segment: {}, expected fewer than {}",
                                              segment, rule->segments.size()));
    }
    tandem::SegmentSpec spec = rule->segments[segment];
    change(spec);
    rule->optimizer->set_segment(segment, spec);
    rule->segments[segment] = spec;
  });
}

}  // namespace

tandem_status tandem_v1_set_segment(tandem_rule* rule, size_t segment, double lr,
                                    double weight_decay) {
  return change_segment(rule, segment, [&](tandem::SegmentSpec& spec) {
    spec.lr = std::isnan(lr) ? std::nullopt : std::optional<tandem::Schedule>(lr);
    spec.weight_decay = std::isnan(weight_decay) ? std::nullopt : std::optional(weight_decay);
  });
}

tandem_status tandem_v1_set_first_element(tandem_rule* rule, size_t segment, uint64_t number) {
  return change_segment(rule, segment,
                        [&](tandem::SegmentSpec& spec) { spec.first_element = number; });
}

tandem_status tandem_v1_schedule(const char* schedule, uint64_t step, uint64_t epoch,
                                 double* value) {
  return guarded([&] {
    require(schedule != nullptr && value != nullptr, "schedule or value is a null pointer");
    if (step == 0) throw std::invalid_argument("Invalid step: 0, expected at least 1");
    tandem::Clock clock;
    clock.step = step;
    clock.epoch = epoch;
    *value = tandem::Schedule::parse(schedule).at(clock);
  });
}

tandem_status tandem_v1_set_threads(tandem_rule* rule, int32_t threads, tandem_run run,
                                    void* context) {
  return guarded([&] {
    require(rule != nullptr, "rule is a null pointer");
    if (run == nullptr) {
      rule->optimizer->set_executor(threads == 0   ? tandem::default_executor()
                                    : threads == 1 ? tandem::serial_executor()
                                                   : tandem::pool_executor(threads));
      return;
    }
    if (threads < 1) {
      throw std::invalid_argument(
          fmt::format("Invalid number of threads: {}, expected at least 1", threads));
    }
    rule->optimizer->set_executor(std::make_shared<CallersThreads>(threads, run, context));
  });
}

tandem_status tandem_v1_needs(tandem_rule* rule, int32_t type, const tandem_array* arrays,
                              size_t array_count, const tandem_need** needs, size_t* need_count) {
  return guarded([&] {
    require(rule != nullptr && needs != nullptr && need_count != nullptr,
            "rule, needs or need_count is a null pointer");
    const ElementType element = weights_type(type);
    rule->places.clear();
    const auto memory = memory_of(*rule, arrays, array_count);
    std::vector<tandem::StateNeed> found;
    try {
      found = rule->optimizer->state_needs(element, memory);
    } catch (const std::invalid_argument& error) {
      throw BadState(error.what());
    }
    std::string elements;
    std::vector<tandem_need> for_c(found.size());
    for (const tandem::StateNeed::Scalar& scalar : found.back().scalars) {
      elements += fmt::format("{}{}:{}", elements.empty() ? "" : ",", scalar.name,
                              scalar.is_double ? "float64" : "uint64");
    }
    rule->needs = std::move(found);
    rule->elements = std::move(elements);
    rule->needs_for_c = std::move(for_c);
    for (std::size_t i = 0; i < rule->needs.size(); ++i) {
      const tandem::StateNeed& need = rule->needs[i];
      rule->needs_for_c[i] = {
          need.name.c_str(),         static_cast<std::int32_t>(need.type),
          need.like_weights ? 1 : 0, need.parts.size(),
          need.parts.data(),         need.scalars.empty() ? nullptr : rule->elements.c_str()};
    }
    *needs = rule->needs_for_c.data();
    *need_count = rule->needs_for_c.size();
  });
}

tandem_status tandem_v1_start(tandem_rule* rule, int32_t type, const tandem_array* arrays,
                              size_t array_count) {
  return guarded([&] {
    require(rule != nullptr, "rule is a null pointer");
    const ElementType element = weights_type(type);
    rule->places.clear();
    const auto memory = memory_of(*rule, arrays, array_count);
    check_places(*rule);
    bind(*rule, element, memory, true);
  });
}

tandem_status tandem_v1_step(tandem_rule* rule, int32_t type, const tandem_segment* segments,
                             size_t segment_count, const tandem_array* arrays, size_t array_count,
                             const tandem_rounding* rounding) {
  return guarded([&] {
    on_segments(rule, type, segments, segment_count, arrays, array_count, [&](const auto& list) {
      apply(*rule, list, rule->optimizer->gather(list), rounding);
    });
  });
}

tandem_status tandem_v1_gather(tandem_rule* rule, int32_t type, const tandem_segment* segments,
                               size_t segment_count, const tandem_array* arrays, size_t array_count,
                               double sums[TANDEM_SUMS]) {
  return guarded([&] {
    require(sums != nullptr, "sums is a null pointer");
    on_segments(rule, type, segments, segment_count, arrays, array_count, [&](const auto& list) {
      const GatheredSums gathered = rule->optimizer->gather(list);
      // A gradient that is not finite comes before everything else that is wrong, as in a step.
      if (gathered.nonfinite == 0) rule->optimizer->prepare(list);
      to_array(gathered, sums);
    });
  });
}

tandem_status tandem_v1_apply(tandem_rule* rule, int32_t type, const tandem_segment* segments,
                              size_t segment_count, const tandem_array* arrays, size_t array_count,
                              const tandem_rounding* rounding, const double sums[TANDEM_SUMS]) {
  return guarded([&] {
    require(sums != nullptr, "sums is a null pointer");
    on_segments(rule, type, segments, segment_count, arrays, array_count,
                [&](const auto& list) { apply(*rule, list, from_array(sums), rounding); });
  });
}

tandem_status tandem_v1_last(const tandem_rule* rule, tandem_diagnostics* last) {
  return guarded([&] {
    require(rule != nullptr && last != nullptr, "rule or last is a null pointer");
    *last = rule->last;
  });
}
