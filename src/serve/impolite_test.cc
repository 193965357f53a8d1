// SPDX-License-Identifier: MIT
// The dashboard's server and clients that are not polite: whatever they send, and however slowly,
// they get nothing but whole answers, and others get theirs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "serve/server.h"
#include "serve/test_raw_client.h"
#include "store/store.h"
#include "store/test_small_study.h"
#include "tests/temp_folder.h"

namespace tandem::serve {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ImpoliteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    {
      store::Store store = store::Store::open(path_, store::Store::Mode::write);
      store::add_small_study(store, {.name = "small"});
    }
    server_ = std::make_unique<Server>(ServerOptions{.stores = {path_}, .port = 0});
    answering_ = std::thread([this] { server_->run(); });
    whole_ = ask("/api/overview").body;
    ASSERT_NE(whole_.find("small"), std::string::npos) << whole_;
  }
  /// Whatever a test did, the server answers, and ends when it shall.
  void TearDown() override {
    expect_answers();
    stop();
  }
  void stop() {
    if (!answering_.joinable()) return;
    const auto begin = Clock::now();
    server_->stop();
    answering_.join();
    EXPECT_LT(Clock::now() - begin, 5s);  // far less on a machine that has time
  }

  RawClient client(int receive_buffer = 0) const { return RawClient(port(), receive_buffer); }
  int port() const { return server_->port(); }
  /// A request that is in order; `more` are header lines.
  std::string request(const std::string& path, const std::string& more = {}) const {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost:{}\r\n{}\r\n", path, port(), more);
  }
  Answer ask_raw(const std::string& text) const {
    RawClient asks = client();
    asks.send(text);
    return asks.read_answer();
  }
  Answer ask(const std::string& path, const std::string& more = {}) const {
    return ask_raw(request(path, more));
  }
  void expect_answers() const {
    if (!answering_.joinable()) return;
    const Answer answer = ask("/api/overview");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, whole_);
  }
  /// Refused or closed, but nothing of the stores.
  void expect_refused(const std::string& text, const std::string& what) const {
    const Answer answer = ask_raw(text);
    EXPECT_TRUE(answer.status == 0 || (answer.status >= 400 && answer.status < 500))
        << what << ": " << answer.head;
    EXPECT_EQ(answer.body.find("small"), std::string::npos) << what;
    expect_answers();
  }

  tests::TempFolder temp_;
  std::filesystem::path path_ = temp_.path() / "runs.db";
  std::unique_ptr<Server> server_;
  std::thread answering_;
  std::string whole_;  // the overview
};

TEST_F(ImpoliteTest, RangesGiveTheWholeContent) {
  std::string many = "bytes=0-";
  for (int i = 1; i < 1000; ++i) many += ",0-";
  const std::vector<std::string> ranges = {"bytes=407-60407",
                                           "bytes=-9000000",
                                           "bytes=-1",
                                           "bytes=0-0",
                                           "bytes=0-99999999",
                                           "bytes=1000000-",
                                           "bytes=5-1",
                                           "bytes=18446744073709551615-18446744073709551616",
                                           "bytes=-18446744073709551615",
                                           "bytes=9999999999999999999999999-",
                                           "bytes=0-0,5-99999,-7",
                                           "items=0-5",
                                           "bytes",
                                           many};
  for (const char* path : {"/", "/app.js", "/app.css", "/api/overview", "/api/studies/0/1",
                           "/api/runs/0/1", "/api/run/0/1/1", "/nothing", "/api/nothing"}) {
    const Answer plain = ask(path);
    ASSERT_TRUE(plain.whole) << path;
    EXPECT_FALSE(plain.has("Accept-Ranges")) << path;
    for (const std::string& range : ranges) {
      for (const char* more : {"", "If-Range: \"x\"\r\n"}) {
        const Answer answer = ask(path, "Range: " + range + "\r\n" + more);
        EXPECT_EQ(answer.status, plain.status) << path << " " << range;
        EXPECT_TRUE(answer.body == plain.body) << path << " " << range;
        EXPECT_FALSE(answer.has("Content-Range"));
      }
    }
  }
}

TEST_F(ImpoliteTest, AnswersRequestsInOneGo) {
  const std::string style = ask("/app.css").body;
  RawClient asks = client();
  std::string text;
  for (int i = 0; i < 50; ++i) text += request("/api/overview") + request("/app.css");
  ASSERT_TRUE(asks.send(text));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(asks.read_answer().body, whole_) << i;
    EXPECT_EQ(asks.read_answer().body, style) << i;
  }
  // Pieces of any size.
  text = request("/api/overview") + request("/nothing");
  for (const char byte : text) asks.send({&byte, 1});
  EXPECT_EQ(asks.read_answer().body, whole_);
  EXPECT_EQ(asks.read_answer().status, 404);
}

TEST_F(ImpoliteTest, HeadGivesTheHeadAlone) {
  for (const char* path : {"/", "/app.js", "/api/overview", "/api/events", "/nothing"}) {
    RawClient asks = client();
    std::string text = request(path, "Connection: close\r\n");
    text.replace(0, 3, "HEAD");
    asks.send(text);
    const Answer answer = asks.read_answer(/*to_head=*/true);
    EXPECT_EQ(answer.status, std::string(path) == "/nothing" ? 404 : 200) << path;
    EXPECT_TRUE(answer.has("Content-Security-Policy: default-src 'none'")) << path;
    bool closed = false;
    EXPECT_EQ(asks.read_all(&closed), "") << path;
    EXPECT_TRUE(closed) << path;
  }
}

TEST_F(ImpoliteTest, RefusesGiantHeads) {
  const std::string host = fmt::format("Host: localhost:{}\r\n", port());
  std::string giant;
  for (int i = 0; i < 1000; ++i) giant += std::string(10'000, 'x');
  expect_refused("GET / HTTP/1.1\r\n" + host + "Cookie: " + giant + "\r\n\r\n", "a long value");
  expect_refused("GET / HTTP/1.1\r\n" + host + giant + ": 1\r\n\r\n", "a long name");
  expect_refused("GET /" + giant + " HTTP/1.1\r\n" + host + "\r\n", "a long target");
  expect_refused("GET /?" + giant + " HTTP/1.1\r\n" + host + "\r\n", "a long query");
  expect_refused(giant + " / HTTP/1.1\r\n" + host + "\r\n", "a long method");
  expect_refused(giant, "a line without end");
  expect_refused("GET / " + giant + "\r\n" + host + "\r\n", "a long version");
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += fmt::format("X-{}: {}\r\n", i, i);
  expect_refused("GET / HTTP/1.1\r\n" + host + many + "\r\n", "many headers");
  // As much as fits is read.
  EXPECT_EQ(ask("/", "X: " + std::string(8000, 'x') + "\r\n").status, 200);
}

TEST_F(ImpoliteTest, AnswersGetAndHeadAlone) {
  const std::string rest = fmt::format(" / HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", port());
  for (const std::string& method : std::vector<std::string>{
           "get", "Get", "head", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW",
           "PRI", "G\x01T", "\xff\xfe", std::string(1000, 'M')}) {
    const Answer answer = ask_raw(method + rest);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_TRUE(answer.has("Allow: GET, HEAD\r\n")) << method;
    EXPECT_TRUE(answer.whole) << method;
  }
  expect_refused(fmt::format("OPTIONS * HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", port()), "*");
  expect_refused(fmt::format("CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", port()),
                 "a tunnel");
}

TEST_F(ImpoliteTest, TakesNoBodies) {
  const std::string inner = request("/app.js");
  // The length of the body, its text, and the status.
  struct Case {
    std::string method, more, body;
    int status;
  };
  const std::vector<Case> cases = {
      {"GET", fmt::format("Content-Length: {}\r\n", inner.size()), inner, 400},
      {"GET", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n", 400},
      {"POST", "Content-Length: 5\r\n", "hello", 405},
      {"POST", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\nX: y\r\n\r\n", 405},
      {"POST", "Content-Length: 999999999999999999\r\n", "hello", 405},
      {"POST", "Content-Length: 99999999999999999999999\r\n", "hello", 413},
      {"POST", "Content-Length: -5\r\n", "hello", 400},
      {"GET", "Content-Length: five\r\n", "hello", 400},
      {"GET", "Content-Length: 5\r\nContent-Length: 7\r\n", "hello", 400},
      {"GET", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner, 400},
      {"PUT", "Expect: 100-continue\r\nContent-Length: 5\r\n", "", 405},
  };
  for (const Case& tried : cases) {
    SCOPED_TRACE(tried.method + " " + tried.more);
    RawClient asks = client();
    asks.send(fmt::format("{} / HTTP/1.1\r\nHost: localhost:{}\r\n{}\r\n{}", tried.method, port(),
                          tried.more, tried.body));
    const Answer answer = asks.read_answer();
    EXPECT_EQ(answer.status, tried.status) << answer.head;
    // What was hidden in the body is not answered.
    bool closed = false;
    EXPECT_EQ(asks.read_all(&closed).find("200 OK"), std::string::npos);
    EXPECT_TRUE(closed);
    expect_answers();
  }
  // Nor is a body ever kept: this one has no end.
  RawClient endless = client();
  endless.send(
      fmt::format("POST / HTTP/1.1\r\nHost: localhost:{}\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n",
                  port()));
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", 10'000, std::string(10'000, 'x'));
  int sent = 0;
  while (sent < 10'000 && endless.send(chunk)) ++sent;
  EXPECT_LT(sent, 10'000);
  EXPECT_EQ(ask("/", "Content-Length: 0\r\n").status, 200);
}

TEST_F(ImpoliteTest, WantsOneHost) {
  const std::string ours = fmt::format("Host: localhost:{}\r\n", port());
  const std::string evil = "Host: evil.example\r\n";
  const auto status = [&](const std::string& target, const std::string& hosts,
                          const char* version = "1.1") {
    const Answer answer = ask_raw(fmt::format("GET {} HTTP/{}\r\n{}\r\n", target, version, hosts));
    EXPECT_EQ(answer.status == 200, answer.body == whole_) << target << " " << hosts;
    return answer.status;
  };
  EXPECT_EQ(status("/api/overview", ours), 200);
  EXPECT_EQ(status("/api/overview", ours + ours), 400);
  EXPECT_EQ(status("/api/overview", ours + evil), 400);
  EXPECT_EQ(status("/api/overview", evil + ours), 400);
  EXPECT_EQ(status("/api/overview", evil), 403);
  EXPECT_EQ(status("/api/overview", ""), 400);
  EXPECT_EQ(status("/api/overview", "", "1.0"), 403);
  EXPECT_EQ(status("/api/overview", "Host:\r\n"), 403);
  EXPECT_EQ(status("/api/overview", "hOsT: LOCALHOST:" + std::to_string(port()) + "\r\n"), 200);
  // A host in the target comes before the header.
  const std::string target = fmt::format("http://127.0.0.1:{}/api/overview", port());
  EXPECT_EQ(status(target, ours), 200);
  EXPECT_EQ(status(target, evil), 200);
  EXPECT_EQ(status("http://evil.example/api/overview", ours), 403);
  EXPECT_EQ(status("http://evil.example", ours), 403);
  EXPECT_EQ(status("http://localhost@evil.example/api/overview", ours), 403);
  EXPECT_NE(status("https://localhost/api/overview", ours), 200);
}

TEST_F(ImpoliteTest, OddBytes) {
  using namespace std::string_literals;
  const std::string host = fmt::format("Host: localhost:{}\r\n", port());
  const std::vector<std::string> texts = {
      "\r\n"s,
      "\r\n\r\n\r\n\r\n"s,
      "GET\r\n\r\n"s,
      "GET \r\n\r\n"s,
      "GET /\r\n\r\n"s,
      "GET  HTTP/1.1\r\n" + host + "\r\n",
      "GET / HTTP/9.9\r\n" + host + "\r\n",
      "GET / HTTP/0.9\r\n" + host + "\r\n",
      "GET / HTTP/1.1 \r\n" + host + "\r\n",
      "GET / HTTP/11\r\n" + host + "\r\n",
      " GET / HTTP/1.1\r\n" + host + "\r\n",
      "GET /\0/app.js HTTP/1.1\r\n"s + host + "\r\n",
      "GET /app.js%00 HTTP/1.1\r\n" + host + "\r\n",
      "GET\0 / HTTP/1.1\r\n"s + host + "\r\n",
      "GET / HTTP/1.1\r\n" + host + "X\0Y: a\0b\r\n\r\n"s,
      "GET / HTTP/1.1\r\n" + host + ": empty\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + "no colon\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + " folded\r\n\tmore\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + "X : y\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + "Cookie: ;;;=;=;a;\"\r\nCookie: b=\"\r\n\r\n",
      "GET /%zz%2 HTTP/1.1\r\n" + host + "\r\n",
      "GET /\xff\xfe HTTP/1.1\r\n" + host + "\r\n",
      "GET /api/studies/%30/1 HTTP/1.1\r\n" + host + "\r\n",
      "GET /api/studies/0/ HTTP/1.1\r\n" + host + "\r\n",
      "GET /api/studies//1 HTTP/1.1\r\n" + host + "\r\n",
      "GET /api/ HTTP/1.1\r\n" + host + "\r\n",
      "GET ? HTTP/1.1\r\n" + host + "\r\n",
      "GET /?token HTTP/1.1\r\n" + host + "\r\n",
      "GET /?token=&&==&token=%00 HTTP/1.1\r\n" + host + "\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s,
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s + std::string(500, '\0'),
  };
  // All at the same time: where the server waits for more, it does so for ten seconds.
  std::vector<RawClient> clients;
  for (const std::string& text : texts) {
    clients.push_back(client());
    clients.back().send(text);
    clients.back().finish_sending();
  }
  expect_answers();
  // Lines that end in LF alone.
  EXPECT_EQ(ask_raw(fmt::format("GET /api/overview HTTP/1.1\nHost: localhost:{}\n\n", port())).body,
            whole_);
  // Noise.
  std::mt19937 random(19);  // NOLINT: the same noise every time
  for (int i = 0; i < 300; ++i) {
    std::string text = i % 2 == 0 ? request("/api/overview") : std::string(200, ' ');
    for (int k = 0; k < 1 + i / 10; ++k) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    clients.push_back(client());
    clients.back().send(text);
    clients.back().finish_sending();
  }
  for (RawClient& asks : clients) EXPECT_NE(asks.read_answer().status, 500);
}

TEST_F(ImpoliteTest, OldClients) {
  RawClient asks = client();
  asks.send(fmt::format("GET /api/overview HTTP/1.0\r\nHost: localhost:{}\r\n\r\n", port()));
  bool closed = false;
  const std::string text = asks.read_all(&closed);
  EXPECT_TRUE(closed);
  EXPECT_NE(text.find("\r\n\r\n" + whole_), std::string::npos);
  RawClient watches = client();
  watches.send(fmt::format("GET /api/events HTTP/1.0\r\nHost: localhost:{}\r\n\r\n", port()));
  EXPECT_TRUE(watches.read_until("\r\n\r\nevent: overview\ndata: " + whole_ + "\n\n"));
}

TEST_F(ImpoliteTest, ConnectsAndResets) {
  const std::vector<std::string> texts = {"",
                                          "GET / HT",
                                          request("/api/overview"),
                                          request("/api/studies/0/1"),
                                          request("/app.js") + request("/app.js"),
                                          request("/api/events"),
                                          "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n1234"};
  for (int i = 0; i < 1000; ++i) {
    RawClient asks = client();
    ASSERT_TRUE(asks.connected()) << i;
    const std::size_t kind = static_cast<std::size_t>(i) % texts.size();
    asks.send(texts[kind]);
    const bool is_whole = kind >= 2 && kind <= 5;
    if (is_whole && i % 3 == 0) asks.read_answer(/*to_head=*/true);
    if (i % 2 == 0) asks.reset();
  }
  expect_answers();
  // Those who left take no place among the viewers. It may take a second until that is noticed.
  int status = 0;
  for (int tries = 0; tries < 100 && status != 200; ++tries) {
    RawClient watches = client();
    watches.send(request("/api/events"));
    status = watches.read_answer(/*to_head=*/true).status;
    if (status != 200) std::this_thread::sleep_for(200ms);
  }
  EXPECT_EQ(status, 200);
}

TEST_F(ImpoliteTest, AHundredViewersAtMost) {
  std::vector<RawClient> viewers;
  for (int i = 0; i < 100; ++i) {
    viewers.push_back(client());
    viewers.back().send(request("/api/events"));
    ASSERT_TRUE(viewers.back().read_until("\n\n\r\n")) << i;
  }
  EXPECT_EQ(ask("/api/events").status, 503);
  expect_answers();
  viewers.clear();
  int status = 0;
  for (int tries = 0; tries < 100 && status != 200; ++tries) {
    RawClient watches = client();
    watches.send(request("/api/events"));
    status = watches.read_answer(/*to_head=*/true).status;
    if (status != 200) std::this_thread::sleep_for(200ms);
  }
  EXPECT_EQ(status, 200);
}

/// Sends a byte to each of some connections every now and then.
class Trickle {
 public:
  Trickle(int port, int number) {
    for (int i = 0; i < number; ++i) clients_.emplace_back(port);
    sending_ = std::thread([this] {
      while (!done_) {
        for (const RawClient& slow : clients_) slow.send("G");
        std::this_thread::sleep_for(100ms);
      }
    });
  }
  ~Trickle() {
    done_ = true;
    sending_.join();
  }
  Trickle(const Trickle&) = delete;
  Trickle& operator=(const Trickle&) = delete;

 private:
  std::vector<RawClient> clients_;
  std::atomic<bool> done_ = false;
  std::thread sending_;
};

TEST_F(ImpoliteTest, ClientsThatSendAByteNowAndThenKeepNobodyOut) {
  RawClient first = client();
  first.send("GET /");
  const auto begin = Clock::now();
  const Trickle slow(port(), 140);
  for (int i = 0; i < 50; ++i) expect_answers();
  const Trickle more(port(), 140);
  for (int i = 0; i < 50; ++i) expect_answers();
  // A request that is never whole ends, and so does a connection that asks for nothing.
  RawClient idle = client();
  idle.send(request("/"));
  EXPECT_EQ(idle.read_answer().status, 200);
  for (RawClient* late : {&first, &idle}) {
    bool closed = false;
    late->read_all(&closed);
    EXPECT_TRUE(closed);
  }
  EXPECT_LT(Clock::now() - begin, 60s);
}

TEST_F(ImpoliteTest, ClientsThatDoNotReadKeepNobodyOut) {
  std::string much;
  for (int i = 0; i < 30; ++i) much += request("/app.js");
  std::vector<RawClient> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(client(/*receive_buffer=*/4096));
    ASSERT_TRUE(clients.back().connected()) << i;
    clients.back().send(much);
    if (i % 10 == 0) expect_answers();
  }
}

TEST_F(ImpoliteTest, EndsWhateverIsOpen) {
  const Trickle slow(port(), 100);
  std::vector<RawClient> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(client(/*receive_buffer=*/4096));
    for (int k = 0; k < 20; ++k) clients.back().send(request("/app.js"));
    clients.push_back(client());
    clients.back().send(request("/api/events"));
    clients.push_back(client());
    clients.back().send(request("/api/studies/0/1"));
    clients.push_back(client());
  }
  EXPECT_TRUE(clients[1].read_until("event: overview"));
  stop();
  bool closed = false;
  clients[1].read_all(&closed);
  EXPECT_TRUE(closed);
}

TEST_F(ImpoliteTest, StopsBeforeItRuns) {
  Server other({.stores = {path_}, .port = 0});
  RawClient waits(other.port());
  waits.send(request("/"));
  other.stop();
  other.run();
}

}  // namespace
}  // namespace tandem::serve
