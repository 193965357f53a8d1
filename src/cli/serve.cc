// SPDX-License-Identifier: MIT
// `tandem serve`: the dashboard over one or more stores.
#include <fmt/format.h>
#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/interrupt.h"
#include "base/token.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/web_assets.h"

#ifdef TANDEM_SERVE
#include "serve/guard.h"
#include "serve/server.h"
#include "serve/url.h"
#include "store/store.h"
#endif

namespace tandem::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> stores;
  std::string host = "127.0.0.1";
  int port = 8127;
};

#ifdef TANDEM_SERVE

/// A token must fit into an Authorization header, and encoded into a cookie.
bool is_usable(const std::string& token) {
  constexpr std::size_t kLeast = 16, kMost = 1000;
  return token.size() >= kLeast && token.size() <= kMost &&
         std::none_of(token.begin(), token.end(), [](unsigned char c) {
           return c <= ' ' || c == 0x7f || c == ';' || c == ',' || c == '"';
         });
}

/// A token of the user's own, or a new one, where others than this machine can reach the address.
std::string token_for(const std::string& host) {
  if (const char* own = std::getenv("TANDEM_SERVE_TOKEN"); own != nullptr && *own != '\0') {
    if (!is_usable(own)) {
      throw std::invalid_argument(
          "Invalid TANDEM_SERVE_TOKEN: expected 16 to 1000 characters, without spaces, control "
          "characters, quotes, commas and semicolons");
    }
    return own;
  }
  return serve::is_loopback(host) ? std::string() : random_token();
}

int run_serve(const Options& options, const Common& common) {
  if (!report::web_available()) {
    print_message(
        "tandem: this program was built without the front end, for which it needs node 18 "
        "or later and npm (Debian: nodejs npm); `tandem report` shows what a store holds\n");
    return kFailed;
  }
  std::vector<std::filesystem::path> stores = options.stores;
  if (stores.empty()) stores = {"tandem.db"};
  for (const std::filesystem::path& store : stores) {
    store::Store::open(store, store::Store::Mode::read);  // says now what is wrong with it
  }
  const std::string token = token_for(options.host);
  serve::Server server(
      {.stores = stores, .host = options.host, .port = options.port, .token = token});
  // Whoever trains on this machine goes first.
  setpriority(PRIO_PROCESS, 0, 10);
  const std::string address = serve::page_address(options.host, server.port(), token);
  if (common.json) {
    write_json({{"event", "listening"}, {"address", address}});
  } else {
    print_result("The dashboard is at {} until Ctrl-C.\n", address);
    if (!serve::is_loopback(options.host) && !common.quiet) {
      if (options.host == "0.0.0.0" || options.host == "::") {
        print_result(
            "It listens on all addresses: elsewhere, put this machine's name in place of {}.\n",
            options.host);
      }
      print_result("Whoever has this address can see the stores; what passes is not encrypted.\n");
    }
  }
  flush_results();
  catch_interrupts();
  const std::jthread stopping([&](const std::stop_token& left) {
    while (!interrupted() && !left.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    server.stop();
  });
  server.run();
  return kDone;
}

#else

int run_serve(const Options&, const Common&) {
  print_message(
      "tandem: this program was built without the dashboard, for which it needs "
      "libmicrohttpd (Debian: libmicrohttpd-dev)\n");
  return kFailed;
}

#endif

}  // namespace

void add_serve(CLI::App& app, const Common& common, Job& job) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "serve",
      "Example: tandem serve --store kdd.db\n\n"
      "A dashboard in the browser: studies, their progress while they run, curves, runs. It only "
      "reads.");
  command->add_option("--store", options->stores, "A run store, as often as needed [tandem.db]");
  command
      ->add_option("--host", options->host,
                   "Address to listen on; beyond this machine a token is asked for")
      ->capture_default_str();
  command->add_option("--port", options->port, "Port to listen on; 0 is any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->callback([options, &common, &job] {
    job = [options, &common] { return run_serve(*options, common); };
  });
}

}  // namespace tandem::cli
