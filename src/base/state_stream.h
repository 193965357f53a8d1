// SPDX-License-Identifier: MIT
// The file format of saved state: a magic word and a version, then named records in a fixed order,
// then a checksum of it all. A reader knows what comes next and how long it must be, so nothing a
// file claims is believed before it is checked.
#pragma once

#include <tandem/bfloat16.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem {

class StateWriter {
 public:
  /// Writes the magic word and the version.
  explicit StateWriter(std::ostream& stream);
  ~StateWriter();
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  void count(std::string_view name, std::uint64_t value);
  void number(std::string_view name, double value);
  void text(std::string_view name, std::string_view value);
  void array(std::string_view name, std::span<const float> values) { one<float>(name, values); }
  void array(std::string_view name, std::span<const double> values) { one<double>(name, values); }
  void array(std::string_view name, std::span<const BFloat16> values) {
    one<BFloat16>(name, values);
  }
  /// One array whose values lie in several places, one after the other. T: float, double, BFloat16.
  template <class T>
  void array_in_parts(std::string_view name, std::span<const std::span<const T>> parts);
  /// Writes the checksum; throws std::runtime_error if the stream did not take everything.
  void finish();

 private:
  template <class T>
  void one(std::string_view name, std::span<const T> values) {
    array_in_parts<T>(name, std::span<const std::span<const T>>(&values, 1));
  }
  void header(char kind, std::string_view name);
  void bytes(const void* data, std::size_t size);

  struct Hash;
  std::ostream& stream_;
  std::unique_ptr<Hash> hash_;
};

/// Every function throws StateError with what was expected and what was found.
class StateReader {
 public:
  explicit StateReader(std::istream& stream);
  ~StateReader();
  StateReader(const StateReader&) = delete;
  StateReader& operator=(const StateReader&) = delete;

  std::uint64_t count(std::string_view name);
  /// A count that must not be above `most`.
  std::uint64_t count(std::string_view name, std::uint64_t most);
  double number(std::string_view name);
  std::string text(std::string_view name);
  /// Fills `values`; an array of another length in the file is an error.
  void array(std::string_view name, std::span<float> values) { one<float>(name, values); }
  void array(std::string_view name, std::span<double> values) { one<double>(name, values); }
  void array(std::string_view name, std::span<BFloat16> values) { one<BFloat16>(name, values); }
  template <class T>
  void array_in_parts(std::string_view name, std::span<const std::span<T>> parts);
  /// Checks the checksum. Nothing that was read may be used before.
  void finish();

 private:
  template <class T>
  void one(std::string_view name, std::span<T> values) {
    array_in_parts<T>(name, std::span<const std::span<T>>(&values, 1));
  }
  void header(char kind, std::string_view name);
  void bytes(void* data, std::size_t size);

  struct Hash;
  std::istream& stream_;
  std::unique_ptr<Hash> hash_;
};

/// A saved state as a list, for those who keep it in a format of their own: tensors by name, a
/// dictionary.
struct StateRecord {
  std::string name;
  std::variant<std::uint64_t, double, std::string, std::vector<float>, std::vector<double>,
               std::vector<BFloat16>>
      value;
};

/// All records of a saved state, in order. Throws StateError for what is damaged.
std::vector<StateRecord> state_records(std::string_view bytes);
/// The inverse.
std::string state_of_records(std::span<const StateRecord> records);

}  // namespace tandem
