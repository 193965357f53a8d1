// SPDX-License-Identifier: MIT
#include "models/make_problem.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "models/llama_model.h"
#include "models/resnet_model.h"
#include "plugin/load.h"
#include "problems/ffn.h"
#include "problems/softmax.h"

namespace tandem::models {
namespace {

/// Whether the last column is ones, which makes a bias of the first layer's own one too many.
bool has_bias_column(const data::Dataset& data) {
  if (data.sparse || data.rows == 0 || data.features == 0) return false;
  for (std::size_t row = 0; row < data.rows; ++row) {
    if (data.dense[(row + 1) * data.features - 1] != 1.0F) return false;
  }
  return true;
}

std::vector<std::size_t> parse_widths(const std::string& model) {
  std::vector<std::size_t> widths;
  const char* at = model.data() + std::string_view("ffn:").size();
  const char* end = model.data() + model.size();
  while (true) {
    std::size_t width = 0;
    const auto result = std::from_chars(at, end, width);
    if (result.ec != std::errc{} || width == 0 || (result.ptr != end && *result.ptr != ',')) {
      throw std::invalid_argument(fmt::format(
          "Invalid model '{}', expected widths of hidden layers as in ffn:100 or ffn:100,50",
          model));
    }
    widths.push_back(width);
    if (result.ptr == end) return widths;
    at = result.ptr + 1;
  }
}

}  // namespace

std::string model_kind(const std::string& model) { return model.substr(0, model.find(':')); }

void check_model(const std::string& model) {
  const std::string kind = model_kind(model);
  const bool has_argument = kind.size() < model.size();
  if (kind == "ffn" && has_argument) {
    parse_widths(model);
  } else if (kind == "llama" && has_argument) {
    parse_llama(model);
  } else if (is_resnet(kind)) {
    parse_resnet(model);
  } else if (model != "logistic") {
    throw std::invalid_argument(fmt::format(
        "Unknown model '{}'{}", model,
        suggestion(kind, {"logistic", "ffn:100", "resnet18", "resnet50", "llama:CHECKPOINT"})));
  }
}

void check_loss(const std::string& model, problems::Loss loss) {
  const std::string kind = model_kind(model);
  if (loss == problems::Loss::cross_entropy || kind == "logistic" || kind == "ffn") return;
  throw std::invalid_argument(fmt::format(
      "Invalid loss '{}': {} has {} alone; others go with logistic and ffn:WIDTHS",
      problems::loss_name(loss), kind, problems::loss_name(problems::Loss::cross_entropy)));
}

std::unique_ptr<Problem> make_problem(const std::string& model,
                                      std::shared_ptr<const data::Task> task, double lambda,
                                      problems::Loss loss,
                                      const std::vector<std::filesystem::path>& search) {
  check_model(model);
  check_loss(model, loss);
  const std::string kind = model_kind(model);
  if (kind == "llama") {
    return make_llama(parse_llama(model), *task, lambda, search).model;
  }
  if (is_resnet(kind)) {
    return plugin::load_torch().deep_models.resnet(parse_resnet(model), std::move(task), lambda);
  }
  if (kind == "ffn") {
    const bool input_bias = !has_bias_column(task->train);
    return std::make_unique<problems::FeedForward>(std::move(task), parse_widths(model), lambda,
                                                   input_bias, loss);
  }
  return std::make_unique<problems::SoftmaxRegression>(std::move(task), lambda, loss);
}

}  // namespace tandem::models
