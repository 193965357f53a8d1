// SPDX-License-Identifier: MIT
// Text that somebody else wrote (names of studies, labels), made safe for a format. Each function
// gives text that means the same there and can start nothing: no command, no tag, no cell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tandem::report {

/// Valid UTF-8 on one line: control characters become spaces, broken bytes and what XML forbids
/// become U+FFFD.
std::string clean_line(std::string_view text);
/// The same, but line ends and tabs stay.
std::string clean_text(std::string_view text);

/// Characters, not bytes.
std::size_t characters(std::string_view text);
/// At most so many characters; the last one is then an ellipsis.
std::string shortened(std::string_view text, std::size_t limit);

/// For element content and quoted attributes, of HTML and XML.
std::string html_escaped(std::string_view text);
/// For a cell of a GitHub table: bars, backslashes, tags and line ends.
std::string markdown_escaped(std::string_view text);
/// For running text of LaTeX; Greek letters and signs that tables use become formulas.
std::string latex_escaped(std::string_view text);
/// A field of RFC 4180: quoted where it has to be.
std::string csv_field(std::string_view text);
/// A string constant of gnuplot, quotes included. All but letters, digits and a few harmless marks
/// are octal, so that nothing in it means anything to gnuplot: it runs backticks inside quotes.
std::string gnuplot_string(std::string_view text);

}  // namespace tandem::report
