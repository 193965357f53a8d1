// SPDX-License-Identifier: MIT
#include "data/cifar.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return tandem::fuzz::run_source(bytes, size, [](tandem::data::ByteSource& source) {
    tandem::data::CifarBatch batch;
    tandem::data::read_cifar(source, batch);
    tandem::fuzz::require(batch.pixels.size() == batch.labels.size() * tandem::data::kCifarPixels);
    for (const std::uint8_t label : batch.labels) tandem::fuzz::require(label < 10);
  });
}
