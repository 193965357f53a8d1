// SPDX-License-Identifier: MIT
// Counts of terms to sparse rows: tf * idf with idf = ln((1 + n) / (1 + df)) + 1 over the n
// training documents, of which df have the term; then each row is divided by its length. Salton and
// Buckley 1988, "Term-weighting approaches in automatic text retrieval"; the form is
// scikit-learn's.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/newsgroups.h"

namespace tandem::data {

struct TfidfOptions {
  std::size_t vocabulary = 20000;  // at most so many terms: those in the most documents; 0: all
  std::size_t min_documents = 2;   // a term must be in so many
  bool stopwords = true;           // leave out the commonest English words
  bool bias = true;                // a column of ones, last, after the division
};

class Tfidf {
 public:
  /// Learns vocabulary and weights from these documents.
  Tfidf(const Corpus& corpus, std::span<const std::size_t> training, const TfidfOptions& options);

  /// Sparse rows; class labels are positions in `groups`.
  Dataset encode(const Corpus& corpus, std::span<const std::size_t> documents,
                 const std::vector<std::string>& groups) const;
  /// Terms in the order of their columns, which is alphabetical.
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }

 private:
  bool bias_;
  std::vector<std::string> vocabulary_;
  std::vector<std::uint32_t> column_;  // of each term of the corpus, or kNone
  std::vector<double> idf_;            // of each column
};

bool is_stopword(std::string_view term);

}  // namespace tandem::data
