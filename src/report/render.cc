// SPDX-License-Identifier: MIT
#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "base/atomic_file.h"
#include "report/gnuplot.h"
#include "report/gnuplot_script.h"
#include "report/svg.h"

namespace tandem::report {
namespace {

namespace fs = std::filesystem;

/// Letters, digits, '.', '_' and '-'; not hidden, not empty, not endless.
std::string file_name(const std::string& name) {
  std::string result;
  for (const char character : name.substr(0, 100)) {
    const bool letter = (character >= 'a' && character <= 'z') ||
                        (character >= 'A' && character <= 'Z') ||
                        (character >= '0' && character <= '9');
    result += letter || character == '_' || character == '.' ? character : '-';
  }
  result.erase(0, result.find_first_not_of(".-"));
  return result.empty() ? "figure" : result;
}

}  // namespace

NoGnuplot::NoGnuplot()
    : FigureError(
          "Cannot draw figures: no program gnuplot was found in PATH. Debian: gnuplot-nox") {}

bool figures_available() { return !find_gnuplot().empty(); }

std::vector<Picture> render(const std::vector<Figure>& figures, const Formats& formats) {
  if (figures.empty() || (!formats.svg && !formats.png)) {
    return std::vector<Picture>(figures.size());
  }
  if (!figures_available()) throw NoGnuplot();
  std::string script;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const std::string svg = formats.svg ? fmt::format("{}.svg", i) : "";
    const std::string png = formats.png ? fmt::format("{}.png", i) : "";
    const Drawing drawing = drawing_of(figures[i]);
    script += data_script(drawing, i) + picture_script(figures[i], drawing, i, svg, png);
    for (const std::string& file : {svg, png}) {
      if (!file.empty()) files.push_back(file);
    }
  }
  std::vector<std::string> contents = run_gnuplot(script, files);
  std::vector<Picture> pictures(figures.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (formats.svg) {
      pictures[i].svg =
          tidy_svg(contents[next++], fmt::format("f{}-{}-", i, file_name(figures[i].name)),
                   figures[i].title);
    }
    if (formats.png) pictures[i].png = std::move(contents[next++]);
  }
  return pictures;
}

std::vector<fs::path> write_figures(const fs::path& folder, const std::vector<Figure>& figures,
                                    const Formats& formats) {
  const std::vector<Picture> pictures = render(figures, formats);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw FigureError(
        fmt::format("Cannot make the folder {}: {}", folder.string(), error.message()));
  }
  std::set<std::string> taken;
  std::vector<fs::path> paths;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const std::string stem = file_name(figures[i].name);
    std::string name = stem;
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = fmt::format("{}-{}", stem, number);
    }
    const auto write = [&](const std::string& ending, const std::string& content) {
      paths.push_back(folder / (name + ending));
      write_atomically(paths.back(), [&](std::ostream& stream) { stream << content; });
    };
    if (formats.svg) write(".svg", pictures[i].svg);
    if (formats.png) write(".png", pictures[i].png);
  }
  return paths;
}

}  // namespace tandem::report
