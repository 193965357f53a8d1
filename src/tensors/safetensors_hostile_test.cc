// SPDX-License-Identifier: MIT
// Files that are damaged or were made to do damage: each is refused, with a message that helps.
#include <gtest/gtest.h>

#include "tensors/test_tensors.h"

namespace tandem::tensors {
namespace {

struct Hostile {
  std::string file;
  std::vector<std::string> message;
};

void expect_all_refused(const std::vector<Hostile>& files) {
  for (const Hostile& hostile : files) {
    SCOPED_TRACE(::testing::PrintToString(hostile.file.substr(0, 300)));
    std::vector<std::string> parts = hostile.message;
    parts.emplace_back("a.safetensors");
    expect_refused([&] { parse(hostile.file); }, parts);
  }
}

/// A file with one tensor of these fields and 8 bytes of data.
std::string tensor(const std::string& fields) {
  return file_of(R"({"w":{)" + fields + "}}", "12345678");
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return tensor(R"("dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets);
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(HostileSafetensors, LengthsOfTheHeader) {
  expect_all_refused({
      {"", {"byte 0", "a file of 0 bytes", "8 bytes"}},
      {"1234567", {"a file of 7 bytes"}},
      {little_endian(0), {"byte 8", "an empty header"}},
      {little_endian(0) + "{}", {"byte 8", "an empty header"}},
      {little_endian(3) + "{}", {"byte 0", "a header of 3 bytes", "at most 2: the rest"}},
      {little_endian(~std::uint64_t{0}) + "{}", {"a header of 18446744073709551615 bytes"}},
      {little_endian(~std::uint64_t{7}) + "{}", {"a header of 18446744073709551608 bytes"}},
      {little_endian(std::uint64_t{1} << 63) + "{}", {"a header of 9223372036854775808 bytes"}},
  });
}

TEST(HostileSafetensors, TheHeadersLimitSlow) {
  const std::string spaces(100'000'001 - 2, ' ');
  expect_all_refused(
      {{file_of("{}" + spaces), {"a header of 100000001 bytes", "100000000: the format's limit"}}});
  EXPECT_TRUE(parse(file_of("{}" + spaces.substr(1))).tensors.empty());
}

TEST(HostileSafetensors, WhatIsNotJson) {
  const std::string zero(1, '\0');
  expect_all_refused({
      {file_of(" {}"), {"byte 8", "' {}'", "starts with {"}},
      {file_of("[]"), {"byte 8", "starts with {"}},
      {file_of("\xef\xbb\xbf{}"), {"byte 8", "\\xef\\xbb\\xbf{}"}},
      {file_of("{"), {"byte 9", "not JSON", "unexpected end of input"}},
      {file_of("{}}"), {"byte 10", "not JSON", "'}'"}},
      {file_of("{} {}"), {"byte 11", "not JSON"}},
      {file_of("{}" + zero), {"byte 10", "a zero byte"}},
      {file_of("{}" + zero + R"({"a":1})"), {"byte 10", "a zero byte"}},
      {file_of("{/**/}"), {"byte 9", "not JSON"}},
      {file_of("{'a':1}"), {"byte 9", "not JSON"}},
      {file_of("{\"a\xff\":1}"), {"byte 11", "not JSON", "UTF-8"}},
      {file_of(R"({"\ud800":1})"), {"not JSON", "surrogate"}},
      {file_of("{\"a\n\":1}"), {"byte 11", "not JSON", "control character"}},
      {file_of("{\"" + repeated("long", 1000)), {"not JSON", "..."}},
      {tensor("\"U8\"", "[8],", "[0,8]"), {"not JSON"}},
      {tensor("\"U8\"", "[08]", "[0,8]"), {"not JSON"}},
      {tensor("\"U8\"", "[8]", "[0,8"), {"not JSON"}},
      {tensor("\"U8\"", "[1e999]", "[0,8]"), {"not JSON", "1e999"}},
  });
}

TEST(HostileSafetensors, LongTextsAreCutInMessages) {
  const std::string text = repeated("long", 1000);
  for (const std::string& file :
       {file_of("{\"" + text), file_of("{\"" + text + "\":1}"),
        tensor("\"" + text + "\"", "[8]", "[0,8]"), tensor("\"" + text + "\":1")}) {
    try {
      parse(file);
      ADD_FAILURE() << "no error";
    } catch (const TensorFileError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("longlong"), std::string::npos) << message;
      EXPECT_LT(message.size(), 400);
    }
  }
}

TEST(HostileSafetensors, WhatIsNoTensor) {
  const std::string fields = "dtype, shape and data_offsets";
  expect_all_refused({
      {file_of(R"({"w":1})"), {"tensor 'w'", "the number 1", "an object with", fields}},
      {file_of(R"({"w":null})"), {"tensor 'w'", "null", fields}},
      {file_of(R"({"w":true})"), {"tensor 'w'", "true", fields}},
      {file_of(R"({"w":"F32"})"), {"tensor 'w'", "the text 'F32'", fields}},
      {file_of(R"({"w":[]})"), {"tensor 'w'", "an array", fields}},
      {file_of(R"({"w":{}})"), {"tensor 'w'", "no dtype", fields}},
      {file_of(R"({"\u001b[31m":{}})"), {"tensor '\\x1b[31m'", "no dtype"}},
      {tensor(R"("dtype":"U8")"), {"tensor 'w'", "no shape"}},
      {tensor(R"("dtype":"U8","shape":[8])"), {"tensor 'w'", "no data_offsets"}},
      {tensor(R"("shape":[8],"data_offsets":[0,8])"), {"tensor 'w'", "no dtype"}},
      {tensor(R"("dtype":"U8","dtype":"U8")"), {"tensor 'w'", "'dtype' twice"}},
      {tensor(R"("shape":[8],"dtype":"U8","shape":[8])"), {"tensor 'w'", "'shape' twice"}},
      {tensor(R"("data_offsets":[0,8],"data_offsets":[0,8])"), {"'data_offsets' twice"}},
      {tensor(R"("dtype":"U8","stride":[1])"), {"tensor 'w'", "the field 'stride'", fields}},
  });
}

TEST(HostileSafetensors, FieldsOfTheWrongType) {
  const std::string types = "one of F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL";
  const std::string whole = "an array of whole numbers from 0 to 2^64 - 1";
  const std::string dtype = "tensor 'w', dtype";
  const std::string shape = "tensor 'w', shape";
  const std::string offsets = "tensor 'w', data_offsets";
  const std::string deep = repeated("[", 1000) + repeated("]", 1000);
  expect_all_refused({
      {tensor("\"F31\"", "[8]", "[0,8]"), {dtype, "the text 'F31'", types}},
      {tensor("\"u8\"", "[8]", "[0,8]"), {dtype, "the text 'u8'", types}},
      {tensor("\"\"", "[8]", "[0,8]"), {dtype, "the text ''", types}},
      {tensor("8", "[8]", "[0,8]"), {dtype, "the number 8", types}},
      {tensor("[]", "[8]", "[0,8]"), {dtype, "an array", types}},
      {tensor("{}", "[8]", "[0,8]"), {dtype, "an object", types}},
      {tensor("\"U8\"", "8", "[0,8]"), {shape, "the number 8", whole}},
      {tensor("\"U8\"", "\"8\"", "[0,8]"), {shape, "the text '8'", whole}},
      {tensor("\"U8\"", "{}", "[0,8]"), {shape, "an object", whole}},
      {tensor("\"U8\"", "[[8]]", "[0,8]"), {shape, "an array", whole}},
      {tensor("\"U8\"", deep, "[0,8]"), {shape, "an array", whole}},
      {tensor("\"U8\"", "[{}]", "[0,8]"), {shape, "an object", whole}},
      {tensor("\"U8\"", "[\"8\"]", "[0,8]"), {shape, "the text '8'", whole}},
      {tensor("\"U8\"", "[null]", "[0,8]"), {shape, "null", whole}},
      {tensor("\"U8\"", "[false]", "[0,8]"), {shape, "false", whole}},
      {tensor("\"U8\"", "[-8]", "[0,8]"), {shape, "the number -8", whole}},
      {tensor("\"U8\"", "[-0]", "[0,8]"), {shape, "the number -0", whole}},
      {tensor("\"U8\"", "[8.0]", "[0,8]"), {shape, "the number 8.0", whole}},
      {tensor("\"U8\"", "[8e0]", "[0,8]"), {shape, "the number 8e0", whole}},
      {tensor("\"U8\"", "[18446744073709551616]", "[0,8]"), {shape, "18446744073709551616", whole}},
      {tensor("\"U8\"", "[" + std::string(300, '1') + "]", "[0,8]"), {shape, "1111...", whole}},
      {tensor("\"U8\"", "[8]", "8"), {offsets, "the number 8", whole}},
      {tensor("\"U8\"", "[8]", "[]"), {offsets, "found []", "two numbers"}},
      {tensor("\"U8\"", "[8]", "[8]"), {offsets, "found [8]", "two numbers"}},
      {tensor("\"U8\"", "[8]", "[0,8,8]"), {offsets, "found [0, 8, 8]", "two numbers"}},
      {tensor("\"U8\"", "[8]", "[-1,7]"), {offsets, "the number -1", whole}},
      {tensor("\"U8\"", "[8]", "[0,8.5]"), {offsets, "the number 8.5", whole}},
      {tensor("\"U8\"", "[8]", "[0,18446744073709551616]"), {offsets, "18446744073709551616"}},
  });
}

TEST(HostileSafetensors, SizesThatDoNotFit) {
  const std::string bytes = "bytes of data";
  expect_all_refused({
      {tensor("\"U8\"", "[7]", "[0,8]"),
       {"tensor 'w'", "[0, 8]: 8 bytes", "7 bytes for U8", "[7]"}},
      {tensor("\"F32\"", "[8]", "[0,8]"), {"8 bytes", "32 bytes for F32 of shape [8]"}},
      {tensor("\"F64\"", "[2,0]", "[0,8]"), {"8 bytes", "0 bytes for F64 of shape [2, 0]"}},
      {tensor("\"U8\"", "[]", "[0,8]"), {"8 bytes", "1 byte for U8 of shape []"}},
      {tensor("\"U8\"", "[" + repeated("1,", 50) + "7]", "[0,8]"), {"7 bytes", "1, 1, ...]"}},
      {tensor("\"U8\"", "[9]", "[0,9]"), {"tensor 'w'", "data_offsets [0, 9]", "the 8 " + bytes}},
      {tensor("\"U8\"", "[8]", "[8,16]"), {"data_offsets [8, 16]", "the 8 " + bytes}},
      {tensor("\"U8\"", "[8]", "[8,0]"), {"data_offsets [8, 0]", "the 8 " + bytes}},
      {tensor("\"U8\"", "[8]", "[18446744073709551608,0]"), {"[18446744073709551608, 0]"}},
      {tensor("\"U8\"", "[0]", "[9,9]"), {"data_offsets [9, 9]", "the 8 " + bytes}},
      // Products that come out right where they wrap around.
      {tensor("\"U8\"", "[4294967296,4294967296]", "[0,0]"), {"tensor 'w'", "2^64 bytes"}},
      {tensor("\"F64\"", "[2305843009213693953]", "[0,8]"), {"tensor 'w'", "2^64 bytes"}},
      {tensor("\"U8\"", "[0,18446744073709551615,2]", "[0,0]"), {"tensor 'w'", "2^64 bytes"}},
  });
}

TEST(HostileSafetensors, TensorsThatDoNotTileTheData) {
  const auto bytes = [](const std::string& name, int begin, int end) {
    return "\"" + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
           R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  const auto two = [&](const std::string& a, const std::string& b) {
    return file_of("{" + a + "," + b + "}", "12345678");
  };
  expect_all_refused({
      {two(bytes("a", 0, 5), bytes("b", 4, 8)),
       {"tensor 'b'", "[4, 8], an overlap", "a beginning at 5, where tensor 'a' ends"}},
      {two(bytes("a", 0, 8), bytes("b", 0, 8)), {"tensor 'b'", "an overlap"}},
      {two(bytes("b", 2, 6), bytes("a", 0, 8)), {"tensor 'b'", "an overlap", "'a'"}},
      {two(bytes("a", 0, 8), bytes("b", 4, 4)), {"tensor 'b'", "[4, 4], an overlap"}},
      {two(bytes("b", 4, 8), bytes("a", 0, 3)),
       {"tensor 'b'", "[4, 8], after a hole", "a beginning at 3, where tensor 'a' ends"}},
      {two(bytes("a", 1, 4), bytes("b", 4, 8)),
       {"tensor 'a'", "after a hole", "a beginning at 0, where the header ends"}},
      {two(bytes("a", 0, 4), bytes("b", 4, 7)), {"1 byte of no tensor", "after tensor 'b'"}},
      {file_of("{}", "12"), {"byte 10", "2 bytes of no tensor", "after the header"}},
      {two(bytes("a", 0, 4), bytes("a", 4, 8)), {"header", "the name 'a' twice", "once"}},
      {two(bytes("a", 0, 8), bytes("\\u0061", 0, 8)), {"the name 'a' twice"}},
  });
}

TEST(HostileSafetensors, Metadata) {
  const auto metadata = [](const std::string& text) {
    return file_of(R"({"__metadata__":)" + text + "}");
  };
  const std::string key = "__metadata__, key 'k'";
  expect_all_refused({
      {metadata("1"), {"__metadata__", "the number 1", "an object of texts"}},
      {metadata("null"), {"__metadata__", "null", "an object of texts"}},
      {metadata("[]"), {"__metadata__", "an array", "an object of texts"}},
      {metadata("\"x\""), {"__metadata__", "the text 'x'", "an object of texts"}},
      {metadata(R"({"k":1})"), {key, "the number 1", "a text"}},
      {metadata(R"({"k":1.5})"), {key, "the number 1.5", "a text"}},
      {metadata(R"({"k":null})"), {key, "null", "a text"}},
      {metadata(R"({"k":{}})"), {key, "an object", "a text"}},
      {metadata(R"({"k":["x"]})"), {key, "an array", "a text"}},
      {metadata(R"({"k":"x","k":"x"})"), {"__metadata__", "the key 'k' twice"}},
      {metadata(R"({"k":"x"},"__metadata__":{})"), {"the name '__metadata__' twice"}},
  });
}

// ---- Damage ------------------------------------------------------------------------------------

std::string good_file() {
  return file_of(
      R"({"__metadata__":{"k":"v"},"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"I16","shape":[],"data_offsets":[8,10]},)"
      R"("z":{"dtype":"BOOL","shape":[0,3],"data_offsets":[10,10]}}  )",
      "12345678ab");
}

TEST(HostileSafetensors, EveryTruncationIsRefused) {
  const std::string good = good_file();
  EXPECT_EQ(parse(good).tensors.size(), 3);
  for (std::size_t kept = 0; kept < good.size(); ++kept) {
    SCOPED_TRACE(kept);
    // In memory of its own, so that a sanitizer sees a byte too many.
    const std::vector<char> bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(kept));
    expect_refused([&] { parse_safetensors(std::as_bytes(std::span(bytes)), "cut"); }, {"cut, "});
  }
}

TEST(HostileSafetensors, EveryFlippedByteOfTheHeaderIsRefusedOrHarmless) {
  const std::string good = good_file();
  const std::size_t data_size = 10;
  std::size_t refused = 0;
  for (std::size_t place = 0; place + data_size < good.size(); ++place) {
    for (int flip = 1; flip < 256; ++flip) {
      std::vector<char> bytes(good.begin(), good.end());
      bytes[place] = static_cast<char>(bytes[place] ^ flip);
      const auto all = std::as_bytes(std::span(bytes));
      try {
        const std::byte* next = all.last(data_size).data();
        for (const Tensor& tensor : parse_safetensors(all, "flipped").tensors) {
          ASSERT_EQ(tensor.bytes.data(), next) << place << " " << flip;
          ASSERT_EQ(tensor.bytes.size(), byte_size(tensor.type, tensor.shape));
          next += tensor.bytes.size();
        }
        ASSERT_EQ(next, all.data() + all.size());
      } catch (const TensorFileError&) {
        ++refused;
      }
    }
  }
  // What remains are other names and white space.
  EXPECT_GT(refused, (good.size() - data_size) * 255 * 8 / 10);
}

}  // namespace
}  // namespace tandem::tensors
