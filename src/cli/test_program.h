// SPDX-License-Identifier: MIT
// For tests: runs the program as a user would.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// A command line of the shell in which $T is the program; standard error only where the command
/// sends it to standard output.
inline Result shell(const std::string& command) {
  setenv("T", TANDEM_PROGRAM, 1);
  FILE* pipe = popen(("exec 2>/dev/null; " + command).c_str(), "r");
  Result result;
  std::array<char, 4096> buffer{};
  for (std::size_t count = 1; count > 0;) {
    count = std::fread(buffer.data(), 1, buffer.size(), pipe);
    result.out.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
  }
}

/// That a command ended so, and said all of these.
inline void expect_end(const Result& result, int exit_code, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out;
  expect_parts(result.out, parts);
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> values;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) values.push_back(nlohmann::json::parse(line));
  return values;
}

}  // namespace tandem::cli
