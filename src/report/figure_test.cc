// SPDX-License-Identifier: MIT
#include "report/figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tandem::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Figure with(std::vector<Series> series, Scale y_scale = Scale::linear) {
  return {.name = "n",
          .title = "t",
          .x = {"x"},
          .y = {"y", y_scale},
          .series = std::move(series),
          .caption = "Caption."};
}

TEST(Figure, LeavesOutWhatIsNotFiniteAndSaysSo) {
  const Figure figure = with({{.label = "a", .x = {0, 1, 2, kNan}, .y = {1, kNan, 3, 4}},
                              {.label = "b", .x = {0, 1}, .y = {kInfinity, -kInfinity}}});
  const Drawing drawing = drawing_of(figure);
  EXPECT_EQ(drawing.series[0].x, (std::vector<double>{0, 2}));
  EXPECT_TRUE(drawing.series[1].x.empty());
  EXPECT_EQ(full_caption(figure), "Caption. 4 points without a finite value left out.");
}

TEST(Figure, IsEmptyWithoutPoints) {
  EXPECT_TRUE(drawing_of(with({})).empty);
  EXPECT_TRUE(drawing_of(with({{.label = "a", .x = {}, .y = {}}})).empty);
  EXPECT_TRUE(drawing_of(with({{.label = "a", .x = {1}, .y = {kNan}}})).empty);
  EXPECT_FALSE(drawing_of(with({{.label = "a", .x = {1}, .y = {1}}})).empty);
}

TEST(Figure, DrawsZeroAtTheFloorOfALogarithmicAxis) {
  const Figure figure = with({{.label = "a",
                               .x = {0, 1, 2},
                               .y = {1, 0.01, 0},
                               .low = {0.5, -1, 0},
                               .high = {2, 0.02, 0}}},
                             Scale::log);
  const Drawing drawing = drawing_of(figure);
  EXPECT_EQ(drawing.series[0].y, (std::vector<double>{1, 0.01, 0.01}));
  EXPECT_EQ(drawing.series[0].low, (std::vector<double>{0.5, 0.01, 0.01}));
  EXPECT_EQ(drawing.notes, "1 point at or below zero drawn at 0.01, the smallest positive value.");
  EXPECT_TRUE(drawing_of(with({{.label = "a", .x = {0}, .y = {0}}}, Scale::log)).empty);
}

TEST(Figure, ThinsLongSeriesButKeepsTheirExtremes) {
  Series series{.label = "a", .x = {}, .y = {}};
  for (int i = 0; i < 100000; ++i) {
    series.x.push_back(i);
    series.y.push_back(std::sin(i * 0.001));
  }
  series.y[54321] = 7;
  series.y[777] = -7;
  series.low = series.high = series.y;
  const Drawing drawing = drawing_of(with({series}));
  const Series& thin = drawing.series[0];
  EXPECT_LE(thin.x.size(), kMaxPoints);
  EXPECT_EQ(thin.low.size(), thin.x.size());
  EXPECT_TRUE(std::is_sorted(thin.x.begin(), thin.x.end()));
  EXPECT_EQ(drawing.y_max, 7);
  EXPECT_EQ(drawing.y_min, -7);
  EXPECT_EQ(thin.x.front(), 0);
  EXPECT_EQ(thin.x.back(), 99999);
}

TEST(Figure, RefusesVectorsOfDifferentLength) {
  try {
    drawing_of(with({{.label = "odd", .x = {1, 2}, .y = {1}}}));
    FAIL() << "expected an exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'odd'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("2, 1, 0, 0"), std::string::npos);
  }
}

TEST(Figure, AnOptimizerHasTheSameColourEverywhere) {
  const auto colour = [](const std::vector<std::string>& labels, const std::string& wanted) {
    std::vector<Series> series;
    for (const std::string& label : labels) {
      series.push_back({.label = label, .x = {1}, .y = {1}});
    }
    const Drawing drawing = drawing_of(with(series));
    for (const Series& drawn : drawing.series) {
      if (drawn.label == wanted) return drawn.style->rgb;
    }
    throw std::logic_error("no such series");
  };
  for (const std::string label : {"adam", "diag-to", "svrg+lion", "mine", "mine 2"}) {
    EXPECT_EQ(colour({label}, label), colour({"sgd", "other", "x", label, "adam-to"}, label));
    EXPECT_EQ(style_of(label), style_of(label));
  }
  EXPECT_EQ(style_of("diag-to").rgb, 0x0072B2U);
  // The same on every machine and in every version.
  EXPECT_EQ(style_of("svrg+lion"), style_of(std::string("svrg") + "+lion"));
}

TEST(Figure, KnownMethodsKeepTheirDash) {
  // Somebody before it in the figure asks for the same look, by the chance of a hash.
  std::string rival = "a";
  while (style_of(rival) != style_of("adam")) rival += 'a';
  const Drawing drawing = drawing_of(
      with({{.label = rival, .x = {1}, .y = {1}}, {.label = "adam", .x = {1}, .y = {1}}}));
  EXPECT_EQ(drawing.series[1].style, style_of("adam"));
  EXPECT_EQ(drawing.series[0].style->rgb, style_of("adam").rgb);
  EXPECT_NE(drawing.series[0].style->dash, style_of("adam").dash);
}

TEST(Figure, NoTwoSeriesLookTheSame) {
  const Drawing drawing = drawing_of(with({{.label = "a", .x = {1}, .y = {1}},
                                           {.label = "a", .x = {1}, .y = {1}},
                                           {.label = "a", .x = {1}, .y = {1}}}));
  EXPECT_EQ(drawing.series[0].style->rgb, drawing.series[2].style->rgb);
  EXPECT_NE(drawing.series[0].style->dash, drawing.series[1].style->dash);
  EXPECT_NE(drawing.series[1].style->dash, drawing.series[2].style->dash);
  EXPECT_NE(drawing.series[0].style->dash, drawing.series[2].style->dash);
}

}  // namespace
}  // namespace tandem::report
