// SPDX-License-Identifier: MIT
#include "models/resnet_model.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "base/suggest.h"

namespace tandem::models {
namespace {

constexpr std::size_t kMostWidth = plugin::ResNetShape::kMostWidth;

std::size_t parse_width(const std::string& model, std::string_view text) {
  std::size_t width = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, width);
  if (result.ec != std::errc{} || result.ptr != end || width == 0 || width > kMostWidth) {
    throw std::invalid_argument(
        fmt::format("Invalid model '{}': width is '{}', expected a whole number from 1 to {}, the "
                    "channels of the first convolution",
                    model, text, kMostWidth));
  }
  return width;
}

}  // namespace

bool is_resnet(const std::string& kind) { return kind == "resnet18" || kind == "resnet50"; }

plugin::ResNetShape parse_resnet(const std::string& model) {
  const std::string kind = model.substr(0, model.find(':'));
  if (!is_resnet(kind)) {
    throw std::invalid_argument(
        fmt::format("Unknown ResNet '{}'{}", model, suggestion(kind, {"resnet18", "resnet50"})));
  }
  plugin::ResNetShape shape{.depth = kind == "resnet18" ? 18 : 50};
  if (kind == model) return shape;
  const std::string_view option = std::string_view(model).substr(kind.size() + 1);
  const std::size_t equals = option.find('=');
  const std::string name(option.substr(0, equals));
  if (name != "width" || equals == std::string_view::npos) {
    throw std::invalid_argument(
        fmt::format("Invalid model '{0}': found '{1}' behind the colon, expected width=N with N "
                    "from 1 to {2}, as in {3}:width=8",
                    model, option, kMostWidth, kind));
  }
  shape.width = parse_width(model, option.substr(equals + 1));
  return shape;
}

}  // namespace tandem::models
