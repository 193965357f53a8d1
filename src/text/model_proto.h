// SPDX-License-Identifier: MIT
// A look over a model of SentencePiece before the library gets it. The file is a protobuf message,
// of which the library believes more than it should.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tandem::text {

/// Checks that the messages lie inside of each other, that scores are finite, and that there are no
/// rules of normalisation: Llama's models have none, and the library would follow the offsets in
/// them wherever they lead. Returns the number of pieces. Throws TokenizerError.
std::size_t check_model_proto(std::span<const std::byte> bytes, const std::string& name);

}  // namespace tandem::text
