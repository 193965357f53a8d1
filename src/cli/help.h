// SPDX-License-Identifier: MIT
// Help that fits 80 columns. A header, because CLI11 is one.
#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "report/terminal.h"

namespace tandem::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return report::wrapped_text(option->get_description(), kWidth - column_width_);
  }

  /// In the list of commands without its example, which the command's own help begins with.
  std::string make_subcommand(const CLI::App* command) const override {
    std::string text = command->get_description();
    const std::size_t end = text.find("\n\n");
    if (text.starts_with(kExample) && end != std::string::npos) text.erase(0, end + 2);
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             report::wrapped_text(text, kWidth - column_width_), column_width_);
    return out.str();
  }

  std::string make_description(const CLI::App* app) const override {
    std::string text = CLI::Formatter::make_description(app);
    // Examples are for copying: a command stays on its line.
    std::size_t end = text.find('\n');
    if (!text.starts_with(kExample) || end == std::string::npos) end = 0;
    return text.substr(0, end) + report::wrapped_text(text.substr(end), kWidth);
  }

 private:
  static constexpr std::size_t kWidth = 80;
  static constexpr std::string_view kExample = "Example:";
};

}  // namespace tandem::cli
