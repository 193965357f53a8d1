// SPDX-License-Identifier: MIT
// A report as one Markdown file; its figures are SVG files that stand beside it.
#pragma once

#include <string>

#include "report/html.h"

namespace tandem::report {

/// Title, facts, commands, then the sections. A figure is a link to NAME.svg with its caption, and
/// where `with_figures` is false, because there is no gnuplot, a line that says so.
std::string markdown_page(const Document& document, bool with_figures = true);

}  // namespace tandem::report
