// SPDX-License-Identifier: MIT
// Records of the optimizers that do not train themselves.
#include "tests/record_parts.h"

namespace tandem::testing {

Record sgd_record() {
  const Lrs lrs{0.1};
  Record record{.name = "sgd"};
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(), [](std::size_t) { return reference::sgd({}); }},
      {"all", lrs.all(), lrs.all_at(), [](std::size_t) { return reference::sgd(all_update); }},
      {"box", lrs.inverse(), lrs.inverse_at(),
       [](std::size_t) { return reference::sgd(box_update); }},
  };
  record.state_bytes = [](std::size_t) { return 0; };
  record.quadratic = {{{"lr", "0.1"}}, 3000, 1e-10};
  record.rosenbrock = {{{"lr", "0.001"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "1"}}, 3000, 1e-9};
  return record;
}

Record momentum_record() {
  const Lrs lrs{0.1};
  Record record{.name = "momentum"};
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(),
       [](std::size_t d) { return reference::momentum_ema(d, 0.9, {}); }},
      {"all", with(lrs.all(), {{"momentum", "0.8"}}), lrs.all_at(),
       [](std::size_t d) { return reference::momentum_ema(d, 0.8, all_update); }},
      {"torch_box", with(lrs.inverse(), {{"form", "torch"}, {"momentum", "0.7"}}), lrs.inverse_at(),
       [](std::size_t) { return reference::momentum_torch(0.7, box_update); }},
  };
  record.errors = {{{{"momentum", "-0.1"}}, {"momentum"}},
                   {{{"momentum", "nan"}}, {"momentum"}},
                   {{{"momentun", "0.9"}}, {"momentun", "momentum"}},
                   {{{"form", "heavy"}}, {"form", "heavy", "ema", "torch"}}};
  record.state_bytes = [](std::size_t d) { return 4 * d; };
  record.quadratic = {{{"lr", "0.1"}}, 3000, 1e-10};
  record.rosenbrock = {{{"lr", "0.002"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "1"}}, 3000, 1e-9};
  return record;
}

Record nesterov_record() {
  const Lrs lrs{0.02};
  Record record{.name = "nesterov"};
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(),
       [](std::size_t) { return reference::nesterov(0.9, {}); }},
      {"all", with(lrs.all(), {{"momentum", "0.8"}}), lrs.all_at(),
       [](std::size_t) { return reference::nesterov(0.8, all_update); }},
      {"box", lrs.inverse(), lrs.inverse_at(),
       [](std::size_t) { return reference::nesterov(0.9, box_update); }},
  };
  record.errors = {{{{"momentum", "-0.1"}}, {"momentum"}}, {{{"form", "ema"}}, {"form"}}};
  record.state_bytes = [](std::size_t d) { return 4 * d; };
  record.quadratic = {{{"lr", "0.01"}}, 3000, 1e-10};
  record.rosenbrock = {{{"lr", "0.0003"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.1"}}, 3000, 1e-9};
  return record;
}

Record adagrad_record() {
  const Lrs lrs{0.1};
  Record record{.name = "adagrad"};
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(),
       [](std::size_t d) { return reference::adagrad(d, 0, 1e-10, {}); }},
      {"all", with(lrs.all(), {{"initial_accumulator", "0.1"}, {"eps", "1e-3"}}), lrs.all_at(),
       [](std::size_t d) { return reference::adagrad(d, 0.1, 1e-3, all_update); }},
      {"box", lrs.inverse(), lrs.inverse_at(),
       [](std::size_t d) { return reference::adagrad(d, 0, 1e-10, box_update); }},
  };
  record.errors = {{{{"eps", "-1"}}, {"eps"}},
                   {{{"initial_accumulator", "-1"}}, {"initial_accumulator"}}};
  record.state_bytes = [](std::size_t d) { return 4 * d; };
  record.quadratic = {{{"lr", "0.5"}}, 3000, 1e-10};
  record.rosenbrock = {{{"lr", "0.5"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.5"}}, 3000, 1e-9};
  return record;
}

Record rmsprop_record() {
  const Lrs lrs{0.01};
  Record record{.name = "rmsprop"};
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(),
       [](std::size_t d) { return reference::rmsprop(d, 0.99, 1e-8, {}); }},
      {"all", with(lrs.all(), {{"beta2", "0.9"}, {"eps", "1e-3"}}), lrs.all_at(),
       [](std::size_t d) { return reference::rmsprop(d, 0.9, 1e-3, all_update); }},
      {"box", lrs.inverse(), lrs.inverse_at(),
       [](std::size_t d) { return reference::rmsprop(d, 0.99, 1e-8, box_update); }},
  };
  record.errors = {
      {{{"beta2", "1"}}, {"beta2"}}, {{{"beta2", "-0.1"}}, {"beta2"}}, {{{"eps", "-1"}}, {"eps"}}};
  record.state_bytes = [](std::size_t d) { return 4 * d; };
  record.quadratic = {{{"lr", "0.05*0.5^(t/300)"}}, 6000, 1e-10};
  record.rosenbrock = {{{"lr", "0.01*0.5^(t/4000)"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.05*0.5^(t/300)"}}, 6000, 1e-9};
  return record;
}

namespace {

Record adam_like(const std::string& name, double default_decay) {
  const Lrs lrs{0.01};
  Record record{.name = name};
  const Update plain = {.weight_decay = default_decay};
  Update box = box_update;
  box.weight_decay = default_decay;
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(),
       [plain](std::size_t d) { return reference::adam(d, 0.9, 0.999, 1e-8, true, true, plain); }},
      {"all", with(lrs.all(), {{"beta1", "0.8"}, {"beta2", "0.95"}, {"eps", "1e-4"}}), lrs.all_at(),
       [](std::size_t d) { return reference::adam(d, 0.8, 0.95, 1e-4, true, true, all_update); }},
      {"box_first_uncorrected", with(lrs.inverse(), {{"correct_first", "false"}}), lrs.inverse_at(),
       [box](std::size_t d) { return reference::adam(d, 0.9, 0.999, 1e-8, false, true, box); }},
      {"second_uncorrected", with(lrs.epochs(), {{"correct_second", "false"}, {"beta2", "0.9"}}),
       lrs.epochs_at(),
       [plain](std::size_t d) { return reference::adam(d, 0.9, 0.9, 1e-8, true, false, plain); }},
  };
  record.errors = {{{{"beta1", "1"}}, {"beta1"}},
                   {{{"beta1", "-0.1"}}, {"beta1"}},
                   {{{"beta2", "1"}}, {"beta2"}},
                   {{{"beta2", "nan"}}, {"beta2"}},
                   {{{"eps", "-1"}}, {"eps"}},
                   {{{"beta_2", "0.9"}}, {"beta_2", "beta2"}},
                   {{{"correct_first", "perhaps"}}, {"correct_first", "perhaps"}}};
  record.state_bytes = [](std::size_t d) { return 8 * d; };
  record.quadratic = {{{"lr", "0.1*0.5^(t/300)"}, {"weight_decay", "0"}}, 6000, 1e-10};
  record.rosenbrock = {{{"lr", "0.02*0.5^(t/4000)"}, {"weight_decay", "0"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.1*0.5^(t/300)"}, {"weight_decay", "0"}}, 6000, 1e-9};
  return record;
}

}  // namespace

Record lion_record() {
  const Lrs lrs{0.0005};
  Record record{.name = "lion"};
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(),
       [](std::size_t d) { return reference::lion(d, 0.9, 0.99, {}); }},
      {"all", with(lrs.all(), {{"beta1", "0.8"}, {"beta2", "0.95"}}), lrs.all_at(),
       [](std::size_t d) { return reference::lion(d, 0.8, 0.95, all_update); }},
      {"box", lrs.inverse(), lrs.inverse_at(),
       [](std::size_t d) { return reference::lion(d, 0.9, 0.99, box_update); }},
  };
  // In float a sum near 0 may round to the other sign, which moves that weight by 2 lr: 0.001, a
  // fiftieth of the largest weight where a small ball holds 10007 of them.
  record.float_tolerance = 0.03;
  record.errors = {{{{"beta1", "1"}}, {"beta1"}},
                   {{{"beta1", "-0.1"}}, {"beta1"}},
                   {{{"beta2", "1"}}, {"beta2"}}};
  record.state_bytes = [](std::size_t d) { return 4 * d; };
  record.quadratic = {{{"lr", "0.05*0.5^(t/200)"}}, 6000, 1e-10};
  record.rosenbrock = {{{"lr", "0.01*0.5^(t/4000)"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.05*0.5^(t/200)"}}, 6000, 1e-9};
  return record;
}

Record adam_record() { return adam_like("adam", 0); }
Record adamw_record() { return adam_like("adamw", 0.01); }

}  // namespace tandem::testing
