// SPDX-License-Identifier: MIT
#include "report/page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <tandem/version.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "base/atomic_file.h"
#include "report/escape.h"
#include "report/html.h"
#include "report/study_report.h"
#include "report/web_model.h"
#include "study/comparison.h"

namespace tandem::report {
namespace {

/// All studies as one document; each is a part of it where there are several.
Document document_of(const Page& page) {
  Document all;
  for (const study::StudyRuns& study : page.studies) {
    Document one = study_document(study, study::compare(study));
    if (page.studies.size() == 1) {
      all = std::move(one);
      break;
    }
    all.summary +=
        fmt::format("{}{}\n\n{}", all.summary.empty() ? "" : "\n\n", study.name, one.summary);
    for (Section& section : one.sections) {
      section.title = fmt::format("{}: {}", study.name, section.title);
      all.sections.push_back(std::move(section));
    }
    all.commands.insert(all.commands.end(), one.commands.begin(), one.commands.end());
    if (all.facts.empty()) all.facts = {{"machine", study.machine}, {"tandem", study.version}};
  }
  all.title = page.title;
  if (!page.note.empty()) all.summary = page.note + "\n\n" + all.summary;
  return all;
}

/// As the content of a script element, which only its end tag or a comment could leave.
std::string script_json(const nlohmann::ordered_json& json) {
  const std::string text =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string static_page(const Page& page) { return html_page(document_of(page)); }

std::string interactive_page(const Page& page) {
  nlohmann::ordered_json data = {
      {"format", 1},
      {"title", page.title},
      {"note", page.note},
      {"command", page.command},
      {"program", fmt::format("tandem {}", version())},
      {"made", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
      {"studies", nlohmann::ordered_json::array()}};
  for (const study::StudyRuns& study : page.studies) {
    data["studies"].push_back(web_study(study, study::compare(study)));
  }
  Document plain = document_of(page);
  for (Section& section : plain.sections) section.figures.clear();
  // Only the script of this digest may run, and nothing can be loaded.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'{}'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"tandem\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<div id=\"app\">\n{}</div>\n"
      "<script type=\"application/json\" id=\"tandem-data\">{}</script>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      web_script_digest(), html_escaped(clean_line(page.title)), web_style(), html_body(plain),
      script_json(data), web_script());
}

void write_page(const std::filesystem::path& path, const Page& page, bool interactive) {
  const std::string text = interactive ? interactive_page(page) : static_page(page);
  write_atomically(path, [&](std::ostream& stream) { stream << text; });
}

}  // namespace tandem::report
