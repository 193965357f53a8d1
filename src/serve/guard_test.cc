// SPDX-License-Identifier: MIT
#include "serve/guard.h"

#include <gtest/gtest.h>

namespace tandem::serve {
namespace {

int status_of(const Guard& guard, const Head& head) {
  const auto refusal = guard.check(head);
  return refusal ? refusal->status : 200;
}

TEST(Guard, TakesNamesOfThisMachineAlone) {
  const Guard guard(8127, "");
  for (const char* host : {"localhost:8127", "LOCALHOST:8127", "127.0.0.1:8127", "[::1]:8127",
                           "127.0.0.2:8127", "127.255.0.9:8127", "[0:0::1]:8127"}) {
    EXPECT_EQ(status_of(guard, {.host = host}), 200) << host;
  }
  for (const char* host : {"",
                           "localhost",
                           "localhost:80",
                           "evil.example",
                           "evil.example:8127",
                           "localhost:8127.evil",
                           "127.0.0.1.evil.example:8127",
                           "128.0.0.1:8127",
                           "localhost:8127 ",
                           "localhost:08127",
                           "0.0.0.0:8127",
                           "127.1:8127",
                           "::1:8127",
                           "[::1]",
                           "[127.0.0.1]:8127",
                           "[::1:8127",
                           "[localhost]:8127",
                           "[]:8127",
                           ":8127",
                           "[::2]:8127",
                           "[::1]]:8127"}) {
    EXPECT_EQ(status_of(guard, {.host = host}), 403) << host;
  }
  EXPECT_EQ(status_of(Guard(80, ""), {.host = "localhost"}), 200);
  EXPECT_EQ(status_of(Guard(80, ""), {.host = "[::1]"}), 200);
  EXPECT_EQ(status_of(Guard(80, ""), {.host = "127.0.0.2:80"}), 200);
  EXPECT_EQ(status_of(Guard(80, ""), {.host = "::1"}), 403);
}

TEST(Guard, OnlyShows) {
  const Guard guard(8127, "");
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"}) {
    EXPECT_EQ(status_of(guard, {.method = method, .host = "localhost:8127"}), 405) << method;
  }
  EXPECT_EQ(status_of(guard, {.method = "HEAD", .host = "localhost:8127"}), 200);
}

TEST(Guard, AsksForTheToken) {
  const std::string token = "0123456789abcdef";
  const Guard guard(8127, token);
  EXPECT_EQ(status_of(guard, {.host = "machine:8127"}), 401);
  EXPECT_EQ(status_of(guard, {.host = "localhost:8127"}), 401);
  EXPECT_EQ(status_of(guard, {.cookie = "tandem_token=" + token}), 200);
  EXPECT_EQ(status_of(guard, {.cookie = "a=b; tandem_token=" + token + "; c=d"}), 200);
  EXPECT_EQ(status_of(guard, {.cookie = "tandem_token="}), 401);
  EXPECT_EQ(status_of(guard, {.cookie = "tandem_token=" + token + "0"}), 401);
  EXPECT_EQ(status_of(guard, {.cookie = "tandem_token=0123456789abcdeF"}), 401);
  EXPECT_EQ(status_of(guard, {.cookie = "xtandem_token=" + token}), 401);
  EXPECT_EQ(status_of(guard, {.authorization = "Bearer " + token}), 200);
  EXPECT_EQ(status_of(guard, {.authorization = token}), 401);
  EXPECT_EQ(status_of(guard, {.authorization = "Bearer "}), 401);
  EXPECT_EQ(status_of(guard, {.method = "POST", .authorization = "Bearer " + token}), 405);
}

TEST(Guard, TokensMayHaveAnyCharacter) {
  const std::string token = "+&#%=?/'<>\\\xc3\xa4 ;,\"0123";
  const Guard guard(8127, token);
  const std::string cookie = guard.cookie();
  const std::string pair = cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(pair.find_first_of("+&#\\\xc3 ,\""), std::string::npos) << pair;
  EXPECT_EQ(status_of(guard, {.cookie = pair}), 200);
  EXPECT_EQ(status_of(guard, {.cookie = "a=b; " + pair + "; c=d"}), 200);
  EXPECT_EQ(status_of(guard, {.authorization = "Bearer " + token}), 200);
}

TEST(Guard, KnowsLoopbackAddresses) {
  for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "localhost", "Localhost"}) {
    EXPECT_TRUE(is_loopback(address)) << address;
  }
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "localhost.evil", ""}) {
    EXPECT_FALSE(is_loopback(address)) << address;
  }
}

}  // namespace
}  // namespace tandem::serve
