// SPDX-License-Identifier: MIT
// Studies as one HTML file that needs nothing else: interactive where the program has the front
// end, static where not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/web_assets.h"
#include "study/results.h"

namespace tandem::report {

struct Page {
  std::string title;
  std::string note = {};     // what a reader must know; may be empty
  std::string command = {};  // that makes the page
  std::vector<study::StudyRuns> studies;
};

/// No script, no interaction: tables, and figures where there is gnuplot.
std::string static_page(const Page& page);
/// The data and the front end in one file. Without scripts a reader still sees words and tables.
std::string interactive_page(const Page& page);

/// In a file that is there whole or not at all.
void write_page(const std::filesystem::path& path, const Page& page,
                bool interactive = web_available());

}  // namespace tandem::report
