// SPDX-License-Identifier: MIT
// 20 Newsgroups: a document a file in folders PART/GROUP/NAME, where PART ends in -train or -test,
// on disk or in an archive. Documents become counts of terms. Lang 1995, "NewsWeeder: learning to
// filter netnews"; by date: Rennie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/byte_source.h"
#include "data/table.h"

namespace tandem::data {

struct Document {
  std::string group;
  std::string name;
  bool test = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts = {};  // (term, how often), by term
};

struct Corpus {
  Words terms;
  std::vector<Document> documents;  // sorted by part, group, name
};

/// Without headers a document begins after its first empty line.
enum class Headers { keep, strip };

/// Calls `take(term)` for each term: runs of at least 2 letters, digits and underscores in ASCII,
/// in lower case; those of more than 40 are encoded files and are left out.
template <class Take>
void for_each_term(std::string_view text, Take take);

/// All documents of a tar or zip archive. Throws DataError.
Corpus read_newsgroups_archive(std::unique_ptr<ByteSource> source, Headers headers);
/// All documents below these folders, which are the parts.
Corpus read_newsgroups_folders(const std::vector<std::filesystem::path>& parts, Headers headers);

template <class Take>
void for_each_term(std::string_view text, Take take) {
  std::string term;
  const auto finish = [&] {
    if (term.size() >= 2 && term.size() <= 40) take(std::string_view(term));
    term.clear();
  };
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') {
      term += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') {
      term += c;
    } else if (!term.empty()) {
      finish();
    }
  }
  finish();
}

}  // namespace tandem::data
