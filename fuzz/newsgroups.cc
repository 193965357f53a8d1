// SPDX-License-Identifier: MIT
// An archive (tar or zip, packed or not) of documents, through to sparse rows.
#include "data/newsgroups.h"

#include <memory>
#include <set>

#include "data/tfidf.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tandem::data;
  return tandem::fuzz::run(bytes, size, [](std::span<const std::uint8_t> all) {
    const Corpus corpus = read_newsgroups_archive(
        decompress(std::make_unique<MemorySource>("fuzz", all)), Headers::strip);
    std::set<std::string> groups;
    for (const Document& document : corpus.documents) groups.insert(document.group);
    const auto rows = all_rows(corpus.documents.size());
    const Tfidf tfidf(corpus, rows, {.vocabulary = 50, .min_documents = 1});
    const Dataset data = tfidf.encode(corpus, rows, {groups.begin(), groups.end()});
    for (const std::uint32_t column : data.columns) tandem::fuzz::require(column < data.features);
    for (const std::uint32_t label : data.labels) tandem::fuzz::require(label < data.classes);
  });
}
