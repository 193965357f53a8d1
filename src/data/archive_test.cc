// SPDX-License-Identifier: MIT
#include "data/archive.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "data/test_files.h"

namespace tandem::data {
namespace {

std::map<std::string, std::string> files_of(const std::string& bytes) {
  std::map<std::string, std::string> files;
  ArchiveReader archive(decompress(std::make_unique<MemorySource>("a.tar", bytes)));
  while (archive.next()) {
    std::vector<std::uint8_t> buffer(std::size_t{1} << 20);
    std::string& content = files[archive.path()];
    for (std::size_t got = buffer.size(); got == buffer.size();) {
      got = archive.content().read(buffer);
      content.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
    }
  }
  return files;
}

TEST(Archive, ReadsTarAndZipPackedOrNot) {
  const std::map<std::string, std::string> expected = {{"a/b", "content"}, {"c", ""}};
  const std::vector<ArchiveFile> files = {{"a", "", AE_IFDIR}, {"a/b", "content"}, {"c", ""}};
  const std::string tar = pack(files);
  EXPECT_EQ(files_of(tar), expected);
  EXPECT_EQ(files_of(gzip(tar)), expected);
  EXPECT_EQ(files_of(xz(tar)), expected);
  EXPECT_EQ(files_of(pack(files, true)), expected);
}

TEST(Archive, SkipsFilesThatNobodyReads) {
  ArchiveReader archive(
      std::make_unique<MemorySource>("a.tar", pack({{"a", "1"}, {"b", "2"}, {"c", "3"}})));
  std::string paths;
  while (archive.next()) paths += archive.path();
  EXPECT_EQ(paths, "abc");
}

TEST(Archive, RefusesPathsThatEscape) {
  EXPECT_TRUE(stays_inside("a/..b/c..d"));
  for (const char* path : {"../a", "a/../../b", "/etc/passwd", "a/..", "..", "a\\..\\b"}) {
    EXPECT_FALSE(stays_inside(path)) << path;
    for (const bool zip : {false, true}) {
      expect_damage(
          [&] {
            files_of(pack({{"good", "x"}, {path, "x"}}, zip));
          },
          {"a.tar, file 2", "one that stays inside the archive"});
    }
  }
}

TEST(Archive, RefusesLinks) {
  expect_damage(
      [] {
        files_of(pack({{"link", "/etc/passwd", AE_IFLNK}}));
      },
      {"a.tar, file 1", "a link or device, 'link'", "files and folders"});
}

TEST(Archive, RefusesEndlessExpansion) {
  const std::string zeros(std::size_t{80} << 20, '\0');
  expect_damage([&] { files_of(pack({{"zeros", zeros}}, true)); }, {"expand", "300 times"});
  expect_damage([&] { files_of(gzip(pack({{"zeros", zeros}}))); }, {"expand", "300 times"});
}

TEST(Archive, RefusesWhatIsNoArchive) {
  expect_damage([] { files_of("duration,protocol\n1,tcp\n"); }, {"a.tar", "tar or zip archive"});
  expect_damage([] { files_of(pack({})); }, {"no files"});
}

TEST(Archive, FindsDamage) {
  const std::string tar = pack({{"a", std::string(5000, 'x')}, {"b", "y"}});
  expect_damage([&] { files_of(tar.substr(0, 3000)); }, {"a.tar", "in 'a'", "damage"});
  std::string header = tar;
  header[512 + 5120 + 3] ^= 1;  // the name in the second header
  expect_damage([&] { files_of(header); }, {"a.tar", "damage"});
  // Damage of the stream below is told as such.
  const std::string packed = gzip(tar);
  expect_damage([&] { files_of(packed.substr(0, packed.size() - 2)); },
                {"inside the compressed data"});
}

TEST(Archive, FindsDamageInsideAZipFile) {
  const std::string text = "The quick brown fox jumps over the lazy dog.";
  const std::string zip = pack({{"a", text}}, true);
  const std::size_t data = 30 + zip[26] + zip[28];  // behind the names' lengths
  std::size_t found = 0;
  for (std::size_t byte = data; byte < data + 30; ++byte) {
    std::string damaged = zip;
    damaged[byte] ^= 8;
    try {
      EXPECT_EQ(files_of(damaged), (std::map<std::string, std::string>{{"a", text}})) << byte;
    } catch (const DataError&) {
      ++found;
    }
  }
  EXPECT_GT(found, 20U);
}

}  // namespace
}  // namespace tandem::data
