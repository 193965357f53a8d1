// SPDX-License-Identifier: MIT
// For tests: runs the program as a user would.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace tandem::cli {

struct Result {
  int exit_code = -1;
  std::string out;  // standard output, and standard error where asked for
};

inline Result program(const std::string& arguments, bool with_errors = false) {
  const std::string command = std::string(TANDEM_PROGRAM) + " " + arguments +
                              (with_errors ? " 2>&1 >/dev/null" : " 2>/dev/null");
  FILE* pipe = popen(command.c_str(), "r");
  Result result;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) result.out += buffer.data();
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> values;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) values.push_back(nlohmann::json::parse(line));
  return values;
}

}  // namespace tandem::cli
