// SPDX-License-Identifier: MIT
#include "data/byte_source.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "data/compressed.h"
#include "data/test_files.h"
#include "tests/temp_folder.h"

namespace tandem::data {
namespace {

std::string all_of(ByteSource& source) {
  std::string text;
  std::vector<std::uint8_t> buffer(1000);
  for (std::size_t got = buffer.size(); got == buffer.size();) {
    got = source.read(buffer);
    text.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return text;
}

std::string content(const std::filesystem::path& path) { return all_of(*open_source(path)); }

std::string long_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST(ByteSource, ReadsPlainGzipAndXzWhateverTheName) {
  const tests::TempFolder folder;
  const std::string text = long_text();
  EXPECT_EQ(content(folder.write("a", text)), text);
  EXPECT_EQ(content(folder.write("a.gz", gzip(text))), text);
  EXPECT_EQ(content(folder.write("a.xz", xz(text))), text);
  EXPECT_EQ(content(folder.write("gzipped", gzip(text))), text);
  EXPECT_EQ(content(folder.write("short", "a")), "a");
}

TEST(ByteSource, ReadsSeveralPartsOfACompressedFile) {
  const tests::TempFolder folder;
  EXPECT_EQ(content(folder.write("a.gz", gzip("one ") + gzip("") + gzip("two"))), "one two");
  EXPECT_EQ(content(folder.write("a.xz", xz("one ") + xz("two"))), "one two");
}

TEST(ByteSource, GzipGivesTheSameFileForTheSameBytes) {
  EXPECT_EQ(gzip(long_text()), gzip(long_text()));
  EXPECT_LT(gzip(long_text()).size(), long_text().size() / 2);
  // No name and no time in the header.
  EXPECT_EQ(gzip("text").substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
}

TEST(ByteSource, CountsItsBytes) {
  MemorySource source("memory", "0123456789");
  read_bytes(source, 4, "digits");
  EXPECT_EQ(source.offset(), 4U);
}

TEST(ByteSource, RefusesWhatIsNotThere) {
  const tests::TempFolder folder;
  expect_damage([&] { content(folder / "nothing"); }, {"nothing", "No such file"});
  expect_damage([&] { content(folder.path()); }, {"a folder", "expected a file"});
  expect_damage([&] { content(folder.write("empty", "")); }, {"empty", "found an empty file"});
  expect_damage([&] { content(folder.write("empty.gz", "")); }, {"found an empty file"});
}

TEST(ByteSource, RefusesANameThatLies) {
  const tests::TempFolder folder;
  expect_damage([&] { content(folder.write("a.gz", "plain")); },
                {"a.gz, byte 0", "70 6c 61 69 6e", "1f 8b"});
  expect_damage([&] { content(folder.write("a.xz", "plain")); }, {"a.xz, byte 0", "fd 37 7a"});
}

/// Flips each bit from `first` on: that must be found, or be one of those that carry nothing.
void flip_every_bit(const std::string& name, const std::string& packed, std::size_t first,
                    const std::string& text) {
  std::size_t found = 0;
  for (std::size_t bit = 8 * first; bit < 8 * packed.size(); ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      const auto source = decompress(std::make_unique<MemorySource>(name, damaged));
      EXPECT_EQ(all_of(*source), text) << "bit " << bit;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(name + ", byte"), std::string::npos) << error.what();
      ++found;
    }
  }
  EXPECT_GE(found + 8, 8 * (packed.size() - first));
}

TEST(ByteSource, FindsFlippedBitsOfCompressedFiles) {
  const std::string text = "The quick brown fox jumps over the lazy dog.";
  flip_every_bit("a.gz", gzip(text), 10, text);  // before: time, system
  flip_every_bit("a.xz", xz(text), 6, text);
}

TEST(ByteSource, FindsTheEndInTheMiddle) {
  const tests::TempFolder folder;
  for (const bool gz : {true, false}) {
    const std::string packed = gz ? gzip(long_text()) : xz(long_text());
    for (const std::size_t kept : {std::size_t{12}, packed.size() / 2, packed.size() - 1}) {
      expect_damage(
          [&] { content(folder.write(gz ? "a.gz" : "a.xz", packed.substr(0, kept))); },
          {"byte " + std::to_string(kept), "the end of the file inside the compressed data"});
    }
  }
}

TEST(ByteSource, RefusesBytesBehindTheCompressedData) {
  const tests::TempFolder folder;
  expect_damage([&] { content(folder.write("a.gz", gzip("text") + "garbage")); }, {"damage"});
  expect_damage([&] { content(folder.write("a.xz", xz("text") + "garbage")); }, {"xz"});
}

TEST(ByteSource, RefusesEndlessExpansion) {
  const tests::TempFolder folder;
  const std::string zeros(std::size_t{80} << 20, '\0');
  for (const std::string& packed : {gzip(zeros), xz(zeros)}) {
    expect_damage([&] { content(folder.write("bomb", packed)); },
                  {"bomb", "expand", "at most 300 times as many"});
  }
  check_expansion("small files may", 10, std::uint64_t{60} << 20);
}

TEST(ReadBytes, AllocatesNothingForBytesThatAreNotThere) {
  MemorySource source("short", "abc");
  expect_damage([&] { read_bytes(source, std::uint64_t{1} << 60, "pixels"); },
                {"short, byte 3", "after 3 bytes of pixels", "expected 1152921504606846976"});
}

TEST(ReadBytes, ReadsAcrossItsChunks) {
  const std::string text = long_text() + long_text() + long_text();
  MemorySource source("text", text);
  const auto bytes = read_bytes(source, text.size(), "text");
  EXPECT_TRUE(std::equal(text.begin(), text.end(), bytes.begin(), bytes.end(),
                         [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }));
  expect_end(source, "the text");
}

TEST(ReadBytes, FindsBytesBehindTheEnd) {
  MemorySource source("long", "abcd");
  read_bytes(source, 3, "letters");
  expect_damage([&] { expect_end(source, "the last letter"); },
                {"long, byte 3", "more bytes after the last letter"});
}

}  // namespace
}  // namespace tandem::data
