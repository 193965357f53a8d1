// SPDX-License-Identifier: MIT
// Torch's own errors carry a stack trace that helps nobody: here they become plain ones.
#pragma once

#include <c10/util/Exception.h>

#include <stdexcept>

namespace tandem {

/// body(), whose c10::Error comes out as a std::runtime_error without the stack.
template <class Body>
auto plain_errors(const Body& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    throw std::runtime_error(error.what_without_backtrace());
  }
}

}  // namespace tandem
