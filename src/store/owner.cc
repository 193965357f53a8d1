// SPDX-License-Identifier: MIT
#include "store/owner.h"

#include <fmt/format.h>
#include <unistd.h>

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

std::string_view part(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  const std::string_view first = rest.substr(0, colon);
  rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  return first;
}

}  // namespace

std::string this_owner() {
  return fmt::format("{}:{}:{}", host_name(), getpid(), look_up(getpid()).start);
}

bool is_gone(const std::string& owner) {
  std::string_view rest = owner;
  if (part(rest) != host_name()) return false;
  const std::string_view number = part(rest);
  const std::string_view start = part(rest);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), pid);
  if (error != std::errc() || end != number.data() + number.size() || pid <= 0) return false;
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  const Process process = look_up(pid);
  if (process.dead) return true;
  return !start.empty() && start != "0" && process.start != "0" && process.start != start;
}

}  // namespace tandem::store
