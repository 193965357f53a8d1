// SPDX-License-Identifier: MIT
#include "store/owner.h"

#define XXH_INLINE_ALL

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "store/store.h"

namespace tandem::store {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  // A colon would be taken for the end of the name.
  std::string host(name.data());
  for (char& c : host) {
    if (c == ':') c = '-';
  }
  return host;
}

struct Process {
  bool dead = false;  // a zombie: its parent has not noticed yet
  // When it started, in the kernel's ticks: tells it from a later one with the same number, which
  // after a restart of a container is the rule. "0" where the system does not say.
  std::string start = "0";
};

Process look_up(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  Process process;
  std::string field;
  for (int index = 3; index <= 22; ++index) {  // as proc(5) counts
    if (!(fields >> field)) return {};
    if (index == 3) process.dead = field == "Z" || field == "X";
  }
  process.start = field;
  return process;
}

/// What is before the mark; after it the rest goes on.
std::string_view part(std::string_view& rest, char mark = ':') {
  const std::size_t end = rest.find(mark);
  const std::string_view first = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return first;
}

/// Tells this machine from others of the same name, as many call themselves "localhost"; empty where
/// the system does not say.
const std::string& machine_mark() {
  static const std::string kMark = [] {
    std::ifstream file("/etc/machine-id");
    std::string id;
    std::getline(file, id);
    return id.empty() ? id : fmt::format("{:08x}", XXH3_64bits(id.data(), id.size()) >> 32U);
  }();
  return kMark;
}

}  // namespace

std::string this_owner() {
  const std::string& mark = machine_mark();
  return fmt::format("{}:{}:{}{}{}", host_name(), getpid(), look_up(getpid()).start,
                     mark.empty() ? "" : "-", mark);
}

bool is_gone(const std::string& owner) {
  std::string_view rest = owner;
  if (part(rest) != host_name()) return false;
  const std::string_view number = part(rest);
  std::string_view mark = part(rest);
  const std::string_view start = part(mark, '-');
  if (!mark.empty() && mark != machine_mark()) return false;
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), pid);
  if (error != std::errc() || end != number.data() + number.size() || pid <= 0) return false;
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  const Process process = look_up(pid);
  if (process.dead) return true;
  return !start.empty() && start != "0" && process.start != "0" && process.start != start;
}

}  // namespace tandem::store
