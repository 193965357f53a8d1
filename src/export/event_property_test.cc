// SPDX-License-Identifier: MIT
// Whatever events are written, a reader that shares no code with the writer gets them back.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "export/event.h"
#include "export/test_reader.h"

namespace tandem::exporting {
namespace {

struct Scalar {
  std::string tag;
  float value;
};

std::vector<Scalar> random_scalars() {
  std::vector<Scalar> scalars;
  for (int i = 0, count = *rc::gen::inRange(0, 6); i < count; ++i) {
    // By bits: every size of number, subnormal ones too.
    const auto bits = *rc::gen::arbitrary<std::uint32_t>() & 0xFEFFFFFFU;
    scalars.push_back({*rc::gen::arbitrary<std::string>(), std::bit_cast<float>(bits)});
  }
  return scalars;
}

RC_GTEST_PROP(EventProperty, AreReadBack, ()) {
  const auto step = *rc::gen::arbitrary<std::int64_t>();
  const auto time = static_cast<double>(*rc::gen::arbitrary<std::int32_t>()) / 8;
  const std::string text = *rc::gen::arbitrary<std::string>();
  const std::vector<Scalar> scalars = random_scalars();
  Event event(time, step);
  for (const Scalar& scalar : scalars) event.scalar(scalar.tag, scalar.value);
  event.text("text", text);
  const std::string file = version_record(time) + event.record();

  const std::vector<std::string> records = tests::records(file);
  RC_ASSERT(records.size() == 2U);
  const tests::Fields fields(records[1]);
  RC_ASSERT(fields.real(1) == time);
  RC_ASSERT(static_cast<std::int64_t>(fields.numbers.at(2).at(0)) == step);
  const tests::Fields summary = fields.inside(5);
  RC_ASSERT(summary.texts.at(1).size() == scalars.size() + 1);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    RC_ASSERT(summary.inside(1, i).texts.at(1).at(0) == scalars[i].tag);
    RC_ASSERT(summary.inside(1, i).real32(2) == scalars[i].value);
  }
  RC_ASSERT(summary.inside(1, scalars.size()).inside(8).texts.at(8).at(0) == text);
}

RC_GTEST_PROP(EventProperty, AreNotReadWhenAByteIsWrongOrMissing, ()) {
  Event event(1, 2);
  event.scalar("loss", 0.5);
  const std::string file = version_record(1) + event.record();
  const auto place = *rc::gen::inRange<std::size_t>(0, file.size());
  std::string wrong = file;
  wrong[place] = static_cast<char>(wrong[place] ^ *rc::gen::inRange(1, 256));
  RC_ASSERT_THROWS(tests::records(wrong));
  if (place > 0 && place != version_record(1).size()) {
    RC_ASSERT_THROWS(tests::records(file.substr(0, place)));
  }
}

}  // namespace
}  // namespace tandem::exporting
