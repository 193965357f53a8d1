// SPDX-License-Identifier: MIT
// Downloads from a server on this machine that can misbehave, and the check of what came.
#include "data/fetch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "data/digest.h"
#include "data/download.h"
#include "data/test_files.h"
#include "data/verify.h"
#include "tests/temp_folder.h"

namespace tandem::data {
namespace {

std::string md5(const std::string& bytes) {
  return digest_of(std::make_unique<MemorySource>("", bytes), Digest::Kind::md5);
}

class Server {
 public:
  Server() {
    server_.Get(".*", [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request.path + " " + request.get_header_value("Range"));
      const auto found = files_.find(request.path);
      if (found == files_.end()) {
        response.status = 404;
        return;
      }
      if (cut_ > 0 && request.ranges.empty()) {
        // Promises all and stops in the middle, as a connection that breaks.
        const std::string all = found->second;
        const std::size_t cut = cut_;
        response.set_content_provider(
            all.size(), "application/octet-stream",
            [all, cut](std::size_t, std::size_t, httplib::DataSink& sink) {
              sink.write(all.data(), cut);
              return false;
            });
        return;
      }
      response.set_content(found->second, "application/octet-stream");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Server() {
    server_.stop();
    thread_.join();
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  void put(const std::string& path, const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    files_[path] = bytes;
  }
  /// Breaks off whole answers after so many bytes; 0: no longer.
  void cut_after(std::size_t bytes) { cut_ = bytes; }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::map<std::string, std::string> files_;
  std::vector<std::string> requests_;
  std::atomic<std::size_t> cut_ = 0;
  int port_ = 0;
  std::thread thread_;
};

class Fetch : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("no_proxy", "127.0.0.1", 1);
    for (int i = 0; i < 50'000; ++i) text_ += std::to_string(i * 7919 % 10'007);
    recipe_.name = "numbers";
    recipe_.folders = {"numbers"};
    recipe_.files = {{"num+bers.txt.gz", "", "", md5(text_)}};
    recipe_.page = "https://example.org/numbers";
    packed_ = gzip(text_);
    server_.put("/sub/num+bers.txt.gz", packed_);
    options_.folder = folder_ / "numbers";
    options_.mirror = server_.url() + "/sub";
    options_.progress = [this](const FetchProgress& progress) { seen_.push_back(progress); };
  }

  std::string file() const { return read_file(folder_ / "numbers/num+bers.txt.gz"); }
  std::filesystem::path part() const { return folder_ / "numbers/num+bers.txt.gz.part"; }

  Server server_;
  tests::TempFolder folder_;
  std::string text_;
  std::string packed_;
  Recipe recipe_;
  FetchOptions options_;
  std::vector<FetchProgress> seen_;
};

TEST_F(Fetch, DownloadsChecksAndRenames) {
  const auto paths = fetch(recipe_, options_);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths[0], folder_ / "numbers/num+bers.txt.gz");
  EXPECT_EQ(file(), packed_);
  EXPECT_FALSE(std::filesystem::exists(part()));
  ASSERT_GE(seen_.size(), 2U);
  EXPECT_TRUE(seen_.back().done);
  EXPECT_EQ(seen_.back().received, packed_.size());
  EXPECT_EQ(seen_[seen_.size() - 2].total, packed_.size());
}

TEST_F(Fetch, LeavesGoodFilesAlone) {
  fetch(recipe_, options_);
  server_.requests();
  fetch(recipe_, options_);
  EXPECT_TRUE(server_.requests().empty());
  folder_.write("numbers/num+bers.txt.gz", "damaged");
  fetch(recipe_, options_);
  EXPECT_EQ(file(), packed_);
}

TEST_F(Fetch, GoesOnWhereItStopped) {
  server_.cut_after(10'000);
  expect_damage([&] { fetch(recipe_, options_); }, {"cannot download", "num%2Bbers.txt.gz"});
  ASSERT_EQ(std::filesystem::file_size(part()), 10'000U);
  server_.cut_after(0);
  server_.requests();
  fetch(recipe_, options_);
  EXPECT_EQ(file(), packed_);
  EXPECT_EQ(server_.requests(), (std::vector<std::string>{"/sub/num+bers.txt.gz bytes=10000-"}));
}

TEST_F(Fetch, TakesACompletePartAsItIs) {
  folder_.write("numbers/num+bers.txt.gz.part", packed_);
  fetch(recipe_, options_);
  EXPECT_EQ(file(), packed_);
}

TEST_F(Fetch, BeginsAgainWhenThePartWasOfAnotherFile) {
  folder_.write("numbers/num+bers.txt.gz.part", std::string(10'000, 'x'));
  fetch(recipe_, options_);
  EXPECT_EQ(file(), packed_);
  folder_.write("numbers/num+bers.txt.gz", "");
  folder_.write("numbers/num+bers.txt.gz.part", std::string(2 * packed_.size(), 'x'));
  fetch(recipe_, options_);
  EXPECT_EQ(file(), packed_);
}

TEST_F(Fetch, RefusesAWrongDigest) {
  server_.put("/sub/num+bers.txt.gz", gzip("other numbers"));
  expect_damage([&] { fetch(recipe_, options_); },
                {"num%2Bbers.txt.gz", "different", md5("other numbers"), md5(text_)});
  EXPECT_FALSE(std::filesystem::exists(part()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "numbers/num+bers.txt.gz"));
  server_.put("/sub/num+bers.txt.gz", packed_.substr(0, 1000));
  expect_damage([&] { fetch(recipe_, options_); }, {"damaged", "inside the compressed data"});
}

TEST_F(Fetch, TakesThePublishersDigestToo) {
  recipe_.files[0].content.clear();
  recipe_.files[0].packed =
      digest_of(std::make_unique<MemorySource>("", packed_), Digest::Kind::sha256);
  fetch(recipe_, options_);
  EXPECT_EQ(file(), packed_);
}

TEST_F(Fetch, RefusesFilesThatAreTooLarge) {
  options_.most_bytes = 5000;
  expect_damage([&] { fetch(recipe_, options_); }, {"more than 5000 bytes", "limit"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "numbers/num+bers.txt.gz"));
}

TEST_F(Fetch, SaysWhatToDoWithoutAServer) {
  options_.mirror += "/nowhere";
  expect_damage([&] { fetch(recipe_, options_); },
                {"HTTP status 404", "num+bers.txt.gz", "put into", "example.org"});
  options_.mirror = "http://127.0.0.1:9";  // nobody listens there
  expect_damage([&] { fetch(recipe_, options_); },
                {"cannot download http://127.0.0.1:9/", "put into", "numbers: num+bers.txt.gz"});
  EXPECT_FALSE(std::filesystem::exists(part()));
}

TEST_F(Fetch, RefusesWhatCannotBeFetched) {
  options_.mirror.clear();
  expect_damage([&] { fetch(recipe_, options_); }, {"not at a fixed address", "--mirror"});
  options_.mirror = "ftp://127.0.0.1/";
  EXPECT_THROW(fetch(recipe_, options_), std::invalid_argument);
  options_.mirror = server_.url();
  recipe_.files.clear();
  EXPECT_THROW(fetch(recipe_, options_), std::invalid_argument);
}

TEST(Download, EscapesNames) {
  EXPECT_EQ(escape_name("KDDTest+.txt"), "KDDTest%2B.txt");
  EXPECT_EQ(escape_name("a-b_c.tar.gz"), "a-b_c.tar.gz");
}

// ---- Digests and verify -------------------------------------------------------------------------

TEST(Digest, KnowsTheStandardsExamples) {
  const auto digest = [](const std::string& text, Digest::Kind kind) {
    return digest_of(std::make_unique<MemorySource>("", text), kind);
  };
  EXPECT_EQ(digest("abc", Digest::Kind::md5), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest("abc", Digest::Kind::sha256),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("", Digest::Kind::md5), "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(Verify, TellsTheStateOfEachFile) {
  const tests::TempFolder folder;
  Recipe recipe;
  recipe.name = "set";
  recipe.folders = {"set"};
  recipe.files = {{"good.gz", "", "", md5("good")},
                  {"packed.gz", "", md5(gzip("packed")), ""},
                  {"different.gz", "", "", md5("expected")},
                  {"damaged.gz", "", "", md5("damaged")},
                  {"unknown.gz", "", "", ""},
                  {"missing.gz", "", "", ""},
                  {"optional.gz", "", "", "", true}};
  folder.write("set/good.xz", xz("good"));  // another packing of the same content
  folder.write("packed.gz", gzip("packed"));
  folder.write("set/different.gz", gzip("found"));
  folder.write("set/damaged.gz", gzip("damaged").substr(0, 15));
  folder.write("set/unknown", "text");
  const auto checks = verify(recipe, {folder.path()});
  using State = FileCheck::State;
  const std::vector<State> expected = {State::good,    State::good,    State::different,
                                       State::damaged, State::unknown, State::missing,
                                       State::missing};
  ASSERT_EQ(checks.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(checks[i].state, expected[i]) << checks[i].name << " " << checks[i].detail;
  }
  EXPECT_TRUE(checks[5].needed);
  EXPECT_FALSE(checks[6].needed);
  EXPECT_NE(checks[2].detail.find(md5("found")), std::string::npos);
  EXPECT_NE(checks[3].detail.find("inside the compressed data"), std::string::npos);
}

}  // namespace
}  // namespace tandem::data
