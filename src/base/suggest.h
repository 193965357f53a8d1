// SPDX-License-Identifier: MIT
// "Did you mean ...?": the known name nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// The nearest of `known` if it is near enough to be meant (edits up to a third of the length, at
/// least 2), else "".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// ", did you mean 'lr'?" or ", expected one of a, b, c": the end of a message about an unknown
/// word.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace tandem
