// SPDX-License-Identifier: MIT
// The fixture of tests that run once for every record.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/harness.h"
#include "tests/records.h"

namespace tandem::testing {

class Battery : public ::testing::TestWithParam<std::string> {
 protected:
  const Record& it() const { return record(GetParam()); }
};

inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  return test_name(info.param);
}

}  // namespace tandem::testing
