// SPDX-License-Identifier: MIT
#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/descriptor.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw std::runtime_error(fmt::format("Cannot write {}: {}", path.string(), why));
}

[[noreturn]] void fail(const fs::path& path, int error) {
  fail(path, std::system_category().message(error));
}

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// N where the path is /proc/self/fd/N, under whatever name: a descriptor of this process.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(fs::absolute(path, error).parent_path(), error);
  if (error || folder != fmt::format("/proc/{}/fd", getpid())) return std::nullopt;
  const std::string name = path.filename().string();
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

/// What is written: the path with links followed, and the descriptor that it names, if it does.
struct Target {
  fs::path path;
  std::optional<int> descriptor = {};
};

Target followed(const fs::path& path) {
  Target target{.path = path};
  constexpr int kMostLinks = 40;  // as Linux
  for (int i = 0; i <= kMostLinks; ++i) {
    target.descriptor = own_descriptor(target.path);
    std::error_code error;
    if (target.descriptor || !fs::is_symlink(fs::symlink_status(target.path, error))) {
      return target;
    }
    const fs::path to = fs::read_symlink(target.path, error);
    if (error) fail(path, error.value());
    target.path = to.is_absolute() ? to : target.path.parent_path() / to;
  }
  fail(path, ELOOP);
}

/// Calls `write` with a stream over the descriptor; throws where not all was taken.
void write_to(const Descriptor& file, const fs::path& path,
              const std::function<void(std::ostream&)>& write) {
  DescriptorBuffer buffer(file.number());
  std::ostream stream(&buffer);
  try {
    write(stream);
  } catch (...) {
    // Whoever saw that the stream failed could not know why.
    if (buffer.error() == 0) throw;
  }
  stream.flush();
  if (buffer.error() != 0) fail(path, buffer.error());
  if (!stream) fail(path, "not everything was taken");
}

void write_through(const Target& target, const fs::path& path,
                   const std::function<void(std::ostream&)>& write) {
  // What was printed before stays before it.
  std::fflush(nullptr);
  Descriptor file(target.descriptor ? fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0)
                                    : open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!file) fail(path, errno);
  write_to(file, path, write);
  if (const int error = file.close(); error != 0) fail(path, error);
}

std::string random_name() {
  std::uint64_t bits = 0;
  // Never short for so few bytes; where there is none, the loop below finds a free name.
  if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) {
    static std::uint64_t count = 0;
    bits = (static_cast<std::uint64_t>(getpid()) << 32U) + ++count;
  }
  return fmt::format(".tandem-part-{:016x}", bits);
}

/// A file of our own beside the one that it will replace; removed at the end unless it was renamed.
class Temporary {
 public:
  Temporary(const fs::path& folder, const fs::path& path, mode_t mode) {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries && !file_; ++i) {
      name_ = folder / random_name();
      // O_EXCL: neither a file of others nor a link that lies in wait.
      file_ = Descriptor(open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      if (!file_ && errno != EEXIST) break;
    }
    if (!file_ && errno == ENOENT) fail(path, "there is no folder " + folder.string());
    if (!file_) fail(path, errno);
  }
  ~Temporary() {
    if (!name_.empty()) unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  Descriptor& file() { return file_; }

  void rename_to(const fs::path& target, const fs::path& path) {
    if (rename(name_.c_str(), target.c_str()) != 0) fail(path, errno);
    name_.clear();
  }

 private:
  fs::path name_;
  Descriptor file_;
};

/// Gives the new file the rights of the old one, and no more where the group cannot be kept.
void keep_rights(const Descriptor& file, const struct stat& old, const fs::path& path) {
  struct stat now {};
  if (fstat(file.number(), &now) != 0) fail(path, errno);
  bool group = now.st_gid == old.st_gid;
  if (!group) group = fchown(file.number(), static_cast<uid_t>(-1), old.st_gid) == 0;
  if (now.st_uid != old.st_uid && fchown(file.number(), old.st_uid, static_cast<gid_t>(-1)) != 0) {
    // Only the superuser can give files away; then it is ours.
    errno = 0;
  }
  mode_t mode = old.st_mode & 07777U;
  if (!group) mode = (mode & ~070U) | ((mode & 07U) << 3U);  // another group is as all others
  if (fchmod(file.number(), mode) != 0) fail(path, errno);
}

/// A file system that has no fsync has nothing to say against it.
void bring_to_disk(const Descriptor& file, const fs::path& path) {
  if (fsync(file.number()) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return;
  fail(path, errno);
}

}  // namespace

void write_atomically(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  if (path.empty()) throw std::runtime_error("Cannot write a file: its name is empty");
  const Target target = followed(path);
  const std::optional<struct stat> old = status_of(target.path);
  if (old && S_ISDIR(old->st_mode)) fail(path, EISDIR);
  if (target.descriptor || (old && !S_ISREG(old->st_mode))) {
    write_through(target, path, write);
    return;
  }
  const fs::path folder = target.path.has_parent_path() ? target.path.parent_path() : ".";
  Temporary temporary(folder, path, old ? 0600 : 0666);
  write_to(temporary.file(), path, write);
  if (old) keep_rights(temporary.file(), *old, path);
  bring_to_disk(temporary.file(), path);
  if (const int error = temporary.file().close(); error != 0) fail(path, error);
  temporary.rename_to(target.path, path);
  // So that the new name is on the disk too. The file is there: no failure any more.
  const Descriptor parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent) fsync(parent.number());
}

}  // namespace tandem
