// SPDX-License-Identifier: MIT
#include "cli/values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace tandem::cli {
namespace {

constexpr const char* kName = "value";

template <typename Number>
bool read(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

/// No zero before other digits: elsewhere that means octal.
bool plain_digits(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text == "0" || !text.starts_with('0');
}

template <typename Integer>
CLI::Validator whole_between(Integer least, Integer most, const std::string& shown) {
  const auto check = [least, most](std::string& text) -> std::string {
    Integer value = 0;
    if (plain_digits(text) && read(text, value) && value >= least && value <= most) return {};
    if constexpr (std::is_signed_v<Integer>) {
      return fmt::format("found '{}', expected a whole number in decimal digits", text);
    }
    return fmt::format("found '{}', expected a whole number from {} to {}", text, least, most);
  };
  return {check, shown, kName};
}

bool has_own_check(CLI::Option& option) {
  try {
    return option.get_validator(kName) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

void check_option(CLI::Option& option) {
  if (option.get_expected_max() == 0 || has_own_check(option)) return;  // a flag has no value
  const std::string type = option.get_type_name();
  // Put before other checks, which read numbers as CLI11 does.
  if (type.starts_with("UINT")) {
    option.transform(
        whole_between<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max(), ""));
  } else if (type.starts_with("INT")) {
    option.transform(whole_between<std::int64_t>(std::numeric_limits<std::int64_t>::min(),
                                                 std::numeric_limits<std::int64_t>::max(), ""));
  } else if (type.starts_with("FLOAT")) {
    option.transform(number(-kMostNumber, kMostNumber).description(""));
  } else if (option.get_name() != "--prompt") {
    option.check(CLI::Validator(
        [](std::string& text) {
          return text.empty() ? std::string("found an empty text") : std::string();
        },
        "", kName));
  }
}

}  // namespace

CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
  return whole_between(least, most, fmt::format("[{}..{}]", least, most));
}

CLI::Validator number(double least, double most) {
  const std::string range = least > -kMostNumber && most < kMostNumber
                                ? fmt::format("a number from {} to {}", least, most)
                            : least > -kMostNumber ? fmt::format("a number of {} or more", least)
                                                   : "a finite number";
  const auto check = [least, most, range](std::string& text) -> std::string {
    double value = 0;
    if (read(text, value) && std::isfinite(value) && value >= least && value <= most) return {};
    return fmt::format("found '{}', expected {}", text, range);
  };
  return {
      check,
      most < kMostNumber ? fmt::format("[{}..{}]", least, most) : ">=" + fmt::format("{}", least),
      kName};
}

void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) check_option(*option);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    check_values(*command);
  }
}

}  // namespace tandem::cli
