// SPDX-License-Identifier: MIT
// The three formats of images: idx, SmallNORB's matrices, CIFAR-10's records.
#include <gtest/gtest.h>

#include <string>

#include "data/cifar.h"
#include "data/idx.h"
#include "data/norb.h"
#include "data/test_files.h"

namespace tandem::data {
namespace {

IdxArray idx(const std::string& bytes, std::size_t dimensions) {
  MemorySource source("a.idx", bytes);
  return read_idx(source, dimensions);
}

TEST(Idx, ReadsSizesAndElements) {
  const IdxArray array = idx(idx_file({2, 1, 3}, "abcdef"), 3);
  EXPECT_EQ(array.sizes, (std::vector<std::size_t>{2, 1, 3}));
  EXPECT_EQ(array.bytes, (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(Idx, RefusesAWrongMagicNumber) {
  const std::string good = idx_file({2}, "ab");
  expect_damage([&] { idx(good, 3); },
                {"a.idx, byte 0", "00 00 08 01", "00 00 08 03", "3 dimensions"});
  std::string floats = good;
  floats[2] = 0x0d;
  expect_damage([&] { idx(floats, 1); }, {"00 00 0d 01", "unsigned bytes"});
  expect_damage([&] { idx("text", 1); }, {"74 65 78 74"});
}

TEST(Idx, RefusesSizesThatDoNotFit) {
  expect_damage(
      [] {
        idx(idx_file({3, 2}, "abcde"), 2);
      },
      {"a.idx, byte 17", "after 5 bytes of elements", "expected 6"});
  expect_damage(
      [] {
        idx(idx_file({3, 2}, "abcdefg"), 2);
      },
      {"a.idx, byte 18", "more bytes after the last element"});
  expect_damage([] { idx(idx_file({2, 0}, ""), 2); }, {"a.idx, byte 8", "the size 0"});
  const std::uint32_t most = 0xffffffff;
  expect_damage([&] { idx(idx_file({most, most, most}, "abc"), 3); }, {"a.idx, byte 12"});
  expect_damage(
      [&] {
        idx(idx_file({most, 1, 1}, "abc"), 3);
      },
      {"after 3 bytes", "expected 4294967295"});
}

TEST(Idx, RefusesATruncatedHeader) {
  const std::string good = idx_file({1}, "a");
  for (std::size_t kept = 1; kept < good.size(); ++kept) {
    expect_damage([&] { idx(good.substr(0, kept), 1); }, {"the end of the file"});
  }
}

// ---- SmallNORB ----------------------------------------------------------------------------------

std::string norb_file(std::uint32_t magic, const std::vector<std::uint32_t>& sizes,
                      const std::string& elements) {
  std::string file = little_endian(magic) + little_endian(static_cast<std::uint32_t>(sizes.size()));
  for (std::size_t i = 0; i < std::max<std::size_t>(3, sizes.size()); ++i) {
    file += little_endian(i < sizes.size() ? sizes[i] : 1);
  }
  return file + elements;
}

NorbArray norb(const std::string& bytes, NorbType type, std::size_t dimensions) {
  MemorySource source("a.mat", bytes);
  return read_norb(source, type, dimensions);
}

TEST(Norb, ReadsBytesAndIntegers) {
  const NorbArray bytes = norb(norb_file(0x1E3D4C55, {1, 2, 1, 2}, "abcd"), NorbType::bytes, 4);
  EXPECT_EQ(bytes.sizes, (std::vector<std::size_t>{1, 2, 1, 2}));
  EXPECT_EQ(bytes.bytes, (std::vector<std::uint8_t>{'a', 'b', 'c', 'd'}));
  const NorbArray ints = norb(
      norb_file(0x1E3D4C54, {2}, little_endian(7) + little_endian(0xffffffff)), NorbType::ints, 1);
  EXPECT_EQ(ints.ints, (std::vector<std::int32_t>{7, -1}));
}

TEST(Norb, RefusesDamage) {
  const auto bytes = [](const std::string& file) { norb(file, NorbType::bytes, 1); };
  expect_damage([&] { bytes(norb_file(0x1E3D4C54, {1}, "abcd")); },
                {"a.mat, byte 0", "1E3D4C54", "1E3D4C55, a matrix of bytes"});
  expect_damage([&] { bytes(norb_file(0x554C3D1E, {1}, "a")); }, {"554C3D1E"});
  expect_damage(
      [&] {
        bytes(norb_file(0x1E3D4C55, {1, 1}, "a"));
      },
      {"a.mat, byte 4", "2 dimensions", "expected 1"});
  expect_damage([&] { bytes(norb_file(0x1E3D4C55, {0}, "")); }, {"a.mat, byte 8", "the size 0"});
  expect_damage([&] { bytes(norb_file(0x1E3D4C55, {0x80000000}, "a")); },
                {"a.mat, byte 8", "the size 2147483648"});
  expect_damage([&] { bytes(norb_file(0x1E3D4C55, {0x7fffffff}, "ab")); },
                {"a.mat, byte 22", "after 2 bytes", "2147483647"});
  expect_damage([&] { bytes(norb_file(0x1E3D4C55, {2}, "abc")); },
                {"a.mat, byte 22", "more bytes"});
  const std::uint32_t most = 0x7fffffff;
  expect_damage(
      [&] {
        norb(norb_file(0x1E3D4C54, {most, most, 4}, ""), NorbType::ints, 3);
      },
      {"a.mat, byte"});
  const std::string good = norb_file(0x1E3D4C54, {1}, "abcd");
  for (std::size_t kept = 1; kept < good.size(); ++kept) {
    expect_damage([&] { norb(good.substr(0, kept), NorbType::ints, 1); }, {"the end of the file"});
  }
}

// ---- CIFAR-10
// ------------------------------------------------------------------------------------

std::string record(int label) {
  return std::string(1, static_cast<char>(label)) + std::string(kCifarPixels, 'p');
}

TEST(Cifar, AppendsRecords) {
  CifarBatch batch;
  for (const std::string& bytes : {record(9), record(0) + record(3)}) {
    MemorySource source("a.bin", bytes);
    read_cifar(source, batch);
  }
  EXPECT_EQ(batch.labels, (std::vector<std::uint8_t>{9, 0, 3}));
  EXPECT_EQ(batch.pixels.size(), 3 * kCifarPixels);
  EXPECT_EQ(batch.pixels.back(), 'p');
}

TEST(Cifar, RefusesDamage) {
  const auto read = [](const std::string& bytes) {
    CifarBatch batch;
    MemorySource source("a.bin", bytes);
    read_cifar(source, batch);
  };
  expect_damage([&] { read(record(1) + record(10)); },
                {"a.bin, byte 3073", "the label 10", "0 to 9"});
  expect_damage([&] { read(record(1) + record(2).substr(0, 100)); },
                {"a.bin, byte 3073", "100 bytes, after 1 records"});
  expect_damage([&] { read(""); }, {"no records"});
}

}  // namespace
}  // namespace tandem::data
