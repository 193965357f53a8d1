// SPDX-License-Identifier: MIT
#include "data/csv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "data/table.h"
#include "data/test_files.h"

namespace tandem::data {
namespace {

Table csv(const std::string& text, const CsvOptions& options = {}, const Table* like = nullptr) {
  MemorySource source("a.csv", text);
  return read_csv(source, options, like);
}

const char* const kText =
    "\xef\xbb\xbfsize,colour,code,kind\r\n"
    "1.5,red,7,b\r\n"
    "2.5,\"dark, blue\",8,a\r\n"
    "\r\n"
    "-1,red,7,b\r\n";

TEST(Csv, TellsNumbersFromWords) {
  const Table table = csv(kText);
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[0].name, "size");
  EXPECT_EQ(table.columns[0].numbers, (std::vector<double>{1.5, 2.5, -1}));
  EXPECT_TRUE(table.columns[1].categorical);
  EXPECT_EQ(table.columns[1].words.all(), (std::vector<std::string>{"red", "dark, blue"}));
  EXPECT_FALSE(table.columns[2].categorical);
  EXPECT_EQ(table.classes.all(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.labels, (std::vector<std::uint32_t>{1, 0, 1}));
}

TEST(Csv, TakesItsOptions) {
  const Table table = csv("y;x\n10;a\n9;b\n", {.separator = ';', .label = "y", .categorical = {}});
  EXPECT_EQ(table.classes.all(), (std::vector<std::string>{"9", "10"}));  // by value
  EXPECT_EQ(table.columns.at(0).name, "x");
  const Table coded = csv(kText, {.separator = ',', .label = "", .categorical = {"code"}});
  EXPECT_TRUE(coded.columns[2].categorical);
}

TEST(Csv, ReadsATestPartByTheTrainingPart) {
  const Table train = csv(kText);
  const Table test = csv("size,colour,code,kind\n0,7,1,a\n", {}, &train);
  EXPECT_TRUE(test.columns[1].categorical);
  EXPECT_EQ(test.labels, (std::vector<std::uint32_t>{0}));
  expect_damage([&] { csv("size,colour,code,kind\n0,red,1,c\n", {}, &train); },
                {"a.csv, line 2, column 'kind'", "the class 'c'"});
  expect_damage([&] { csv("size,colour,kind\n0,red,a\n", {}, &train); }, {"line 1", "3 columns"});
  expect_damage([&] { csv("size,color,code,kind\n0,red,1,a\n", {}, &train); },
                {"line 1", "'color'", "'colour'"});
}

TEST(Csv, RefusesDamage) {
  const auto expect = [](const std::string& rows, const std::vector<std::string>& parts) {
    expect_damage([&] { csv("x,w,y\n1,a,0\n" + rows); }, parts);
  };
  expect("nan,a,1\n", {"a.csv, line 3, column 'x'", "'nan'", "a finite number"});
  expect("inf,a,1\n", {"'inf'"});
  expect(",a,1\n", {"line 3, column 'x'", "found nothing"});
  expect("1e40,a,1\n", {"'1e40'"});
  expect("one,a,1\n", {"'one'"});
  expect("1,,1\n", {"column 'w'", "found nothing", "a word"});
  expect("1,a,\n", {"column 'y'", "found nothing", "a class"});
  expect("1,a\n", {"line 3", "2 fields", "3, as in the header"});
  expect("1,a,1,1\n", {"4 fields"});
  expect("1,\"a,1\n", {"line 3", "a quote"});
  expect_damage([] { csv("x,y\nnan,1\n"); }, {"line 2, column 'x'", "'nan'"});
}

TEST(Csv, RefusesFilesThatAreSomethingElse) {
  expect_damage([] { csv("1,2\n3,4\n"); }, {"line 1", "numbers only", "a header"});
  expect_damage([] { csv("x,y\n"); }, {"no rows"});
  expect_damage([] { csv("\n\n"); }, {"no lines"});
  expect_damage([] { csv("x\n1\n"); }, {"line 1", "1 column"});
  expect_error<std::invalid_argument>(
      [] { csv("size,y\n1,1\n", {.separator = ',', .label = "szie", .categorical = {}}); },
      {"no column 'szie'", "did you mean 'size'?"});
  std::string names = "id,y\n";
  for (std::size_t i = 0; i <= kMostWords; ++i) names += "name" + std::to_string(i) + ",1\n";
  expect_damage([&] { csv(names); }, {"line 1002, column 'id'", "more than 1000 different words"});
}

TEST(TableEncoder, StandardisesByTheTrainingRowsAlone) {
  const Table table = csv("x,w,y\n1,b,0\n3,a,1\n100,c,1\n");
  const std::vector<std::size_t> train = {0, 1};
  const std::vector<std::size_t> rest = {2};
  const TableEncoder encoder(table, train);
  const Dataset data = encoder.encode(table, train, true);
  ASSERT_EQ(data.features, 4U);  // x, w = a, w = b, bias
  const std::vector<float> expected = {-1, 0, 1, 1, /**/ 1, 1, 0, 1};
  EXPECT_EQ(std::vector<float>(data.dense.data(), data.dense.data() + 8), expected);
  const Dataset held_out = encoder.encode(table, rest, true);
  const std::vector<float> unknown = {98, 0, 0, 1};
  EXPECT_EQ(std::vector<float>(held_out.dense.data(), held_out.dense.data() + 4), unknown);
  EXPECT_EQ(encoder.unknown(table, rest), 1U);
  EXPECT_EQ(encoder.categories(), (std::vector<std::size_t>{2}));
}

TEST(TableEncoder, ScalesToTheRangeOfTheTrainingRows) {
  const Table table = csv("x,z,y\n1,7,0\n5,7,1\n2,7,1\n9,8,0\n");
  const std::vector<std::size_t> train = {0, 1, 2};
  const TableEncoder unit(table, train, Scaling::unit);
  EXPECT_EQ(unit.constant(), 1U);
  const Dataset data = unit.encode(table, all_rows(4), false);
  const std::vector<float> expected = {0, 0, /**/ 1, 0, /**/ 0.25F, 0, /**/ 2, 1};
  EXPECT_EQ(std::vector<float>(data.dense.data(), data.dense.data() + 8), expected);
  const TableEncoder none(table, train, Scaling::none);
  EXPECT_EQ(none.constant(), 0U);
  EXPECT_EQ(none.encode(table, all_rows(4), false).dense[3], 7.0F);
}

TEST(TableEncoder, LeavesConstantColumnsAtZero) {
  const Table table = csv("x,z,y\n0.1,1,0\n0.1,2,1\n0.1,3,1\n");
  const TableEncoder encoder(table, all_rows(3));
  EXPECT_EQ(encoder.constant(), 1U);
  const Dataset data = encoder.encode(table, all_rows(3), false);
  for (const std::size_t row : all_rows(3)) EXPECT_EQ(data.dense[2 * row], 0.0F);
  EXPECT_NEAR(data.dense[1], -std::sqrt(1.5), 1e-6);
}

}  // namespace
}  // namespace tandem::data
