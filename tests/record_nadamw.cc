// SPDX-License-Identifier: MIT
// The record of NAdamW.
#include "tests/record_parts.h"

namespace tandem::reference {
RulePointer nadam(std::size_t dimension, double mu, double nu, double eps, double momentum_decay,
                  const Update& update);  // reference_nadamw.cc
}  // namespace tandem::reference

namespace tandem::testing {

Record nadamw_record() {
  const Lrs lrs{0.01};
  Record record{.name = "nadamw"};
  const Update plain = {.weight_decay = 0.01};
  Update box = box_update;
  box.weight_decay = 0.01;
  record.sets = {
      {"epochs", lrs.epochs(), lrs.epochs_at(),
       [plain](std::size_t d) { return reference::nadam(d, 0.9, 0.999, 1e-8, 0.004, plain); }},
      {"all", with(lrs.all(), {{"beta1", "0.8"}, {"beta2", "0.95"}, {"eps", "1e-4"}}), lrs.all_at(),
       [](std::size_t d) { return reference::nadam(d, 0.8, 0.95, 1e-4, 0.004, all_update); }},
      {"box_fast_momentum", with(lrs.inverse(), {{"momentum_decay", "0.5"}}), lrs.inverse_at(),
       [box](std::size_t d) { return reference::nadam(d, 0.9, 0.999, 1e-8, 0.5, box); }},
  };
  record.errors = {{{{"beta1", "1"}}, {"beta1"}},
                   {{{"beta2", "-0.1"}}, {"beta2"}},
                   {{{"eps", "-1"}}, {"eps"}},
                   {{{"momentum_decay", "-1"}}, {"momentum_decay"}},
                   {{{"momentum_dacay", "1"}}, {"momentum_dacay", "momentum_decay"}}};
  record.state_bytes = [](std::size_t d) { return 8 * d; };
  record.quadratic = {{{"lr", "0.1*0.5^(t/300)"}, {"weight_decay", "0"}}, 6000, 1e-10};
  record.rosenbrock = {{{"lr", "0.02*0.5^(t/4000)"}, {"weight_decay", "0"}}, 60000, 1e-6};
  record.logistic = {{{"lr", "0.1*0.5^(t/300)"}, {"weight_decay", "0"}}, 6000, 1e-9};
  return record;
}

}  // namespace tandem::testing
