// SPDX-License-Identifier: MIT
// What is done with the state of a rule item by item: written to a file, read from one, listed,
// found in the caller's memory.
#pragma once

#include <tandem/state.h>

#include <span>
#include <string>
#include <vector>

#include "base/state_stream.h"
#include "optimizers/state_array.h"

namespace tandem {

/// Into a state file.
class WriteState : public StateVisitor {
 public:
  explicit WriteState(StateWriter& writer) : writer_(writer) {}
  void count(const char* name, std::uint64_t& value, std::uint64_t) override {
    writer_.count(name, value);
  }
  void number(const char* name, double& value) override { writer_.number(name, value); }
  void array(const char* name, StateArray<float>& array) override { write(name, array); }
  void array(const char* name, StateArray<double>& array) override { write(name, array); }
  void array(const char* name, StateArray<BFloat16>& array) override { write(name, array); }

 private:
  template <class T>
  void write(const char* name, const StateArray<T>& array);
  StateWriter& writer_;
};

/// From a state file; throws StateError.
class ReadState : public StateVisitor {
 public:
  explicit ReadState(StateReader& reader) : reader_(reader) {}
  void count(const char* name, std::uint64_t& value, std::uint64_t most) override {
    value = reader_.count(name, most);
  }
  void number(const char* name, double& value) override { value = reader_.number(name); }
  void array(const char* name, StateArray<float>& array) override { read(name, array); }
  void array(const char* name, StateArray<double>& array) override { read(name, array); }
  void array(const char* name, StateArray<BFloat16>& array) override { read(name, array); }

 private:
  template <class T>
  void read(const char* name, StateArray<T>& array);
  StateReader& reader_;
};

/// What the caller's memory must have.
class ListState : public StateVisitor {
 public:
  void count(const char* name, std::uint64_t&, std::uint64_t) override {
    scalars_.push_back({name, false});
  }
  void number(const char* name, double&) override { scalars_.push_back({name, true}); }
  void array(const char* name, StateArray<float>& array) override { list(name, array); }
  void array(const char* name, StateArray<double>& array) override { list(name, array); }
  void array(const char* name, StateArray<BFloat16>& array) override { list(name, array); }
  std::size_t scalars() const { return scalars_.size(); }
  /// Arrays, and the scalars as one more.
  std::vector<StateNeed> take();

 private:
  template <class T>
  void list(const char* name, const StateArray<T>& array) {
    needs_.push_back({name, element_type<T>(), array.like_weights(), array.sizes(), {}});
  }
  std::vector<StateNeed> needs_;
  std::vector<StateNeed::Scalar> scalars_;
};

inline constexpr const char* kScalars = "scalars";

/// The caller's memory: what a rule is shown of it must be there, of the right type and size.
class CallersMemory {
 public:
  /// Both must outlive it.
  CallersMemory(const std::string& rule, std::span<const StateMemory> memory)
      : rule_(rule), memory_(memory) {}

  /// Throws std::invalid_argument that names what is missing, too small, or of another type.
  std::span<const StatePart> find(std::string_view name, ElementType type,
                                  std::span<const std::size_t> parts) const;
  /// The scalars; throws for fewer than `count`.
  std::uint64_t* scalars(std::size_t count) const;
  const std::string& rule() const { return rule_; }

 private:
  const std::string& rule_;
  std::span<const StateMemory> memory_;
};

/// Reads the scalars.
class ImportScalars : public StateVisitor {
 public:
  ImportScalars(const CallersMemory& memory, const std::uint64_t* scalars)
      : memory_(memory), scalars_(scalars) {}
  void count(const char* name, std::uint64_t& value, std::uint64_t most) override;
  void number(const char*, double& value) override;
  void array(const char*, StateArray<float>&) override {}
  void array(const char*, StateArray<double>&) override {}
  void array(const char*, StateArray<BFloat16>&) override {}

 private:
  const CallersMemory& memory_;
  const std::uint64_t* scalars_;
  std::size_t at_ = 0;
};

/// Points the arrays to the caller's memory.
class BindMemory : public StateVisitor {
 public:
  explicit BindMemory(const CallersMemory& memory) : memory_(memory) {}
  void count(const char*, std::uint64_t&, std::uint64_t) override {}
  void number(const char*, double&) override {}
  void array(const char* name, StateArray<float>& array) override { bind(name, array); }
  void array(const char* name, StateArray<double>& array) override { bind(name, array); }
  void array(const char* name, StateArray<BFloat16>& array) override { bind(name, array); }

 private:
  template <class T>
  void bind(const char* name, StateArray<T>& array) {
    array.bind(memory_.find(name, element_type<T>(), array.sizes()));
  }
  const CallersMemory& memory_;
};

/// Writes the scalars back.
class ExportScalars : public StateVisitor {
 public:
  explicit ExportScalars(std::uint64_t* scalars) : scalars_(scalars) {}
  void count(const char*, std::uint64_t& value, std::uint64_t) override { scalars_[at_++] = value; }
  void number(const char*, double& value) override;
  void array(const char*, StateArray<float>&) override {}
  void array(const char*, StateArray<double>&) override {}
  void array(const char*, StateArray<BFloat16>&) override {}

 private:
  std::uint64_t* scalars_;
  std::size_t at_ = 0;
};

}  // namespace tandem
