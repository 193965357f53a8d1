// SPDX-License-Identifier: MIT
// The optimizers of tandem::optim as a class of torch's, `torch.classes.tandem.Optimizer`: what the
// Python classes in tandem/optim.py stand on. It holds the parameters and looks at their gradients
// itself, so that a step passes nothing between Python and C++.
//
// Nothing is thrown across the line: how torch words exceptions of C++ differs between its versions.
// A function that can fail returns "" or the kind of the error, a line feed and the message.
#include <fmt/format.h>
#include <tandem/errors.h>
#include <tandem/torch/optimizer.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fields.h"

namespace tandem::optim {
namespace {

using Texts = c10::Dict<std::string, std::string>;
using Strings = std::vector<std::string>;
using Tensors = std::vector<at::Tensor>;

std::map<std::string, std::string> to_map(const Texts& texts) {
  std::map<std::string, std::string> map;
  for (const auto& item : texts) map[item.key()] = item.value();
  return map;
}

Texts to_dict(const std::map<std::string, std::string>& map) {
  Texts texts;
  for (const auto& [key, value] : map) texts.insert(key, value);
  return texts;
}

/// What work() throws, as kind and message.
template <class Work>
std::string outcome(const Work& work) {
  try {
    work();
    return "";
  } catch (const NonFiniteGradient& error) {
    return fmt::format("nonfinite\n{}", error.what());
  } catch (const StateError& error) {
    return fmt::format("state\n{}", error.what());
  } catch (const MemoryLimitError& error) {
    return fmt::format("memory\n{}", error.what());
  } catch (const std::bad_alloc&) {
    return "memory\nthere is not enough memory for the state of the optimizer";
  } catch (const std::invalid_argument& error) {
    return fmt::format("invalid\n{}", error.what());
  } catch (const std::exception& error) {
    return fmt::format("runtime\n{}", error.what());
  }
}

/// An optimizer with options as texts, by the names of docs/torch.md.
class Core : public torch::CustomClassHolder {
 public:
  explicit Core(const std::string& rule)
      : kind_(detail::kinds().at(rule)), optimizer_(kind_.optimizer({}, *kind_.options())) {}

  Texts default_options() const { return to_dict(detail::to_text(*kind_.options())); }

  std::string add_group(const Tensors& parameters, const Texts& options) {
    return outcome([&] {
      auto own = kind_.options();
      detail::from_text(*own, to_map(options));
      optimizer_->add_param_group({parameters, std::move(own)});
    });
  }

  std::string set_options(std::int64_t group, const Texts& options) {
    return outcome([&] {
      auto own = kind_.options();
      detail::from_text(*own, to_map(options));
      optimizer_->param_groups().at(static_cast<std::size_t>(group)).set_options(std::move(own));
    });
  }

  /// One of the rates that schedulers move, by its name among the options.
  std::string set_rate(std::int64_t group, const std::string& name, double value) {
    return outcome([&] {
      auto& options = optimizer_->param_groups().at(static_cast<std::size_t>(group)).options();
      detail::give_rate(static_cast<Options&>(options), name, value);
    });
  }

  std::string name_parameters(const Strings& names, const Tensors& parameters) {
    return outcome([&] {
      torch::OrderedDict<std::string, torch::Tensor> named;
      for (std::size_t i = 0; i < names.size(); ++i) named.insert(names[i], parameters.at(i));
      optimizer_->name_parameters(named);
    });
  }

  std::string step() {
    return outcome([&] { optimizer_->step(); });
  }

  /// Facts, then owner, array and tensor of each part.
  std::tuple<Texts, Strings, Strings, Tensors> state() const {
    NamedState state = optimizer_->named_state(Owners::places);
    std::tuple<Texts, Strings, Strings, Tensors> out = {to_dict(state.facts), {}, {}, {}};
    for (NamedState::Part& part : state.parts) {
      std::get<1>(out).push_back(std::move(part.owner));
      std::get<2>(out).push_back(std::move(part.array));
      std::get<3>(out).push_back(std::move(part.tensor));
    }
    return out;
  }

  std::string load_state(const Texts& facts, const Strings& owners, const Strings& arrays,
                         const Tensors& tensors) {
    return outcome([&] {
      NamedState state;
      state.facts = to_map(facts);
      for (std::size_t i = 0; i < owners.size(); ++i) {
        state.parts.push_back({owners[i], arrays.at(i), tensors.at(i)});
      }
      optimizer_->load_named_state(state, Owners::places);
    });
  }

  std::string save_file(const std::string& path) const {
    return outcome([&] { optimizer_->save_state(path); });
  }
  std::string load_file(const std::string& path) {
    return outcome([&] { optimizer_->load_state(path); });
  }

  c10::Dict<std::string, at::Tensor> state_of(const at::Tensor& parameter) const {
    c10::Dict<std::string, at::Tensor> state;
    for (const auto& [name, tensor] : optimizer_->state_of(parameter)) state.insert(name, tensor);
    return state;
  }

  /// Norm of the residual, norm of the gradient, delta.
  std::tuple<double, double, double> last() const {
    const Diagnostics last = optimizer_->last();
    return {last.residual_norm, last.gradient_norm, last.delta};
  }
  std::int64_t state_bytes() const { return static_cast<std::int64_t>(optimizer_->state_bytes()); }
  std::int64_t skipped_steps() const {
    return static_cast<std::int64_t>(optimizer_->skipped_steps());
  }

 private:
  const detail::Kind& kind_;
  std::unique_ptr<Optimizer> optimizer_;
};

TORCH_LIBRARY(tandem, library) {
  library.class_<Core>("Optimizer")
      .def(torch::init<const std::string&>())
      .def("default_options", &Core::default_options)
      .def("add_group", &Core::add_group)
      .def("set_options", &Core::set_options)
      .def("set_rate", &Core::set_rate)
      .def("name_parameters", &Core::name_parameters)
      .def("step", &Core::step)
      .def("state", &Core::state)
      .def("load_state", &Core::load_state)
      .def("save_file", &Core::save_file)
      .def("load_file", &Core::load_file)
      .def("state_of", &Core::state_of)
      .def("last", &Core::last)
      .def("state_bytes", &Core::state_bytes)
      .def("skipped_steps", &Core::skipped_steps);
}

}  // namespace
}  // namespace tandem::optim
