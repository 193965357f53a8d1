// SPDX-License-Identifier: MIT
// The state of a unit, in the tensors of state(), as the library's optimizer takes it.
#pragma once

#include <ATen/core/Tensor.h>
#include <tandem/optimizer.h>
#include <tandem/torch/state.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state_map.h"
#include "strides.h"

namespace tandem::optim::detail {

/// A parameter in its unit.
struct Member {
  at::Tensor parameter;
  std::size_t group = 0;
  std::size_t index = 0;        // in the group
  StateKey key = {};            // in state()
  Strides strides = {};         // how its state lies in memory, and what steps are made on
  std::size_t count = 0;        // of elements when the unit was made
  std::int64_t dimensions = 0;  // the same
};
/// A parameter as a new unit takes it.
Member member_of(const at::Tensor& parameter, std::size_t group, std::size_t index);

/// The state of a member cannot be stepped on.
class BadState : public std::runtime_error {
 public:
  BadState(std::size_t member, const std::string& what)
      : std::runtime_error(what), member_(member) {}
  std::size_t member() const { return member_; }

 private:
  std::size_t member_;
};

/// Whether one of the library's scalars is state of a parameter: not the clock, of which the step is
/// kept by itself, and not diagnostics.
bool is_kept(std::string_view scalar);
/// Arrays of Full-TO's span form: lists of tensors that grow, which its dense form has no use for.
bool grows(std::string_view array);

ElementType element_type(at::ScalarType type);
at::ScalarType scalar_type(ElementType type);

class UnitMemory {
 public:
  UnitMemory(const std::string& rule, const tandem::Optimizer& core, ElementType weights);

  /// Whether all arrays are shaped like the parameters.
  bool shaped() const { return shaped_; }

  /// Looks for the states of the members and gives how many there are. Throws BadState for a state of
  /// another optimizer.
  std::size_t look_up(const StateMap& states, const std::vector<Member>& members);
  /// The first member that has none.
  std::size_t first_without() const;
  /// Makes new states for all members.
  void create(StateMap& states, const std::vector<Member>& members);
  /// The state comes from a file, with all that it says about itself.
  void trust() { trusted_ = true; }

  /// Sees to it that the optimizer steps on the states that were looked up or made. Changes no value.
  /// Throws BadState.
  void bind(tandem::Optimizer& core, std::vector<Member>& members);
  /// Whether bind() found other memory than before.
  bool rebound() const { return rebound_; }
  struct Place {
    void* data = nullptr;
    std::size_t bytes = 0;
    std::uint32_t version = 0;  // torch's, which in-place operations count up
    friend bool operator==(const Place&, const Place&) = default;
  };
  /// Memory of all arrays.
  std::span<const Place> places() const { return places_; }

  /// After a step: numbers go to the states.
  void store() noexcept;
  /// After one that was not made: what create() and bind() made is gone.
  void undo(StateMap& states, const std::vector<Member>& members) noexcept;

 private:
  /// An array that is shaped like the parameters.
  struct Field {
    std::string name;  // the library's
    std::string key;   // in the state
    ElementType type = ElementType::float32;
    at::ScalarType tensor_type = at::kFloat;
  };
  /// One of the library's scalars that is part of the state.
  struct Number {
    std::string name;
    std::size_t at = 0;  // in scalars_
    bool is_double = false;
    bool is_sum = false;  // RO-TO makes it anew where it is missing
  };

  /// Takes note of the arrays of all members, or of the unit.
  void take_arrays(std::vector<Member>& members);
  void take_unit_arrays();
  void take(const at::Tensor& tensor, std::size_t place);
  /// Of one member; false where one of them is not as it must be.
  bool take_arrays_of(const Member& member, std::size_t m);
  /// The arrays of a member that do not lie as they did: checks them, and copies those that do not
  /// lie as the others do.
  void arrange(Member& member, std::size_t m);
  /// More memory for what Full-TO's span form keeps.
  void grow(const tandem::Optimizer& core);
  /// Fills memory_ with what was taken note of.
  void list_memory();
  void list_arrays();
  void list_unit_arrays();
  bool may_grow() const { return dense_ && scalars_[*dense_] == 0; }
  /// The numbers of a member.
  ParamState::Scalars& numbers_of(std::size_t m);
  bool numbers_are_as_they_were();
  /// Takes the numbers of the states; tells whether they are others than before.
  bool read_numbers(bool arrays_changed);
  void write_numbers() noexcept;
  void use(tandem::Optimizer& core, bool start);

  std::string rule_;
  ElementType weights_;
  bool shaped_ = true;
  std::vector<StateNeed> needs_;           // of a new state, without scalars
  std::vector<Field> fields_;              // by key; where it is shaped
  std::vector<Number> numbers_;            // by name
  std::optional<std::size_t> dense_;       // of Full-TO: its form, among the scalars
  std::optional<std::size_t> sums_known_;  // of RO-TO
  std::vector<std::uint64_t> scalars_;     // what the optimizer reads and writes

  bool is_new_ = false;
  bool trusted_ = false;
  bool valid_ = false;  // the optimizer is bound to bound_
  bool rebound_ = false;
  std::vector<Place> bound_;

  // Of the step under way.
  std::vector<ParamState*> states_;  // a member each
  std::vector<Place> places_;
  std::vector<c10::TensorImpl*> tensors_;  // of places_
  std::vector<std::vector<StatePart>> parts_;
  StatePart scalars_part_ = {};
  std::vector<StateMemory> memory_;
  std::vector<std::pair<std::string, std::size_t>> grown_;  // lists, and how long they were
  std::vector<std::uint64_t> taken_;                        // numbers of the states
};

}  // namespace tandem::optim::detail
