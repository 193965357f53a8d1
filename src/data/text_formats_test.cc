// SPDX-License-Identifier: MIT
// Lines, fields, and the formats made of them: CoverType, NSL-KDD, LIBSVM.
#include <gtest/gtest.h>

#include <string>

#include "data/covtype.h"
#include "data/fields.h"
#include "data/libsvm.h"
#include "data/line_reader.h"
#include "data/nsl_kdd.h"
#include "data/test_files.h"

namespace tandem::data {
namespace {

std::vector<std::string> lines_of(const std::string& text, std::size_t longest = 100) {
  MemorySource source("a.txt", text);
  LineReader reader(source, longest);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  EXPECT_EQ(reader.number(), lines.size());
  return lines;
}

TEST(LineReader, KnowsEveryKindOfEnd) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of("a\nb\r\n\nc"), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(lines_of("a\n"), (Lines{"a"}));
  EXPECT_EQ(lines_of("\n"), (Lines{""}));
  EXPECT_EQ(lines_of(""), Lines());
}

TEST(LineReader, ReadsAcrossItsBuffer) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 100'000U);
  EXPECT_EQ(lines[98'765], "98765");
  EXPECT_EQ(lines_of(std::string(3'000'000, 'x') + "\ny", 4'000'000)[1], "y");
}

TEST(LineReader, RefusesLongLines) {
  EXPECT_EQ(lines_of(std::string(100, 'x')).size(), 1U);
  expect_damage([] { lines_of("a\n" + std::string(101, 'x')); }, {"a.txt, line 2", "100 bytes"});
  expect_damage([] { lines_of(std::string(1'000'000, 'x')); }, {"a.txt, line 1"});
}

TEST(Fields, AreCutAndUnquoted) {
  FieldSplitter splitter;
  using Fields = std::vector<std::string_view>;
  EXPECT_EQ(*splitter.split("a, b ,,c"), (Fields{"a", "b", "", "c"}));
  EXPECT_EQ(*splitter.split(""), (Fields{""}));
  EXPECT_EQ(*splitter.split("a,"), (Fields{"a", ""}));
  EXPECT_EQ(*splitter.split(R"("a,b", "say ""hi""" ,c)"), (Fields{"a,b", "say \"hi\"", "c"}));
  EXPECT_EQ(splitter.split(R"("a)"), nullptr);
  EXPECT_EQ(splitter.split(R"("a"b,c)"), nullptr);
  FieldSplitter tabs('\t');
  EXPECT_EQ(*tabs.split("a\t\t b,c"), (Fields{"a", "", "b,c"}));
}

TEST(Fields, NumbersAreWholeAndFinite) {
  EXPECT_EQ(parse_number("+1.5e2"), 150.0);
  EXPECT_EQ(parse_number("-3"), -3.0);
  for (const char* text :
       {"", "nan", "inf", "-inf", "1e39", "1x", "x1", "+-1", "+", "0x10", "1 "}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
  EXPECT_EQ(parse_count("12"), 12U);
  for (const char* text : {"", "-1", "+1", "1.0", "99999999999999999999"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
}

// ---- CoverType ----------------------------------------------------------------------------------

std::string covtype_line(const std::string& label = "3") {
  std::string line;
  for (int i = 0; i < 10; ++i) line += std::to_string(100 + i) + ",";
  for (int i = 0; i < 44; ++i) line += i == 2 ? "1," : "0,";
  return line + label + "\n";
}

Table covtype(const std::string& text) {
  MemorySource source("covtype.data", text);
  return read_covtype(source);
}

TEST(Covtype, ReadsColumnsAndClasses) {
  const Table table = covtype(covtype_line() + "\n" + covtype_line("7"));
  EXPECT_EQ(table.rows(), 2U);
  EXPECT_EQ(table.columns.size(), 54U);
  EXPECT_EQ(table.columns[9].numbers, (std::vector<double>{109, 109}));
  EXPECT_EQ(table.columns[12].ids, (std::vector<std::uint32_t>{1, 1}));
  EXPECT_EQ(table.labels, (std::vector<std::uint32_t>{2, 6}));
  EXPECT_EQ(table.classes.size(), 7U);
}

TEST(Covtype, RefusesDamage) {
  const std::string good = covtype_line();
  expect_damage([&] { covtype(good + covtype_line("8")); },
                {"covtype.data, line 2, column 55", "'8'", "1 to 7"});
  expect_damage([&] { covtype(good + good.substr(0, 100)); }, {"line 2", "fields", "expected 55"});
  expect_damage([&] { covtype("x" + good); }, {"line 1, column 1", "'x100'", "a number"});
  std::string two = good;
  two[two.size() - 4] = '2';
  expect_damage([&] { covtype(two); }, {"line 1, column 54", "'2'", "0 or 1"});
  expect_damage([&] { covtype("\n\n"); }, {"no rows"});
  expect_damage([&] { covtype(std::string(5000, '1')); }, {"line 1", "4096 bytes"});
  expect_damage([&] { covtype("\"" + good); }, {"line 1", "a quote"});
}

// ---- NSL-KDD
// -------------------------------------------------------------------------------------

std::string kdd_line(const std::string& end, const std::string& duration = "0") {
  std::string line = duration + ",tcp,http,SF";
  for (int i = 4; i < 41; ++i) line += ",0.5";
  return line + "," + end + "\n";
}

Table kdd(const std::string& text) {
  MemorySource source("KDDTest+.txt", text);
  return read_nsl_kdd(source);
}

TEST(NslKdd, ReadsBothLayouts) {
  const Table with_attacks = kdd(kdd_line("normal,21") + kdd_line("neptune,3", "7"));
  EXPECT_EQ(with_attacks.labels, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(with_attacks.columns[0].numbers, (std::vector<double>{0, 7}));
  EXPECT_EQ(with_attacks.columns[2].words.all(), (std::vector<std::string>{"http"}));
  EXPECT_EQ(with_attacks.classes.all(), (std::vector<std::string>{"normal", "attack"}));
  const Table binary = kdd(kdd_line("anomaly") + kdd_line("normal"));
  EXPECT_EQ(binary.labels, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(kdd("duration,protocol_type\n" + kdd_line("normal")).rows(), 1U);
}

TEST(NslKdd, RefusesDamage) {
  const std::string good = kdd_line("normal,21");
  expect_damage([&] { kdd(good + kdd_line("normal")); },
                {"KDDTest+.txt, line 2", "42 fields", "43, as in the first line"});
  expect_damage([&] { kdd(good + "1,tcp\n"); }, {"line 2", "2 fields", "42", "43"});
  expect_damage([&] { kdd(kdd_line("normal,21", "nan")); },
                {"line 1, column duration", "'nan'", "a finite number"});
  expect_damage([&] { kdd(kdd_line("3,21")); }, {"line 1, column label", "'3'", "attack"});
  expect_damage([&] { kdd(kdd_line("normal,hard")); }, {"column difficulty", "'hard'"});
  std::string number = good;
  number.replace(number.find("tcp"), 3, "6");
  expect_damage([&] { kdd(number); }, {"column protocol_type", "'6'", "a word"});
  expect_damage([&] { kdd("\n"); }, {"no rows"});
}

// ---- LIBSVM -------------------------------------------------------------------------------------

LibsvmRows libsvm(const std::string& text, const LibsvmRows* like = nullptr) {
  MemorySource source("a9a", text);
  return read_libsvm(source, like);
}

TEST(Libsvm, ReadsRowsAndSortsClasses) {
  const LibsvmRows rows = libsvm("+1 1:0.5 3:-2 # a comment\n-1\n\n# nothing\n10 2:1e-3\t\n");
  EXPECT_EQ(rows.features, 3U);
  EXPECT_EQ(rows.classes, (std::vector<double>{-1, 1, 10}));
  EXPECT_EQ(rows.labels, (std::vector<std::uint32_t>{1, 0, 2}));
  EXPECT_EQ(rows.offsets, (std::vector<std::uint64_t>{0, 2, 2, 3}));
  EXPECT_EQ(rows.columns, (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(rows.values, (std::vector<float>{0.5F, -2.0F, 1e-3F}));
}

TEST(Libsvm, ReadsATestPartByTheTrainingPart) {
  const LibsvmRows train = libsvm("1 1:1 2:2\n2 1:3\n");
  const LibsvmRows test = libsvm("2 2:5 7:1\n", &train);
  EXPECT_EQ(test.features, 2U);
  EXPECT_EQ(test.labels, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(test.values, (std::vector<float>{5}));
  EXPECT_EQ(test.dropped, 1U);
  expect_damage([&] { libsvm("3 1:1\n", &train); }, {"a9a, line 1", "the label 3"});
}

TEST(Libsvm, RefusesBadIndices) {
  expect_damage([] { libsvm("1 1:1\n1 x:1\n"); }, {"a9a, line 2", "the index 'x'"});
  expect_damage([] { libsvm("1 -1:1\n"); }, {"a9a, line 1", "'-1'"});
  expect_damage([] { libsvm("1 2:1 1:1\n"); }, {"the index 1 after 2", "ascending"});
  expect_damage([] { libsvm("1 2:1 2:1\n"); }, {"the index 2 after 2"});
  expect_damage([] { libsvm("1 0:1\n"); }, {"the index 0", "from 1"});
  expect_damage([] { libsvm("1 4294967296:1\n"); }, {"the index 4294967296", "at most 134217728"});
  expect_damage([] { libsvm("1 99999999999999999999:1\n"); }, {"'99999999999999999999'"});
}

TEST(Libsvm, RefusesBadValuesAndLabels) {
  expect_damage([] { libsvm("1 1\n"); }, {"a9a, line 1", "'1'", "INDEX:VALUE"});
  for (const char* value : {"", "nan", "inf", "1e99", "1:2", "one"}) {
    expect_damage([&] { libsvm(std::string("1 1:") + value + "\n"); },
                  {"a9a, line 1", "a finite number"});
  }
  expect_damage([] { libsvm("cat 1:1\n"); }, {"the label 'cat'", "one number"});
  expect_damage([] { libsvm("1,2 1:1\n"); }, {"the label '1,2'"});
  expect_damage([] { libsvm("# only a comment\n"); }, {"no rows"});
  std::string regression;
  for (std::size_t i = 0; i <= kMostClasses; ++i) regression += std::to_string(i) + " 1:1\n";
  expect_damage([&] { libsvm(regression); }, {"line 4097", "more than 4096 different labels"});
}

}  // namespace
}  // namespace tandem::data
