// SPDX-License-Identifier: MIT
#include "serve/url.h"

#include <gtest/gtest.h>

namespace tandem::serve {
namespace {

TEST(Url, EncodesAndDecodes) {
  EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encode("+&#%?/= \x01\xff"), "%2B%26%23%25%3F%2F%3D%20%01%FF");
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  for (const char* wrong : {"%", "%4", "%g1", "%1g", "a%", "100% sure"}) {
    EXPECT_EQ(percent_decode(wrong), wrong);
  }
  EXPECT_EQ(percent_decode("%41%4a%4A"), "AJJ");
}

TEST(Url, TakesTargetsApart) {
  Target target = parse_target("/a%20b?x=%41&y");
  EXPECT_EQ(target.host, std::nullopt);
  EXPECT_EQ(target.path, "/a b");
  EXPECT_EQ(target.query, "x=%41&y");
  EXPECT_EQ(query_value(target.query, "x"), "A");
  EXPECT_EQ(query_value(target.query, "y"), "");
  EXPECT_EQ(query_value(target.query, "z"), std::nullopt);
  EXPECT_EQ(query_value("t=1%26t=2&t=3", "t"), "1&t=2");

  target = parse_target("HTTP://localhost:80/a?b");
  EXPECT_EQ(target.host, "localhost:80");
  EXPECT_EQ(target.path, "/a");
  EXPECT_EQ(target.query, "b");
  EXPECT_EQ(parse_target("http://localhost?b").path, "/");
  EXPECT_EQ(parse_target("http://localhost").path, "/");
  EXPECT_EQ(parse_target("http://").host, "");
  EXPECT_EQ(parse_target("*").path, "*");
  EXPECT_EQ(parse_target("").path, "");
  EXPECT_EQ(parse_target("?").query, "");
}

TEST(Url, MakesTheAddressOfThePage) {
  EXPECT_EQ(page_address("127.0.0.1", 8127, ""), "http://127.0.0.1:8127/");
  EXPECT_EQ(page_address("::1", 80, ""), "http://[::1]:80/");
  EXPECT_EQ(page_address("fe80::1%eth0", 80, ""), "http://[fe80::1%25eth0]:80/");
  EXPECT_EQ(page_address("machine", 1, "a+b&c#d"), "http://machine:1/?token=a%2Bb%26c%23d");
}

}  // namespace
}  // namespace tandem::serve
