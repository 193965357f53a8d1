// SPDX-License-Identifier: MIT
#include "tensors/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "tensors/fail.h"

namespace tandem::tensors {
namespace {

/// A mapping stays when its file is closed.
class Descriptor {
 public:
  // Without O_NONBLOCK, opening a pipe waits for its other end.
  explicit Descriptor(const std::filesystem::path& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& found) {
    fail<TensorFileError>(path.string(), "", found, "a file that can be read");
  };
  const auto system_message = [] { return std::generic_category().message(errno); };
  const Descriptor file(path);
  struct stat facts {};
  if (file.number() < 0 || fstat(file.number(), &facts) != 0) refuse(system_message());
  if (S_ISDIR(facts.st_mode)) refuse("a folder");
  if (!S_ISREG(facts.st_mode)) refuse("a device or a pipe");
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return;  // which mmap would refuse
  const void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) refuse(system_message());
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tandem::tensors
