// SPDX-License-Identifier: MIT
#include "export/event.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "export/hparams.h"
#include "export/test_reader.h"

namespace tandem::exporting {
namespace {

using tests::Fields;

TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c("a"), 0xC1D04330U);
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(tests::slow_crc32c("123456789"), 0xE3069283U);
}

TEST(Crc32c, IsMaskedAsTensorFlowDoesIt) {
  EXPECT_EQ(masked(0), 0xA282EAD8U);
  EXPECT_EQ(masked(0x00008000U), 0xA282EAD9U);
  EXPECT_EQ(masked(0x00000001U), 0xA284EAD8U);
}

TEST(Record, IsFramedByLengthAndChecksums) {
  const std::string bytes = record("123456789");
  ASSERT_EQ(bytes.size(), 8U + 4 + 9 + 4);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(12, 9), "123456789");
  // ((0xE3069283 >> 15) | (0xE3069283 << 17)) + 0xA282EAD8, least byte first.
  EXPECT_EQ(bytes.substr(21), std::string("\xE5\xB0\x8A\xC7", 4));
  EXPECT_EQ(tests::records(bytes + record("")), (std::vector<std::string>{"123456789", ""}));
}

TEST(Record, OfTheVersionIsWhatReadersLookFor) {
  const Fields event(tests::records(version_record(1.5)).at(0));
  EXPECT_EQ(event.real(1), 1.5);
  EXPECT_EQ(event.texts.at(3).at(0), "brain.Event:2");
}

TEST(Event, LeavesOutWhatIsNotFinite) {
  Event event(0, 0);
  event.scalar("a", std::numeric_limits<double>::quiet_NaN());
  event.scalar("b", std::numeric_limits<double>::infinity());
  event.scalar("c", 1e300);  // a float has no such number
  EXPECT_TRUE(event.empty());
  event.scalar("d", 0);
  EXPECT_FALSE(event.empty());
}

TEST(Event, WritesZerosAndNegativeSteps) {
  Event event(2, -3);
  event.scalar("zero", 0);
  const Fields fields(tests::records(event.record()).at(0));
  EXPECT_EQ(static_cast<std::int64_t>(fields.numbers.at(2).at(0)), -3);
  EXPECT_EQ(fields.inside(5).inside(1).real32(2), 0.0F);
}

TEST(Event, WritesTextsAsTensorsOfThePluginText) {
  Event event(2, 1);
  event.text("t", "größe");
  const Fields value = Fields(tests::records(event.record()).at(0)).inside(5).inside(1);
  EXPECT_EQ(value.texts.at(1).at(0), "t");
  EXPECT_EQ(value.inside(8).numbers.at(1).at(0), 7U);                      // DT_STRING
  EXPECT_EQ(value.inside(8).inside(2).inside(2).numbers.at(1).at(0), 1U);  // of one
  EXPECT_EQ(value.inside(8).texts.at(8).at(0), "größe");
  EXPECT_EQ(value.inside(9).inside(1).texts.at(1).at(0), "text");
  EXPECT_EQ(value.inside(9).numbers.at(4).at(0), 2U);  // DATA_CLASS_TENSOR
}

TEST(HParams, KnowNumbersAndTruthValues) {
  EXPECT_EQ(std::get<double>(hparam_of("1e-05")), 1e-5);
  EXPECT_EQ(std::get<double>(hparam_of("-3")), -3);
  EXPECT_EQ(std::get<bool>(hparam_of("true")), true);
  EXPECT_EQ(std::get<std::string>(hparam_of("0.1 / t")), "0.1 / t");
  EXPECT_EQ(std::get<std::string>(hparam_of("inf")), "inf");
  EXPECT_EQ(std::get<std::string>(hparam_of("")), "");
}

TEST(HParams, KeepOptionsWhoseNamesAreTaken) {
  HParams hparams{{"batch", 64.0}};
  add_options(hparams, {{"batch", "7"}, {"lr", "0.5"}});
  EXPECT_EQ(std::get<double>(hparams.at("batch")), 64);
  EXPECT_EQ(std::get<double>(hparams.at("option/batch")), 7);
  EXPECT_EQ(std::get<double>(hparams.at("lr")), 0.5);
}

TEST(HParams, OfAnExperimentHaveKindsAndRanges) {
  Experiment experiment;
  experiment.add({{"lr", 0.5}, {"norm", true}, {"name", std::string("a")}, {"mixed", 1.0}});
  experiment.add({{"lr", 0.25}, {"name", std::string("b\xFF")}, {"mixed", std::string("x")}});
  Event event(0, 0);
  experiment.write(event, {{"least/train_loss", "least"}});
  const Fields value = Fields(tests::records(event.record()).at(0)).inside(5).inside(1);
  EXPECT_EQ(value.texts.at(1).at(0), "_hparams_/experiment");
  const Fields plugin = value.inside(9).inside(1);
  EXPECT_EQ(plugin.texts.at(1).at(0), "hparams");
  const Fields data = plugin.inside(2).inside(2);  // HParamsPluginData.experiment
  const auto info = [&](std::size_t place) { return data.inside(4, place); };
  EXPECT_EQ(info(0).texts.at(1).at(0), "lr");
  EXPECT_EQ(info(0).numbers.at(4).at(0), 3U);  // DATA_TYPE_FLOAT64
  EXPECT_EQ(info(0).inside(6).real(1), 0.25);
  EXPECT_EQ(info(0).inside(6).real(2), 0.5);
  EXPECT_EQ(info(1).texts.at(1).at(0), "mixed");
  EXPECT_EQ(info(1).numbers.at(4).at(0), 1U);  // DATA_TYPE_STRING
  EXPECT_EQ(info(2).inside(5).inside(1, 1).texts.at(3).at(0), "b\xEF\xBF\xBD");
  EXPECT_EQ(info(3).numbers.at(4).at(0), 2U);  // DATA_TYPE_BOOL
  EXPECT_EQ(data.inside(5).inside(1).texts.at(2).at(0), "least/train_loss");
}

}  // namespace
}  // namespace tandem::exporting
