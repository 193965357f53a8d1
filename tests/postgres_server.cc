// SPDX-License-Identifier: MIT
#include "tests/postgres_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace tandem::tests {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr uid_t kNobody = 65534;

/// A program, also where Debian keeps those of the server; empty if there is none.
std::string find_program(const std::string& name) {
  std::vector<fs::path> folders;
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  rest += ":/usr/sbin:";
  for (std::size_t end = rest.find(':'); end != std::string::npos; end = rest.find(':')) {
    folders.emplace_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  std::error_code error;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    folders.push_back(version.path() / "bin");
  }
  for (const fs::path& folder : folders) {
    if (access((folder / name).c_str(), X_OK) == 0) return folder / name;
  }
  return "";
}

void give_to_nobody(const fs::path& path) {
  if (geteuid() != 0) return;
  if (chown(path.c_str(), kNobody, kNobody) != 0)
    throw std::runtime_error("chown " + path.string());
}

/// A folder that nobody can reach and write to.
fs::path folder_of_nobody(const TempFolder& folder) {
  fs::permissions(folder.path(), fs::perms(0755));
  fs::path own = folder / "own";
  fs::create_directory(own);
  fs::permissions(own, fs::perms(0700));
  give_to_nobody(own);
  return own;
}

[[noreturn]] void become(const std::vector<std::string>& command, const fs::path& log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  dup2(file, 1);
  dup2(file, 2);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  for (int other = 3; other < 256; ++other) close(other);
  if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(98);
  prctl(PR_SET_PDEATHSIG, SIGQUIT);  // a change of the user forgets it
  setenv("LC_ALL", "C", 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(99);
}

int run(const std::vector<std::string>& command, const fs::path& log) {
  const pid_t pid = fork();
  if (pid == 0) become(command, log);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (bind(file, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(file, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no free port");
  }
  close(file);
  return ntohs(address.sin_port);
}

bool listens(int port) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  const bool connected =
      connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(file);
  return connected;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <typename Condition>
void wait_until(const Condition& condition, const std::string& what, const fs::path& log) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return;
    std::this_thread::sleep_for(10ms);
  }
  throw std::runtime_error(what + " does not start: " + text_of(log));
}

}  // namespace

void Daemon::start(const std::vector<std::string>& command, const fs::path& log) {
  pid_ = fork();
  if (pid_ == 0) become(command, log);
}

void Daemon::end(int signal) {
  if (pid_ <= 0) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

// ---- The server ---------------------------------------------------------------------------------

std::string PostgresServer::missing() {
  for (const char* program : {"initdb", "postgres", "psql"}) {
    if (find_program(program).empty()) {
      return std::string("PostgreSQL's ") + program + " was not found (Debian's postgresql)";
    }
  }
  return "";
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

PostgresServer::PostgresServer() {
  const fs::path own = folder_of_nobody(folder_);
  const int code = run({find_program("initdb"), "--pgdata", own / "data", "--username", "postgres",
                        "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"},
                       own / "log");
  if (code != 0) throw std::runtime_error("initdb: " + text_of(own / "log"));
  start();
  for (const char* name : {"runs", "other"})
    sql(std::string("CREATE DATABASE ") + name, "postgres");
}

void PostgresServer::start() {
  const fs::path own = folder_ / "own";
  if (port_ == 0) port_ = free_port();
  fs::remove(own / "data" / "postmaster.pid");
  daemon_.start(
      {find_program("postgres"), "-D", own / "data", "-p", std::to_string(port_), "-k", own, "-c",
       "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "full_page_writes=off", "-c",
       "max_connections=50", "-c", "shared_buffers=32MB", "-c", "autovacuum_naptime=5s"},
      own / "log");
  // Its last line says so.
  wait_until(
      [&] { return text_of(own / "data" / "postmaster.pid").find("ready") != std::string::npos; },
      "postgres", own / "log");
}

std::string PostgresServer::url(const std::string& user, int port) const {
  return "postgresql://" + user + "@127.0.0.1:" + std::to_string(port == 0 ? port_ : port) +
         "/runs";
}

std::string PostgresServer::sql(const std::string& text, const std::string& database) const {
  const std::string query = folder_.write("query.sql", text);
  const std::string command = find_program("psql") + " -h 127.0.0.1 -p " + std::to_string(port_) +
                              " -U postgres -d " + database +
                              " -X -q -A -t -v ON_ERROR_STOP=1 -f " + query + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> part{};
  for (std::size_t size = 0; (size = fread(part.data(), 1, part.size(), pipe)) > 0;) {
    output.append(part.data(), size);
  }
  if (pclose(pipe) != 0) throw std::runtime_error("psql: " + output);
  return output;
}

void PostgresServer::clear(const std::string& database) const {
  sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
      "AND "
      "pid <> pg_backend_pid() \\g /dev/null\nDROP SCHEMA IF EXISTS tandem CASCADE",
      database);
}

// ---- The pooler ---------------------------------------------------------------------------------

std::string Pgbouncer::missing() {
  std::string server = PostgresServer::missing();
  if (!server.empty()) return server;
  return find_program("pgbouncer").empty() ? "pgbouncer was not found (Debian's pgbouncer)" : "";
}

Pgbouncer::Pgbouncer(const PostgresServer& server) : server_(server), port_(free_port()) {
  const fs::path own = folder_of_nobody(folder_);
  folder_.write("own/users", "\"postgres\" \"\"\n");
  folder_.write(
      "own/ini",
      "[databases]\nruns = host=127.0.0.1 port=" + std::to_string(server.port()) +
          "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + std::to_string(port_) +
          "\nunix_socket_dir =\nauth_type = trust\nauth_file = " + (own / "users").string() +
          "\npool_mode = transaction\ndefault_pool_size = 3\n");
  for (const char* file : {"users", "ini"}) give_to_nobody(own / file);
  start();
}

void Pgbouncer::start() {
  const fs::path own = folder_ / "own";
  daemon_.start({find_program("pgbouncer"), own / "ini"}, own / "log");
  wait_until([&] { return listens(port_); }, "pgbouncer", own / "log");
}

}  // namespace tandem::tests
