// SPDX-License-Identifier: MIT
// The sources there are.
#pragma once

#include <memory>

#include "sources/source.h"

namespace tandem::sources {

/// SAGA (Defazio, Bach and Lacoste-Julien 2014): g - (the sample's gradient when it was last seen)
/// + the mean of those. For linear models the table holds one number a sample and class, else a
/// whole gradient a sample.
std::unique_ptr<Source> make_saga(const Problem& problem);
/// SVRG (Johnson and Zhang 2013): g(w) - g(snapshot) + full gradient at the snapshot, taken at the
/// start of each epoch.
std::unique_ptr<Source> make_svrg(const Problem& problem);
/// STORM (Cutkosky and Orabona 2019): d = g(w) + (1 - a) (d - g(last w)), both on the same batch.
/// Option `storm_a`, default 0.1.
std::unique_ptr<Source> make_storm(const Problem& problem, OptionMap& options);

}  // namespace tandem::sources
