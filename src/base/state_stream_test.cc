// SPDX-License-Identifier: MIT
#include "base/state_stream.h"

#include <gtest/gtest.h>
#include <tandem/errors.h>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace tandem {
namespace {

const std::vector<float> kFloats = {1.5F, -2.25F, 0.0F};
const std::vector<double> kDoubles = {1e300, -0.0};

std::string written() {
  std::ostringstream stream;
  StateWriter writer(stream);
  writer.text("rule", "diag-to");
  writer.count("step", 7);
  writer.number("delta", 0.1);
  writer.array("a", kFloats);
  writer.array("b", kDoubles);
  writer.finish();
  return stream.str();
}

/// Reads what written() wrote; throws StateError where it cannot.
void read(const std::string& bytes) {
  std::istringstream stream(bytes);
  StateReader reader(stream);
  EXPECT_EQ(reader.text("rule"), "diag-to");
  EXPECT_EQ(reader.count("step", 1000), 7U);
  EXPECT_EQ(reader.number("delta"), 0.1);
  std::vector<float> floats(kFloats.size());
  reader.array("a", floats);
  std::vector<double> doubles(kDoubles.size());
  reader.array("b", doubles);
  reader.finish();
  EXPECT_EQ(floats, kFloats);
  EXPECT_EQ(doubles, kDoubles);
}

std::string error_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const StateError& error) {
    return error.what();
  }
  return "";
}

TEST(StateStream, ReadsWhatItWrote) { EXPECT_EQ(error_of(written()), ""); }

TEST(StateStream, LeavesWhatFollowsInTheStream) {
  std::istringstream stream(written() + "next");
  StateReader reader(stream);
  reader.text("rule");
  reader.count("step");
  reader.number("delta");
  std::vector<float> floats(3);
  reader.array("a", floats);
  std::vector<double> doubles(2);
  reader.array("b", doubles);
  reader.finish();
  std::string rest;
  stream >> rest;
  EXPECT_EQ(rest, "next");
}

TEST(StateStream, RefusesEveryTruncation) {
  const std::string whole = written();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(error_of(whole.substr(0, length)), "") << "cut to " << length << " bytes";
  }
}

// A flipped bit may change a value before the checksum tells: the expectations of read() are not
// for this test.
TEST(StateStream, RefusesEveryFlippedBit) {
  const std::string whole = written();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      std::istringstream stream(damaged);
      EXPECT_THROW(
          {
            StateReader reader(stream);
            reader.text("rule");
            reader.count("step");
            reader.number("delta");
            std::vector<float> floats(3);
            reader.array("a", floats);
            std::vector<double> doubles(2);
            reader.array("b", doubles);
            reader.finish();
          },
          StateError)
          << "byte " << at << " bit " << bit;
    }
  }
}

TEST(StateStream, SaysWhatItFound) {
  EXPECT_NE(error_of("PK\3\4 a zip file, not a state").find("Not a Tandem state"),
            std::string::npos);
  std::string newer = written();
  newer[8] = 2;
  EXPECT_NE(error_of(newer).find("version 2, this program reads version 1"), std::string::npos);

  std::istringstream stream(written());
  StateReader reader(stream);
  try {
    reader.count("dimension");
    FAIL();
  } catch (const StateError& error) {
    EXPECT_STREQ(error.what(), "Invalid state: expected count 'dimension', found text 'rule'");
  }
}

TEST(StateStream, BelievesNoLength) {
  std::ostringstream out;
  StateWriter writer(out);
  writer.text("rule", "x");
  std::string bytes = out.str();
  // The length of the text, 8 bytes before its one character.
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  bytes.replace(bytes.size() - 9, 8, reinterpret_cast<const char*>(&huge), 8);
  std::istringstream stream(bytes);
  StateReader reader(stream);
  EXPECT_THROW(reader.text("rule"), StateError);
}

TEST(StateStream, SaysWhenTheStreamIsFull) {
  std::ostringstream stream;
  StateWriter writer(stream);
  stream.setstate(std::ios::badbit);
  EXPECT_THROW(writer.finish(), std::runtime_error);
}

TEST(StateStream, IsAListOfRecordsAndBack) {
  const std::string bytes = written();
  const std::vector<StateRecord> records = state_records(bytes);
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0].name, "rule");
  EXPECT_EQ(std::get<std::string>(records[0].value), "diag-to");
  EXPECT_EQ(std::get<std::uint64_t>(records[1].value), 7U);
  EXPECT_EQ(std::get<double>(records[2].value), 0.1);
  EXPECT_EQ(std::get<std::vector<float>>(records[3].value), kFloats);
  EXPECT_EQ(std::get<std::vector<double>>(records[4].value), kDoubles);
  EXPECT_EQ(state_of_records(records), bytes);
}

TEST(StateStream, RecordsOfWhatIsCutOrChangedAreRefused) {
  const std::string bytes = written();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(state_records(std::string_view(bytes).substr(0, size)), StateError) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_THROW(state_records(changed), StateError) << at;
  }
}

}  // namespace
}  // namespace tandem
