// SPDX-License-Identifier: MIT
#include "report/escape.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/utf8.h"

namespace tandem::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the UTF-8 character at the start of `text`; 0 where there is none that XML allows.
std::size_t character_bytes(std::string_view text) {
  const Character character = first_character(text);
  return character.code == 0xFFFE || character.code == 0xFFFF ? 0 : character.bytes;
}

std::string cleaned(std::string_view text, bool keep_lines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    if (length == 0) {
      result += kReplacement;
    } else if (length == 1) {
      const auto byte = static_cast<unsigned char>(text[0]);
      const bool control = byte < 0x20 || byte == 0x7F;
      const bool line = text[0] == '\n' || text[0] == '\t';
      result += control && !(keep_lines && line) ? ' ' : text[0];
    } else if (length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0) {
      result += ' ';  // the control characters U+0080 to U+009F, which terminals obey
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string_view latex_ascii(char character) {
  switch (character) {
    case '\\':
      return "\\textbackslash{}";
    case '{':
      return "\\{";
    case '}':
      return "\\}";
    case '$':
      return "\\$";
    case '&':
      return "\\&";
    case '#':
      return "\\#";
    case '_':
      return "\\_";
    case '%':
      return "\\%";
    case '~':
      return "\\textasciitilde{}";
    case '^':
      return "\\textasciicircum{}";
    case '<':
      return "\\textless{}";
    case '>':
      return "\\textgreater{}";
    case '|':
      return "\\textbar{}";
    case '`':
      return "\\textasciigrave{}";
    case '"':
      return "\\char34{}";
    default:
      return {};
  }
}

/// What pdfLaTeX cannot print by itself.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kLatexSigns{{
    {"α", "$\\alpha$"},
    {"β", "$\\beta$"},
    {"γ", "$\\gamma$"},
    {"δ", "$\\delta$"},
    {"λ", "$\\lambda$"},
    {"μ", "$\\mu$"},
    {"ρ", "$\\rho$"},
    {"σ", "$\\sigma$"},
    {"±", "$\\pm$"},
    {"×", "$\\times$"},
    {"≤", "$\\leq$"},
    {"≥", "$\\geq$"},
    {"−", "$-$"},
    {"∞", "$\\infty$"},
    {"→", "$\\to$"},
    {"…", "\\dots{}"},
}};

}  // namespace

std::string clean_line(std::string_view text) { return cleaned(text, false); }
std::string clean_text(std::string_view text) { return cleaned(text, true); }

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (characters(text) <= limit) return std::string(text);
  std::size_t bytes = 0;
  for (std::size_t count = 0; bytes < text.size(); ++bytes) {
    const bool starts = (static_cast<unsigned char>(text[bytes]) & 0xC0U) != 0x80U;
    if (starts && ++count >= limit) break;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char character : clean_text(text)) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string markdown_escaped(std::string_view text) {
  std::string result;
  for (const char character : clean_line(text)) {
    switch (character) {
      case '|':
        result += "\\|";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '<':
        result += "&lt;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string latex_escaped(std::string_view text) {
  const std::string clean = clean_line(text);
  std::string_view rest = clean;
  std::string result;
  while (!rest.empty()) {
    const std::size_t length = character_bytes(rest);
    const std::string_view character = rest.substr(0, length);
    std::string_view written = length == 1 ? latex_ascii(rest[0]) : std::string_view{};
    if (rest[0] == '-') {
      const char next = rest.size() > 1 ? rest[1] : '\0';
      if (next == '-') written = "-{}";  // "--" would become a dash
      if (result.empty() && next >= '0' && next <= '9') written = "$-$";  // a number's sign
    }
    for (const auto& [sign, formula] : kLatexSigns) {
      if (character == sign) written = formula;
    }
    result += written.empty() ? character : written;
    rest.remove_prefix(length);
  }
  return result;
}

std::string csv_field(std::string_view text) {
  const bool spaces = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!spaces && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char character : text) {
    if (character == '"') result += '"';
    result += character;
  }
  return result + '"';
}

std::string gnuplot_string(std::string_view text) {
  constexpr std::string_view kHarmless = " .,:;()/+-=";
  std::string result = "\"";
  for (const char character : clean_line(text)) {
    const auto byte = static_cast<unsigned char>(character);
    const bool plain = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
                       (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                       kHarmless.find(character) != std::string_view::npos;
    if (plain) {
      result += character;
    } else {
      // Four digits with a zero first: gnuplot takes a fourth one, of the text, after "\043".
      result += fmt::format("\\{:04o}", byte);
    }
  }
  return result + '"';
}

}  // namespace tandem::report
