// SPDX-License-Identifier: MIT
// For tests: the program in a process that can be sent signals.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace tandem::cli {

/// The program in a process of its own, without output.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments) {
    std::vector<char*> list{const_cast<char*>(TANDEM_PROGRAM)};
    for (const std::string& argument : arguments)
      list.push_back(const_cast<char*>(argument.data()));
    list.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execv(TANDEM_PROGRAM, list.data());
    _exit(99);
  }
  ~Process() {
    if (!ended_) kill(pid_, SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const {
    if (!ended_) kill(pid_, signal);
  }
  /// The exit code, or minus the signal that ended it.
  int wait() {
    if (!ended_) waitpid(pid_, &status_, 0);
    ended_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
  }
  /// Whether it ended within the time.
  bool ends_within(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!ended_ && std::chrono::steady_clock::now() < end) {
      if (waitpid(pid_, &status_, WNOHANG) == pid_) {
        ended_ = true;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    return ended_;
  }

 private:
  pid_t pid_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

/// The exit code of the program where Ctrl-C comes once it has made this folder, which it does when
/// signals are caught.
inline int exit_code_of_ctrl_c(const std::vector<std::string>& arguments,
                               const std::filesystem::path& folder) {
  Process process(arguments);
  while (!std::filesystem::exists(folder)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process.send(SIGINT);
  return process.wait();
}

}  // namespace tandem::cli
