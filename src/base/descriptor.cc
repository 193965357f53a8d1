// SPDX-License-Identifier: MIT
#include "base/descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace tandem {

int Descriptor::close() {
  if (number_ < 0) return 0;
  return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno;
}

DescriptorBuffer::DescriptorBuffer(int number) : number_(number), buffer_(std::size_t{1} << 16) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

bool DescriptorBuffer::write_all(const char* text, std::size_t count) {
  while (error_ == 0 && count > 0) {
    const ssize_t written = ::write(number_, text, count);
    if (written >= 0) {
      text += written;
      count -= static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  return error_ == 0;
}

int DescriptorBuffer::sync() {
  const bool good = write_all(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return good ? 0 : -1;
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type character) {
  if (sync() != 0) return traits_type::eof();
  if (traits_type::eq_int_type(character, traits_type::eof())) {
    return traits_type::not_eof(character);
  }
  return sputc(traits_type::to_char_type(character));
}

std::streamsize DescriptorBuffer::xsputn(const char* text, std::streamsize count) {
  if (count < epptr() - pptr()) return std::streambuf::xsputn(text, count);
  // Large pieces go past the buffer.
  if (sync() != 0) return 0;
  return write_all(text, static_cast<std::size_t>(count)) ? count : 0;
}

}  // namespace tandem
