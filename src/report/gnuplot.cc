// SPDX-License-Identifier: MIT
#include "report/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "report/escape.h"
#include "report/render.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not all headers have it

namespace tandem::report {
namespace {

namespace fs = std::filesystem;

/// A folder that nobody else can look into, gone with its contents at the end.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "tandem-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr) {
      throw FigureError(fmt::format("Cannot make a temporary folder like {}: {}", name,
                                    error ? error.message() : std::strerror(errno)));
    }
    path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Ours, without what would make gnuplot another one: its own variables and the language.
std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (variable.starts_with("GNU") || variable.starts_with("LC_") ||
        variable.starts_with("LANG")) {
      continue;
    }
    variables.emplace_back(variable);
  }
  variables.emplace_back("LC_ALL=C.UTF-8");
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// The status that waitpid gives.
int run(const fs::path& program, const fs::path& folder) {
  // -d: no start-up files of the user.
  std::vector<std::string> arguments = {"gnuplot", "-d", "figures.gp"};
  std::vector<std::string> variables = environment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "errors.txt",
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  // Signals that we hold back are no affair of the child.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes,
                                pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw FigureError(fmt::format("Cannot start {}: {}", program.string(), std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    throw FigureError(fmt::format("Lost sight of gnuplot: {}", std::strerror(errno)));
  }
  return status;
}

std::string outcome(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

fs::path find_gnuplot() {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const fs::path folder = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // Entries that depend on where we stand are for nobody's good.
    if (!folder.is_absolute()) continue;
    fs::path program = folder / "gnuplot";
    std::error_code error;
    if (fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

std::vector<std::string> run_gnuplot(const std::string& script,
                                     const std::vector<std::string>& files) {
  const fs::path program = find_gnuplot();
  if (program.empty()) throw NoGnuplot();
  const PrivateFolder folder;
  std::ofstream stream(folder.path() / "figures.gp", std::ios::binary);
  stream << script;
  stream.close();
  if (!stream) {
    throw FigureError(
        fmt::format("Cannot write {}; is the disk full?", (folder.path() / "figures.gp").string()));
  }
  const int status = run(program, folder.path());
  if (status != 0) {
    const std::string said = clean_text(contents(folder.path() / "errors.txt"));
    throw FigureError(fmt::format("Gnuplot {}, expected pictures. It said: {}", outcome(status),
                                  said.empty() ? "nothing" : said));
  }
  std::vector<std::string> results;
  for (const std::string& file : files) {
    results.push_back(contents(folder.path() / file));
    if (results.back().empty()) {
      throw FigureError(fmt::format("Gnuplot did not write {}. It said: {}", file,
                                    clean_text(contents(folder.path() / "errors.txt"))));
    }
  }
  return results;
}

}  // namespace tandem::report
