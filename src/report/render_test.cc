// SPDX-License-Identifier: MIT
#include "report/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <regex>
#include <set>

#include "base/printable.h"
#include "report/curves.h"
#include "report/escape.h"
#include "report/svg.h"
#include "tests/temp_folder.h"

namespace tandem::report {
namespace {

namespace fs = std::filesystem;

#define NEEDS_GNUPLOT() \
  if (!figures_available()) GTEST_SKIP() << "gnuplot was not found; Debian: gnuplot-nox"

/// Names that would run something, if anything could.
const std::vector<std::string>& nasty() {
  static const std::vector<std::string> names = {"a\"; system(\"touch pwned\"); \"",
                                                 "`touch pwned`",
                                                 "'; !touch pwned\n!touch pwned\n'",
                                                 "x_1^{2} @foo $bar %d \\",
                                                 "]]></svg><script>",
                                                 "\xFF broken \x01",
                                                 "größe λ",
                                                 "<b id=\"x\">&#0;</b>"};
  return names;
}

Figure figure_of(const std::string& text) {
  return {.name = text,
          .title = text,
          .x = {text},
          .y = {text, Scale::log},
          .series = {{.label = text,
                      .x = {0, 1, 2},
                      .y = {1, 0.1, 0.001},
                      .low = {0.9, 0.05, 0},
                      .high = {1.1, 0.2, 0.01}}},
          .caption = text};
}

/// Tags closed in order, attributes quoted, no stray '<' or '&': what we can get wrong in an SVG.
void expect_well_formed(const std::string& svg) {
  static const std::regex entity("^&(amp|lt|gt|quot|#39);");
  ASSERT_EQ(svg.rfind("<?xml", 0), 0U);
  std::vector<std::string> open;
  for (std::size_t at = 0; at < svg.size();) {
    if (svg[at] == '&') {
      EXPECT_TRUE(std::regex_search(svg.substr(at, 8), entity)) << svg.substr(at, 30);
    }
    EXPECT_FALSE(svg[at] == '>') << svg.substr(at, 30);
    if (svg[at] != '<') {
      ++at;
      continue;
    }
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    EXPECT_EQ(tag.find('<'), std::string::npos) << tag;
    const std::string name = tag.substr(0, tag.find_first_of(" \n\t/", 1));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ("/" + open.back(), name);
      open.pop_back();
    } else if (tag[0] != '?' && tag[0] != '!' && tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(clean_text(svg), svg);  // valid UTF-8 without controls
}

std::set<std::string> ids_of(const std::string& svg) {
  static const std::regex id(" id=['\"]([^'\"]*)['\"]");
  std::set<std::string> ids;
  for (std::sregex_iterator at(svg.begin(), svg.end(), id), end; at != end; ++at) {
    EXPECT_TRUE(ids.insert((*at)[1]).second) << "twice: " << (*at)[1];
  }
  return ids;
}

class Render : public testing::Test {
 protected:
  tests::TempFolder temp_;
  fs::path folder_ = temp_.path();
};

TEST_F(Render, DrawsNastyNamesAsText) {
  NEEDS_GNUPLOT();
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  std::vector<Figure> figures;
  for (const std::string& name : nasty()) figures.push_back(figure_of(name));
  const std::vector<Picture> pictures = render(figures);
  const std::vector<std::string> texts = render_text(figures);
  fs::current_path(before);
  EXPECT_TRUE(fs::is_empty(folder_));
  for (std::size_t i = 0; i < figures.size(); ++i) {
    expect_well_formed(pictures[i].svg);
    EXPECT_EQ(pictures[i].svg.find("<script"), std::string::npos);
    EXPECT_NE(texts[i].find(visible_line(nasty()[i])), std::string::npos) << texts[i];
  }
  // Title, legend and both axes say it as it is.
  EXPECT_NE(pictures[1].svg.find("<text>`touch pwned`</text>"), std::string::npos);
  EXPECT_NE(pictures[3].svg.find("<text>x_1^{2} @foo $bar %d \\</text>"), std::string::npos);
  EXPECT_NE(pictures[6].svg.find("<text>größe λ</text>"), std::string::npos);
  EXPECT_NE(pictures[7].svg.find("<text>&lt;b id=\"x\"&gt;&amp;#0;&lt;/b&gt;</text>"),
            std::string::npos);
}

TEST_F(Render, LegendNamesEverySeries) {
  NEEDS_GNUPLOT();
  Figure figure = figure_of("many");
  figure.series.clear();
  for (int s = 0; s < 40; ++s) {
    figure.series.push_back(
        {.label = "series " + std::to_string(s), .x = {0, 1}, .y = {1, 1.0 + s}});
  }
  const std::string svg = render({figure})[0].svg;
  for (const Series& series : figure.series) {
    EXPECT_NE(svg.find("<text>" + series.label + "</text>"), std::string::npos) << series.label;
  }
}

TEST_F(Render, NoTextLeavesThePicture) {
  NEEDS_GNUPLOT();
  const std::string svg = render({figure_of("a label")})[0].svg;
  std::smatch size;
  ASSERT_TRUE(std::regex_search(svg, size, std::regex("width=\"([0-9]+)\" height=\"([0-9]+)\"")));
  static const std::regex place("translate\\(([-0-9.]+),([-0-9.]+)\\)");
  std::size_t places = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), place), end; at != end; ++at, ++places) {
    EXPECT_GT(std::stod((*at)[1]), 12);
    EXPECT_LT(std::stod((*at)[1]), std::stod(size[1]) - 12);
    EXPECT_GT(std::stod((*at)[2]), 12);
    EXPECT_LT(std::stod((*at)[2]), std::stod(size[2]) - 5);
  }
  EXPECT_GT(places, 5U);
}

TEST_F(Render, IdsOfOnePageAreDifferent) {
  NEEDS_GNUPLOT();
  const std::vector<Picture> pictures = render({figure_of("same"), figure_of("same")});
  const std::set<std::string> first = ids_of(pictures[0].svg);
  const std::set<std::string> second = ids_of(pictures[1].svg);
  EXPECT_FALSE(first.empty());
  for (const std::string& id : first) EXPECT_EQ(second.count(id), 0U) << id;
  // And references follow.
  static const std::regex reference("href=['\"]#([^'\"]*)['\"]");
  for (std::sregex_iterator at(pictures[0].svg.begin(), pictures[0].svg.end(), reference), end;
       at != end; ++at) {
    EXPECT_EQ(first.count((*at)[1]), 1U) << (*at)[1];
  }
}

TEST_F(Render, PngHasTwiceThePixelsOfTheSvg) {
  NEEDS_GNUPLOT();
  const std::vector<Picture> pictures = render({figure_of("x")}, {.svg = true, .png = true});
  const std::string& png = pictures[0].png;
  ASSERT_GT(png.size(), 24U);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto number = [&](std::size_t at) {
    unsigned value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8U | static_cast<unsigned char>(png[at + i]);
    return value;
  };
  std::smatch size;
  ASSERT_TRUE(std::regex_search(pictures[0].svg, size,
                                std::regex("width=\"([0-9]+)\" height=\"([0-9]+)\"")));
  EXPECT_EQ(number(16), 2 * std::stoul(size[1]));
  EXPECT_EQ(number(20), 2 * std::stoul(size[2]));
}

TEST_F(Render, SaysWhenThereIsNoData) {
  NEEDS_GNUPLOT();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Figure nothing = figure_of("nothing");
  nothing.series.clear();
  Figure nan = figure_of("nan");
  nan.series[0].y = {kNan, kNan, kNan};
  Figure zeros = figure_of("zeros");
  zeros.series = {{.label = "a", .x = {0, 1}, .y = {0, 0}}};
  for (const Picture& picture : render({nothing, nan, zeros})) {
    EXPECT_NE(picture.svg.find("no data"), std::string::npos);
    expect_well_formed(picture.svg);
  }
  EXPECT_NE(render_text({nothing})[0].find("no data"), std::string::npos);
}

TEST_F(Render, DrawsExtremesWithoutFailing) {
  NEEDS_GNUPLOT();
  std::vector<Figure> figures;
  for (const Scale scale : {Scale::linear, Scale::log}) {
    for (const auto& y : std::vector<std::vector<double>>{{5},
                                                          {5, 5, 5},
                                                          {0, 0},
                                                          {1e-190, 1e190},
                                                          {1e-320, 1},
                                                          {-1e190, 1e190},
                                                          {1, 1.0000001},
                                                          {1e-8, 1.1e-8}}) {
      Figure figure = figure_of("extreme");
      figure.x.scale = figure.y.scale = scale;
      figure.series = {{.label = "a", .x = std::vector<double>(y.size()), .y = y}};
      for (std::size_t i = 0; i < y.size(); ++i) figure.series[0].x[i] = 1 + static_cast<double>(i);
      figure.level = 1;
      figures.push_back(figure);
    }
  }
  for (const Picture& picture : render(figures, {.svg = true, .png = true})) {
    expect_well_formed(picture.svg);
  }
}

TEST_F(Render, TextHasAxesAndLegend) {
  NEEDS_GNUPLOT();
  Figure figure = figure_of("curves");
  figure.x.label = "epoch";
  figure.y.label = "loss";
  figure.series.push_back({.label = "diag-to", .x = {0, 2}, .y = {0.5, 0.002}});
  const std::string plain = render_text({figure}, {.width = 70, .height = 20})[0];
  EXPECT_NE(plain.find("epoch"), std::string::npos);
  EXPECT_NE(plain.find("loss (logarithmic)"), std::string::npos);
  EXPECT_NE(plain.find("+----"), std::string::npos);
  EXPECT_NE(plain.find("### diag-to"), std::string::npos);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_LE(std::count(plain.begin(), plain.end(), '\n'), 20);
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = plain.find('\n', at);
    EXPECT_LE(characters(plain.substr(at, end - at)), 70U);
    at = end + 1;
  }
  const std::string coloured =
      render_text({figure}, {.width = 70, .height = 20, .colour = true})[0];
  EXPECT_NE(coloured.find("\x1b[38;5;31m"), std::string::npos);  // diag-to's blue
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9;]*m"), ""), plain);
}

TEST_F(Render, WritesFilesUnderSafeNames) {
  NEEDS_GNUPLOT();
  const std::vector<fs::path> paths =
      write_figures(folder_ / "new" / "figures",
                    {figure_of("../../up"), figure_of("a b"), figure_of("a b"), figure_of("")});
  std::vector<std::string> names;
  for (const fs::path& path : paths) {
    EXPECT_GT(fs::file_size(path), 100U);
    EXPECT_EQ(path.parent_path(), folder_ / "new" / "figures");
    names.push_back(path.filename().string());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"up.svg", "up.png", "a-b.svg", "a-b.png", "a-b-2.svg",
                                             "a-b-2.png", "figure.svg", "figure.png"}));
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_ / "new" / "figures")) {
    ++count;
  }
  EXPECT_EQ(count, names.size());
}

/// PATH as it was, at the end.
class WithPath {
 public:
  explicit WithPath(const std::string& path) : before_(std::getenv("PATH")) {
    setenv("PATH", path.c_str(), 1);
  }
  ~WithPath() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST_F(Render, NamesThePackageWhereThereIsNoGnuplot) {
  const WithPath path("");
  EXPECT_FALSE(figures_available());
  EXPECT_TRUE(render({}).empty());
  for (const auto& draw : std::vector<std::function<void()>>{
           [] { render({figure_of("x")}); }, [] { render_text({figure_of("x")}); }}) {
    try {
      draw();
      FAIL() << "expected an exception";
    } catch (const NoGnuplot& error) {
      EXPECT_NE(std::string(error.what()).find("gnuplot-nox"), std::string::npos);
    }
  }
}

TEST_F(Render, TellsWhatAFailedGnuplotSaid) {
  { std::ofstream(folder_ / "gnuplot") << "#!/bin/sh\necho it is broken >&2\nexit 3\n"; }
  fs::permissions(folder_ / "gnuplot", fs::perms::owner_all);
  const WithPath path(folder_.string());
  try {
    render({figure_of("x")});
    FAIL() << "expected an exception";
  } catch (const FigureError& error) {
    EXPECT_NE(std::string(error.what()).find("status 3"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("it is broken"), std::string::npos) << error.what();
  }
}

TEST(Svg, PrefixesIdsInTagsAndNotInText) {
  EXPECT_EQ(tidy_svg("<g id=\"a\"><text> id=\"a\"></text><use xlink:href='#a'/></g>", "p-", "t"),
            "<g id=\"p-a\"><text> id=\"a\"&gt;</text><use xlink:href='#p-a'/></g>");
  EXPECT_EQ(tidy_svg("<title>Gnuplot</title><title>gnuplot_plot_1</title>", "p-", "a<b"),
            "<title>a&lt;b</title>");
  EXPECT_EQ(inline_svg("<?xml?>\n<svg width=\"1\"></svg>", "a \"b\""),
            "<svg role=\"img\" aria-label=\"a &quot;b&quot;\" width=\"1\"></svg>");
}

}  // namespace
}  // namespace tandem::report
