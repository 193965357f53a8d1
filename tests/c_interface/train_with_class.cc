// SPDX-License-Identifier: MIT
// What ctypes_test.py holds its weights against:
//   tandem_train_with_class RULE float|double|bfloat16 STEPS SIZE,SIZE,... [OPTION=VALUE...]
// reads weights and then the gradient of each step as raw bytes, trains with the C++ class, and writes
// the weights.
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

template <class T>
std::vector<T> read(std::size_t count) {
  std::vector<T> values(count);
  if (std::fread(values.data(), sizeof(T), count, stdin) != count) {
    throw std::runtime_error("the input ends too early");
  }
  return values;
}

template <class T>
void train(tandem::Optimizer& optimizer, const std::vector<tandem::SegmentSpec>& sizes, int steps) {
  std::vector<T> weights = read<T>(optimizer.dimension());
  for (int step = 0; step < steps; ++step) {
    const std::vector<T> gradient = read<T>(weights.size());
    std::vector<tandem::Segment<T>> segments;
    std::size_t at = 0;
    for (const tandem::SegmentSpec& spec : sizes) {
      segments.push_back({std::span(weights).subspan(at, spec.size),
                          std::span<const T>(gradient).subspan(at, spec.size)});
      at += spec.size;
    }
    optimizer.step(std::span<const tandem::Segment<T>>(segments));
  }
  std::fwrite(weights.data(), sizeof(T), weights.size(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 5) throw std::runtime_error("expected RULE TYPE STEPS SIZES [OPTION=VALUE...]");
    std::vector<tandem::SegmentSpec> sizes;
    std::istringstream list(argv[4]);
    for (std::string size; std::getline(list, size, ',');) sizes.push_back({std::stoul(size)});
    tandem::OptionMap options;
    for (int i = 5; i < argc; ++i) {
      const std::string option = argv[i];
      const std::size_t equals = option.find('=');
      options[option.substr(0, equals)] = option.substr(equals + 1);
    }
    const auto optimizer = tandem::make_optimizer(argv[1], sizes, options);
    const std::string type = argv[2];
    const int steps = std::atoi(argv[3]);
    if (type == "float") train<float>(*optimizer, sizes, steps);
    if (type == "double") train<double>(*optimizer, sizes, steps);
    if (type == "bfloat16") train<tandem::BFloat16>(*optimizer, sizes, steps);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem_train_with_class: %s\n", error.what());
    return 1;
  }
  return 0;
}
