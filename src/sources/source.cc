// SPDX-License-Identifier: MIT
#include "sources/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/suggest.h"
#include "sources/sources.h"

namespace tandem::sources {
namespace {

const std::vector<std::string> kSources = {"minibatch", "saga", "svrg", "storm"};

std::vector<std::string> rules() {
  std::vector<std::string> names;
  for (const OptimizerInfo& info : optimizer_infos()) names.push_back(info.name);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<double> full_gradient(const Problem& problem, const float* weights) {
  constexpr std::size_t kChunk = 256;
  const std::size_t samples = problem.samples();
  std::vector<double> sum(problem.dimension(), 0);
  std::vector<float> gradient(problem.dimension());
  std::vector<std::uint32_t> rows;
  double rough = 0;
  for (std::size_t begin = 0; begin < samples; begin += kChunk) {
    rows.clear();
    for (std::size_t row = begin; row < std::min(samples, begin + kChunk); ++row) {
      rows.push_back(static_cast<std::uint32_t>(row));
    }
    problem.batch(Problem::Part::train, rows)->gradients(1, weights, gradient.data(), &rough);
    const double share = static_cast<double>(rows.size()) / static_cast<double>(samples);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += share * static_cast<double>(gradient[i]);
    }
  }
  return sum;
}

Method parse_method(const std::string& name) {
  const std::size_t plus = name.find('+');
  if (plus != std::string::npos) {
    Method method{name.substr(0, plus), name.substr(plus + 1)};
    if (!contains(kSources, method.source)) {
      throw std::invalid_argument(fmt::format("Unknown source '{}' in '{}'{}", method.source, name,
                                              suggestion(method.source, kSources)));
    }
    if (!contains(rules(), method.rule)) {
      throw std::invalid_argument(fmt::format("Unknown rule '{}' in '{}'{}", method.rule, name,
                                              suggestion(method.rule, rules())));
    }
    return method;
  }
  if (contains(rules(), name)) return {"minibatch", name};
  if (name == "vradam") return {"svrg", "adam"};
  if (name != "minibatch" && contains(kSources, name)) return {name, "sgd"};
  std::vector<std::string> known = rules();
  known.insert(known.end(), {"saga", "svrg", "storm", "vradam"});
  throw std::invalid_argument(
      fmt::format("Unknown optimizer '{}'{}", name, suggestion(name, known)));
}

std::unique_ptr<Source> make_source(const Method& method, const Problem& problem,
                                    OptionMap& options) {
  if (method.source == "saga") return make_saga(problem);
  if (method.source == "svrg") return make_svrg(problem);
  if (method.source == "storm") return make_storm(problem, options);
  return nullptr;
}

}  // namespace tandem::sources
