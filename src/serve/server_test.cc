// SPDX-License-Identifier: MIT
// The dashboard's server as its viewers meet it, on a port of this machine.
#include "serve/server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve/test_raw_client.h"
#include "serve/url.h"
#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/temp_folder.h"

namespace tandem::serve {
namespace {

using nlohmann::json;
using store::Phase;
using store::Store;
using namespace std::chrono_literals;

constexpr const char* kHostile = "\"><script>alert(1)</script>";

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { fill(kHostile); }
  void TearDown() override {
    if (!server_) return;
    server_->stop();
    answering_.join();
  }

  void start(const std::string& token = {}, std::vector<std::filesystem::path> stores = {}) {
    if (stores.empty()) stores = {path_};
    server_ = std::make_unique<Server>(
        ServerOptions{.stores = stores, .host = "127.0.0.1", .port = 0, .token = token});
    answering_ = std::thread([this] { server_->run(); });
  }
  httplib::Client client() const {
    httplib::Client client("127.0.0.1", server_->port());
    client.set_read_timeout(30s);
    return client;
  }
  json get(const std::string& path, int status = 200) const {
    const auto response = client().Get(path);
    if (!response) {
      ADD_FAILURE() << path << ": no answer";
      return {};
    }
    EXPECT_EQ(response->status, status) << path << ": " << response->body;
    EXPECT_EQ(response->get_header_value("Content-Type"), "application/json") << path;
    return json::parse(response->body, nullptr, false);
  }

  /// A study of one task and two units: three settings tuned, one of them measured.
  void fill(const std::string& name, std::size_t finished = 2) {
    Store store = Store::open(path_, Store::Mode::write);
    study_ = store::add_small_study(
        store, {.name = name,
                .text = "{}",
                .task = "nsl-kdd words=9 logistic lambda=0.023 batch=64 init=zeros",
                .tune_seed = 3});
    for (std::size_t i = 0; i < finished; ++i) finish(i);
  }

  void finish(std::size_t unit) {
    Store store = Store::open(path_, Store::Mode::write);
    const auto member = [](const std::string& lr, double loss, Phase phase, std::uint64_t seed) {
      return store::MemberRow{
          .optimizer = "adam",
          .method = "adam",
          .baseline = true,
          .options = {{"beta1", "0.8"}, {"lr", lr}},
          .seed = seed,
          .phase = phase,
          .points = {{.epoch = 0, .train_loss = 2}, {.epoch = 1, .train_loss = loss}}};
    };
    const auto units = store.units(study_);
    if (unit == 0) {
      store::MemberRow wild = member("9", -1, Phase::tune, 3);
      wild.diverged = true;
      store::finish_unit(
          store, study_, units[0],
          {member("0.1", 0.5, Phase::tune, 3), member("0.2", 0.25, Phase::tune, 3), wild});
    } else {
      store::finish_unit(store, study_, units[1], {member("0.2", 0.375, Phase::measure, 5)});
    }
  }

  tests::TempFolder temp_;
  std::filesystem::path path_ = temp_.path() / "runs.db";
  std::int64_t study_ = 0;
  std::unique_ptr<Server> server_;
  std::thread answering_;
};

/// Reads a stream of events on a thread of its own.
class Viewer {
 public:
  explicit Viewer(httplib::Client client) : client_(std::move(client)) {
    reading_ = std::thread([this] {
      client_.Get("/api/events", [this](const char* data, std::size_t size) {
        const std::lock_guard guard(mutex_);
        text_.append(data, size);
        changed_.notify_all();
        return !leaving_;
      });
    });
  }
  ~Viewer() {
    {
      const std::lock_guard guard(mutex_);
      leaving_ = true;
    }
    client_.stop();
    reading_.join();
  }
  /// Whether an event for which `wanted` holds comes within half a minute.
  template <class Wanted>
  bool sees(const Wanted& wanted) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, 30s, [&] {
      const std::optional<json> event = last();
      return event && wanted(*event);
    });
  }

 private:
  std::optional<json> last() const {
    const std::size_t end = text_.rfind("\n\n");
    if (end == std::string::npos) return std::nullopt;
    const std::string mark = "event: overview\ndata: ";
    const std::size_t begin = text_.rfind(mark, end);
    if (begin == std::string::npos) return std::nullopt;
    const std::size_t data = begin + mark.size();
    return json::parse(text_.substr(data, text_.find('\n', data) - data), nullptr, false);
  }

  httplib::Client client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool leaving_ = false;
  std::thread reading_;
};

TEST_F(ServerTest, ListsStudies) {
  start();
  const json overview = get("/api/overview");
  ASSERT_EQ(overview["studies"].size(), 1U);
  const json& study = overview["studies"][0];
  EXPECT_EQ(study["name"], kHostile);
  EXPECT_EQ(study["state"], "complete");
  EXPECT_EQ(study["part"], 1);
  EXPECT_EQ(study["members"], 4);
  EXPECT_EQ(study["units"], 2);
  EXPECT_TRUE(study["workers"].empty());
  // The name of the file, not where on this machine it is.
  EXPECT_EQ(overview["stores"][0]["name"], "runs.db");
  EXPECT_EQ(overview.dump().find(temp_.path().string()), std::string::npos);
}

TEST_F(ServerTest, ShowsAStudyAndItsRuns) {
  start();
  const std::string id = "0/" + std::to_string(study_);
  const json study = get("/api/studies/" + id);
  EXPECT_EQ(study["name"], kHostile);
  EXPECT_EQ(study["tasks"][0]["optimum"], 0.125);
  const json& adam = study["tasks"][0]["optimizers"][0];
  EXPECT_EQ(adam["grid"]["values"]["lr"], json({"0.1", "0.2", "9"}));
  EXPECT_EQ(adam["grid"]["loss"], json({0.5, 0.25, nullptr}));
  EXPECT_EQ(adam["grid"]["diverged"], json({2}));
  EXPECT_EQ(adam["runs"][0]["points"]["train_loss"], json({2, 0.375}));
  EXPECT_FALSE(adam["runs"][0]["points"].contains("delta"));

  const json runs = get("/api/runs/" + id + "?order=id");
  ASSERT_EQ(runs["runs"].size(), 4U);
  EXPECT_EQ(runs["runs"][1]["loss"], 0.25);
  EXPECT_EQ(runs["runs"][2]["diverged"], true);
  const json run = get("/api/run/" + id + "/" + runs["runs"][3]["id"].dump());
  EXPECT_EQ(run["seed"], 5);
  EXPECT_EQ(run["options"]["lr"], "0.2");
  EXPECT_EQ(run["command"],
            "tandem train --data nsl-kdd --lambda 0.023 --batch 64 --data-option words=9 --init "
            "zeros --data-seed 3 --seed 5 --epochs 1 --optimizer adam --option beta1=0.8 --lr 0.2");
}

TEST_F(ServerTest, RunsComeInPages) {
  start();
  const std::string address = "/api/runs/0/" + std::to_string(study_);
  const json page = get(address + "?words=LR%200.2&direction=descending&offset=1&count=1");
  EXPECT_EQ(page["total"], 4);
  EXPECT_EQ(page["found"], 2);
  ASSERT_EQ(page["runs"].size(), 1U);
  EXPECT_EQ(page["runs"][0]["loss"], 0.25);
  for (const auto& [query, name] :
       std::vector<std::pair<std::string, std::string>>{{"order=speed", "speed"},
                                                        {"phase=%3Cb%3E", "<b>"},
                                                        {"count=1001", "1000"},
                                                        {"offset=-1", "-1"},
                                                        {"offset=1e3", "1e3"}}) {
    const json answer = get(address + "?" + query, 400);
    EXPECT_NE(answer["error"].get<std::string>().find(name), std::string::npos) << answer;
  }
}

TEST_F(ServerTest, WhatIsNotThereIsNotFound) {
  start();
  for (const char* path :
       {"/api/studies/0/99", "/api/studies/7/1", "/api/studies/99999999999999999999999/1",
        "/api/run/0/1/999", "/api/runs/0/0", "/api/studies/0", "/api/studies/-1/1", "/nothing",
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/app.js/../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd", "//etc/passwd"}) {
    const json answer = get(path, 404);
    EXPECT_TRUE(answer.contains("error")) << path;
  }
}

TEST_F(ServerTest, EveryAnswerIsGuarded) {
  start();
  for (const char* path : {"/", "/app.js", "/app.css", "/api/overview", "/nothing"}) {
    const auto response = client().Get(path);
    ASSERT_TRUE(response) << path;
    const std::string policy = response->get_header_value("Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'; script-src 'self';"), std::string::npos) << path;
    EXPECT_EQ(response->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(response->get_header_value("X-Frame-Options"), "DENY");
    EXPECT_FALSE(response->has_header("Access-Control-Allow-Origin")) << path;
  }
}

TEST_F(ServerTest, RefusesOtherHostsAndOtherMethods) {
  start();
  auto asks = client();
  for (const char* path : {"/", "/app.js", "/api/overview", "/api/events"}) {
    const auto response = asks.Get(path, {{"Host", "evil.example"}});
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 403) << path;
    EXPECT_EQ(response->body.find("studies"), std::string::npos);
  }
  const auto posted = asks.Post("/api/overview", "x", "text/plain");
  ASSERT_TRUE(posted);
  EXPECT_EQ(posted->status, 405);
  EXPECT_EQ(posted->get_header_value("Allow"), "GET, HEAD");
}

TEST_F(ServerTest, TheTokenOpensIt) {
  const std::string token = "0123456789abcdef";
  start(token);
  auto asks = client();
  EXPECT_EQ(asks.Get("/")->status, 401);
  EXPECT_EQ(asks.Get("/app.js")->status, 401);
  EXPECT_EQ(asks.Get("/api/overview?token=" + token)->status, 401);  // only once, at the door
  EXPECT_EQ(asks.Get("/?token=wrong")->status, 401);
  const auto door = asks.Get("/?token=" + token);
  EXPECT_EQ(door->status, 303);
  EXPECT_EQ(door->get_header_value("Location"), "/");
  const std::string cookie = door->get_header_value("Set-Cookie");
  EXPECT_NE(cookie.find("HttpOnly"), std::string::npos);
  EXPECT_NE(cookie.find("SameSite=Strict"), std::string::npos);
  const httplib::Headers with = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
  EXPECT_EQ(asks.Get("/api/overview", with)->status, 200);
  EXPECT_EQ(asks.Get("/api/overview", {{"Authorization", "Bearer " + token}})->status, 200);
}

TEST_F(ServerTest, ThePrintedAddressOpensIt) {
  const std::string token = "+&#%41=?/'\\\xc3\xa4 0123";
  start(token);
  const std::string address = page_address("127.0.0.1", server_->port(), token);
  const std::size_t path = address.find("/?");
  ASSERT_NE(path, std::string::npos);
  // Not by httplib, which decodes the headers that it receives.
  const auto ask = [&](const std::string& target, const std::string& more) {
    RawClient asks(server_->port());
    asks.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n");
    return asks.read_answer();
  };
  const Answer door = ask(address.substr(path), "");
  EXPECT_EQ(door.status, 303);
  const std::string mark = "Set-Cookie: ";
  const std::size_t begin = door.head.find(mark);
  ASSERT_NE(begin, std::string::npos) << door.head;
  const std::size_t end = door.head.find(';', begin);
  const std::string cookie = door.head.substr(begin + mark.size(), end - begin - mark.size());
  EXPECT_EQ(ask("/", "Cookie: " + cookie + "\r\n").status, 200);
  EXPECT_EQ(ask("/", "").status, 401);
  EXPECT_EQ(ask("/?token=%2B", "").status, 401);
}

TEST_F(ServerTest, EveryAddressOfThisMachineOpensIt) {
  for (const char* host : {"127.0.0.1", "127.0.0.2", "127.200.1.9", "localhost", "::1"}) {
    std::unique_ptr<Server> server;
    try {
      server = std::make_unique<Server>(ServerOptions{.stores = {path_}, .host = host, .port = 0});
    } catch (const std::runtime_error&) {
      EXPECT_STREQ(host, "::1");  // not every machine has IPv6
      continue;
    }
    std::thread answering([&] { server->run(); });
    httplib::Client asks(host, server->port());
    const std::string address = page_address(host, server->port(), "");
    const std::string name = address.substr(7, address.size() - 8);  // "http://NAME/"
    const auto response = asks.Get("/", {{"Host", name}});
    EXPECT_TRUE(response && response->status == 200) << address;
    server->stop();
    answering.join();
  }
}

TEST_F(ServerTest, ViewersSeeAStudyGrow) {
  fill("growing", 0);
  start();
  const auto growing = [](const json& overview) -> const json& { return overview["studies"][1]; };
  std::vector<std::unique_ptr<Viewer>> viewers;
  for (int i = 0; i < 50; ++i) viewers.push_back(std::make_unique<Viewer>(client()));
  for (auto& viewer : viewers) {
    EXPECT_TRUE(viewer->sees([&](const json& seen) {
      return growing(seen)["name"] == "growing" && growing(seen)["done"] == 0;
    }));
  }
  {
    Store store = Store::open(path_, Store::Mode::write);
    store.tell(study_, {.owner = store::this_owner(),
                        .part = 0.25,
                        .seconds_left = 90,
                        .doing = "adam, epoch 1",
                        .curve = R"({"epoch": [0], "train_loss": [2]})",
                        .machine = "a machine",
                        .target = "AVX2"});
  }
  for (auto& viewer : viewers) {
    EXPECT_TRUE(viewer->sees([&](const json& seen) {
      const json& study = growing(seen);
      return study["state"] == "running" && study["part"] == 0.25 && study["seconds_left"] == 90 &&
             study["workers"][0]["curve"]["train_loss"] == json({2}) &&
             study["workers"][0]["machine"] == "a machine" &&
             study["workers"][0]["target"] == "AVX2" && study["workers"][0]["updated"] > 0;
    }));
  }
  const json before = growing(get("/api/overview"))["revision"];
  finish(0);
  EXPECT_TRUE(viewers[0]->sees([&](const json& seen) {
    return growing(seen)["done"] == 1 && growing(seen)["revision"] != before;
  }));
  const json study = get("/api/studies/0/" + std::to_string(study_));
  EXPECT_EQ(study["tasks"][0]["optimizers"][0]["grid"]["loss"].size(), 3U);
  EXPECT_EQ(study["complete"], false);
}

TEST_F(ServerTest, AStoreThatGoesAndComesBack) {
  start();
  EXPECT_EQ(get("/api/overview")["studies"].size(), 1U);
  for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(path_.string() + ending);
  json overview = get("/api/overview");
  EXPECT_TRUE(overview["studies"].empty());
  EXPECT_NE(overview["stores"][0]["error"].dump().find("no such store"), std::string::npos);
  fill("new");
  overview = get("/api/overview");
  EXPECT_EQ(overview["stores"][0]["error"], nullptr);
  EXPECT_EQ(overview["studies"][0]["name"], "new");
}

TEST_F(ServerTest, ReadsOnly) {
  start();
  const auto written = std::filesystem::last_write_time(path_);
  const std::uintmax_t size = std::filesystem::file_size(path_);
  get("/api/overview");
  get("/api/studies/0/1");
  get("/api/runs/0/1");
  EXPECT_EQ(std::filesystem::last_write_time(path_), written);
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST_F(ServerTest, SaysThatAPortIsTaken) {
  start();
  try {
    const Server second({.stores = {path_}, .host = "127.0.0.1", .port = server_->port()});
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("the port is taken"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem::serve
