// SPDX-License-Identifier: MIT
// Open files as the system numbers them, and streams that write to them.
#pragma once

#include <cstddef>
#include <streambuf>
#include <utility>
#include <vector>

namespace tandem {

/// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// 0, or what errno says.
  int close();

 private:
  int number_;
};

/// Writes to a descriptor that somebody else keeps open, and remembers why it could not.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int number);
  /// What errno said at the first failure; 0: there was none.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  bool write_all(const char* text, std::size_t count);

  int number_;
  int error_ = 0;
  std::vector<char> buffer_;
};

}  // namespace tandem
