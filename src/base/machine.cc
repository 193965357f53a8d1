// SPDX-License-Identifier: MIT
#include "base/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tandem {
namespace {

std::size_t all_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// The value of the first line `NAME : VALUE` of a file; empty where there is none.
std::string field(const char* file, const std::string& name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(name, 0) != 0) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && begin != std::string::npos) return line.substr(begin);
  }
  return "";
}

}  // namespace

std::size_t available_memory() {
  std::istringstream stream(field("/proc/meminfo", "MemAvailable"));
  std::size_t kibibytes = 0;
  return stream >> kibibytes ? kibibytes * 1024 : all_memory();
}

std::size_t peak_memory() {
  std::istringstream stream(field("/proc/self/status", "VmHWM"));
  std::size_t kibibytes = 0;
  return stream >> kibibytes ? kibibytes * 1024 : 0;
}

std::string machine_description() {
  const std::string model = field("/proc/cpuinfo", "model name");
  utsname system{};
  uname(&system);
  return fmt::format("{}, {} processors, {:.1f} GiB, {} {}",
                     model.empty() ? std::string(system.machine) : model,
                     sysconf(_SC_NPROCESSORS_ONLN), static_cast<double>(all_memory()) / (1 << 30),
                     system.sysname, system.release);
}

}  // namespace tandem
