// SPDX-License-Identifier: MIT
// The only file that sees SentencePiece.
#include "text/sentencepiece/library.h"

#include <sentencepiece_processor.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::text::sentencepiece {

struct Model {
  ::sentencepiece::SentencePieceProcessor processor;
};

namespace {

using ::sentencepiece::util::Status;

void report(std::string_view message, TextSink error, void* to) {
  error(to, message.data(), message.size());
}

/// Runs `work`, which returns a status. Nothing is thrown across the line.
template <class Work>
bool guarded(Work work, TextSink error, void* to) {
  try {
    const Status status = work();
    if (status.ok()) return true;
    report(status.ToString(), error, to);
  } catch (const std::exception& exception) {
    report(exception.what(), error, to);
  } catch (...) {
    report("an unknown exception", error, to);
  }
  return false;
}

Model* open(const char* bytes, std::size_t size, TextSink error, void* to) {
  std::unique_ptr<Model> model;
  const bool good = guarded(
      [&] {
        model = std::make_unique<Model>();
        return model->processor.LoadFromSerializedProto({bytes, size});
      },
      error, to);
  return good ? model.release() : nullptr;
}

void close(Model* model) { delete model; }

std::size_t vocabulary(const Model* model) {
  return static_cast<std::size_t>(model->processor.GetPieceSize());
}

std::int32_t bos(const Model* model) { return model->processor.bos_id(); }
std::int32_t eos(const Model* model) { return model->processor.eos_id(); }

bool encode(const Model* model, const char* text, std::size_t size, TokenSink tokens,
            TextSink error, void* to) {
  return guarded(
      [&] {
        std::vector<int> ids;
        const Status status = model->processor.Encode(std::string_view(text, size), &ids);
        if (status.ok()) tokens(to, ids.data(), ids.size());
        return status;
      },
      error, to);
}

bool decode(const Model* model, const std::int32_t* tokens, std::size_t count, TextSink text,
            TextSink error, void* to) {
  return guarded(
      [&] {
        std::string decoded;
        const Status status =
            model->processor.Decode(std::vector<int>(tokens, tokens + count), &decoded);
        if (status.ok()) text(to, decoded.data(), decoded.size());
        return status;
      },
      error, to);
}

constexpr Library kLibrary{open, close, vocabulary, bos, eos, encode, decode};

}  // namespace
}  // namespace tandem::text::sentencepiece

extern "C" const tandem::text::sentencepiece::Library* tandem_sentencepiece_v1() {
  return &tandem::text::sentencepiece::kLibrary;
}
