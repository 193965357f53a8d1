// SPDX-License-Identifier: MIT
// Files as other programs write them, byte by byte, and what is written and read back.
#include "tensors/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "tensors/test_tensors.h"

namespace tandem::tensors {
namespace {

using Shape = std::vector<std::uint64_t>;

std::vector<std::string> names(const std::vector<Tensor>& tensors) {
  std::vector<std::string> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.name);
  return all;
}

TEST(TensorTypes, HaveTheFormatsNamesAndSizes) {
  const std::vector<std::pair<std::string, std::size_t>> types = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto type = static_cast<Type>(i);
    EXPECT_EQ(type_name(type), types[i].first);
    EXPECT_EQ(type_size(type), types[i].second);
    EXPECT_EQ(type_of_name(types[i].first), type);
  }
  EXPECT_EQ(type_name(Type::boolean), "BOOL");
  EXPECT_EQ(type_of_name("f32"), std::nullopt);
}

TEST(TensorTypes, SizesOfShapes) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;
  EXPECT_EQ(byte_size(Type::f32, {}), 4);
  EXPECT_EQ(byte_size(Type::f16, Shape{3, 5}), 30);
  EXPECT_EQ(byte_size(Type::f64, Shape{3, 0, 5}), 0);
  EXPECT_EQ(byte_size(Type::u8, Shape{kHalf, kHalf - 1}), kHalf * (kHalf - 1));
  EXPECT_EQ(byte_size(Type::u8, Shape{kHalf, kHalf}), std::nullopt);
  EXPECT_EQ(byte_size(Type::i16, Shape{kHalf, kHalf / 2}), std::nullopt);
  EXPECT_EQ(byte_size(Type::u8, Shape{0, kHalf, kHalf}), std::nullopt);
}

// ---- Reading -----------------------------------------------------------------------------------

TEST(Safetensors, ReadsAFileMadeByHand) {
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
                             R"( "a": {"data_offsets": [0, 8], "shape": [1, 2], "dtype": "F32"} })";
  const std::string file = file_of(header, std::string("\0\0\x80\x3f\0\0\0\xc0", 8) + "xyz");
  const Safetensors content = parse(file);
  EXPECT_EQ(content.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(names(content.tensors), (std::vector<std::string>{"a", "b"}));
  const Tensor& a = content.tensors[0];
  EXPECT_EQ(a.type, Type::f32);
  EXPECT_EQ(a.shape, (Shape{1, 2}));
  std::array<float, 2> values{};
  ASSERT_EQ(a.bytes.size(), sizeof values);
  std::memcpy(values.data(), a.bytes.data(), sizeof values);
  EXPECT_EQ(values, (std::array<float, 2>{1.0F, -2.0F}));
  const Tensor& b = content.tensors[1];
  EXPECT_EQ(b.type, Type::u8);
  EXPECT_EQ(b.shape, Shape{3});
  EXPECT_EQ(as_text(b.bytes), "xyz");
  EXPECT_EQ(b.bytes.data(), as_bytes(file).last(3).data());
}

TEST(Safetensors, ReadsAFileWithoutTensors) {
  for (const char* header : {"{}", "{}      ", R"({"__metadata__":{}})"}) {
    EXPECT_TRUE(parse(file_of(header)).tensors.empty());
  }
}

TEST(Safetensors, ReadsScalarsAndEmptyTensors) {
  const std::string file = file_of(R"({"after":{"dtype":"I8","shape":[0,7],"data_offsets":[2,2]},)"
                                   R"("scalar":{"dtype":"I16","shape":[],"data_offsets":[0,2]},)"
                                   R"("before":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}})",
                                   "ab");
  const auto tensors = parse(file).tensors;
  ASSERT_EQ(names(tensors), (std::vector<std::string>{"before", "scalar", "after"}));
  EXPECT_TRUE(tensors[0].bytes.empty());
  EXPECT_EQ(as_text(tensors[1].bytes), "ab");
  EXPECT_EQ(tensors[2].shape, (Shape{0, 7}));
}

TEST(Safetensors, ReadsEscapedNames) {
  const std::string file = file_of(
      R"({"\u7814\ud83d\ude00\"\u0000":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", "x");
  const auto tensors = parse(file).tensors;
  EXPECT_EQ(names(tensors), (std::vector<std::string>{std::string("研😀\"\0", 9)}));
}

// ---- Writing -----------------------------------------------------------------------------------

using SafetensorsFileTest = TensorFileTest;

TEST_F(SafetensorsFileTest, WritesTheBytesOfTheReference) {
  // These four are in the tests of safetensors itself.
  const std::string data(24, '\1');
  write_safetensors(path_, std::vector<Tensor>{{"attn.0", Type::f32, {1, 2, 3}, as_bytes(data)}},
                    {});
  EXPECT_EQ(written(),
            file_of(R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})", data));
  write_safetensors(path_, std::vector<Tensor>{{"attn0", Type::f32, {1, 1, 2, 3}, as_bytes(data)}},
                    {});
  EXPECT_EQ(
      written(),
      file_of(R"({"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       )", data));
  write_safetensors(path_, {}, {});
  EXPECT_EQ(written(), file_of("{}      "));
  write_safetensors(path_, {}, {{"framework", "pt"}});
  EXPECT_EQ(written(), file_of(R"({"__metadata__":{"framework":"pt"}}     )"));
}

TEST_F(SafetensorsFileTest, LargeTypesComeFirstAndAllAreAligned) {
  const std::vector<Tensor> tensors = {{"c", Type::u8, {3}, as_bytes("abc")},
                                       {"b", Type::f32, {}, as_bytes("ABCD")},
                                       {"e", Type::bf16, {1}, as_bytes("12")},
                                       {"a", Type::i32, {1, 1}, as_bytes("EFGH")},
                                       {"d", Type::i64, {}, as_bytes("IJKLMNOP")}};
  write_safetensors(path_, tensors, {});
  const SafetensorsFile file(path_);
  EXPECT_EQ(names(file.tensors()), (std::vector<std::string>{"d", "a", "b", "e", "c"}));
  for (const Tensor& tensor : file.tensors()) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.bytes.data());
    EXPECT_EQ(address % type_size(tensor.type), 0) << tensor.name;
  }
  for (const Tensor& tensor : tensors) {
    EXPECT_EQ(as_text(file.at(tensor.name).bytes), as_text(tensor.bytes));
  }
}

TEST_F(SafetensorsFileTest, RefusesToWriteWhatCouldNotBeRead) {
  const auto write = [&](const std::vector<Tensor>& tensors,
                         const std::map<std::string, std::string>& metadata = {}) {
    return [this, tensors, metadata] { write_safetensors(path_, tensors, metadata); };
  };
  const auto two = as_bytes("12");
  expect_refused(
      write({{"w", Type::u8, {2}, two}, {"v", Type::f16, {}, two}, {"w", Type::f16, {}, two}}),
      {path_.string(), "tensor 'w'", "twice"});
  expect_refused(write({{"w", Type::f32, {3, 1}, two}}),
                 {path_.string(), "tensor 'w'", "2 bytes", "F32 of shape [3, 1]"});
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;
  expect_refused(write({{"w", Type::f32, {kHuge, kHuge}, {}}}), {"tensor 'w'", "found 0 bytes"});
  expect_refused(write({{"__metadata__", Type::u8, {2}, two}}), {"'__metadata__'", "another name"});
  expect_refused(write({{"w\xff", Type::u8, {2}, two}}), {"tensor 'w\\xff'", "expected UTF-8"});
  expect_refused(write({}, {{"k", "\xc3"}}), {"__metadata__, key 'k'", "'\\xc3'", "UTF-8"});
  expect_refused(write({}, {{"\x80", ""}}), {"key '\\x80'", "UTF-8"});
  expect_refused([&] { write_safetensors(folder_ / "no" / "a", {}, {}); },
                 {(folder_ / "no" / "a").string(), "folder"});
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SafetensorsFileTest, RefusesToWriteAHeaderAboveTheLimitSlow) {
  std::string longest;
  longest.resize(100'000'000, 'x');
  expect_refused(
      [&] {
        write_safetensors(path_, {}, {{"k", longest}});
      },
      {path_.string(), "100000032 bytes", "at most 100000000"});
}

// ---- Files -------------------------------------------------------------------------------------

TEST_F(SafetensorsFileTest, FindsTensorsByName) {
  write_safetensors(path_,
                    std::vector<Tensor>{{"layer.weight", Type::u8, {1}, as_bytes("w")},
                                        {"layer.bias", Type::u8, {1}, as_bytes("b")}},
                    {});
  const SafetensorsFile file(path_);
  ASSERT_NE(file.find("layer.bias"), nullptr);
  EXPECT_EQ(as_text(file.find("layer.bias")->bytes), "b");
  EXPECT_EQ(file.find("layer"), nullptr);
  EXPECT_EQ(&file.at("layer.weight"), file.find("layer.weight"));
  expect_refused([&] { (void)file.at("layer.wieght"); },
                 {path_.string(), "'layer.wieght'", "did you mean 'layer.weight'?"});
  expect_refused([&] { (void)file.at("momentum"); },
                 {"expected one of 'layer.bias', 'layer.weight'"});
}

TEST_F(SafetensorsFileTest, NamesAFewOfManyTensors) {
  std::vector<Tensor> tensors;
  for (int i = 10; i < 50; ++i) tensors.push_back({std::to_string(i), Type::u8, {0}, {}});
  write_safetensors(path_, tensors, {});
  const SafetensorsFile file(path_);
  expect_refused([&] { (void)file.at("momentum"); }, {"one of '10', '11',", "'19' and 30 more"});
  write_safetensors(path_, {}, {});
  expect_refused([&] { (void)SafetensorsFile(path_).at("momentum"); }, {"the file has none"});
}

TEST_F(SafetensorsFileTest, CanBeMoved) {
  write_safetensors(path_, std::vector<Tensor>{{"a", Type::u8, {1}, as_bytes("1")}}, {{"k", "v"}});
  SafetensorsFile first(path_);
  SafetensorsFile second(std::move(first));
  EXPECT_EQ(as_text(second.at("a").bytes), "1");
  write_safetensors(path_, std::vector<Tensor>{{"b", Type::u8, {1}, as_bytes("2")}}, {});
  SafetensorsFile third(path_);
  third = std::move(second);
  EXPECT_EQ(as_text(third.at("a").bytes), "1");
  EXPECT_EQ(third.metadata().at("k"), "v");
  EXPECT_EQ(third.find("b"), nullptr);
}

TEST_F(SafetensorsFileTest, CanBeWrittenOverItself) {
  const std::string data(100'000, 'd');
  write_safetensors(path_, std::vector<Tensor>{{"a", Type::u8, {data.size()}, as_bytes(data)}}, {});
  const SafetensorsFile before(path_);
  write_safetensors(path_, before.tensors(), {{"step", "2"}});
  const SafetensorsFile after(path_);
  EXPECT_EQ(as_text(after.at("a").bytes), data);
  EXPECT_EQ(as_text(before.at("a").bytes), data);
  EXPECT_TRUE(before.metadata().empty());
}

TEST_F(SafetensorsFileTest, RefusesWhatIsNoFile) {
  const auto open = [](const std::filesystem::path& path) {
    return [path] { SafetensorsFile file(path); };
  };
  expect_refused(open(path_), {path_.string(), "No such file"});
  expect_refused(open(folder_), {folder_.string(), "a folder"});
  expect_refused(open("/dev/null"), {"/dev/null", "a device"});
  std::ofstream(path_).close();
  expect_refused(open(path_), {path_.string(), "byte 0", "a file of 0 bytes"});
}

}  // namespace
}  // namespace tandem::tensors
